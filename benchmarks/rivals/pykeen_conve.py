#!/usr/bin/env python3
"""ConvE, trained and evaluated: PyKEEN against rutile's train and evaluate.

The same triples, ids apart, the same sizes: embeddings of 200 as 20 x 10, 32 channels, dropout, label smoothing 0.1,
binary cross-entropy over all entities for each (head, relation) with inverses (PyKEEN: the LCWA loop), batches of 128,
Adam, fp32, one thread. Evaluation: filtered ranks of heads and tails of the test triples. On data/elements (299
entities, shipped) and on a random graph (1000 entities, 20 relations, 4000 triples). An epoch of rutile is the
difference of a long and a short run; its evaluation is the whole program, with reading the files. Training is quoted for
1000 queries, (head, relation), that the network sees.
"""

import logging
import tempfile
import warnings

import rivals

torch = rivals.load('torch')
pykeen = rivals.load('pykeen')
from conve_model import queries_of  # noqa: E402
from pykeen.evaluation import RankBasedEvaluator  # noqa: E402
from pykeen.models import ConvE  # noqa: E402
from pykeen.training import LCWATrainingLoop  # noqa: E402
from pykeen.triples import TriplesFactory  # noqa: E402

warnings.filterwarnings('ignore')
logging.disable(logging.WARNING)


def main():
    arguments = rivals.parse_arguments(__doc__, rounds=3)
    rivals.one_torch_thread(torch)
    table = rivals.Table('milliseconds',
                         [rivals.version('pykeen'), rivals.version('torch')])
    with tempfile.TemporaryDirectory() as scratch:
        for case, paths in (('elements', rivals.ELEMENTS),
                            ('1000 entities', rivals.write_graph(scratch, 1000, 20, 3000))):
            file = f'{scratch}/triples.safetensors'
            rivals.cpu_of(['featurize', f'--output={file}'] + paths)
            train = TriplesFactory.from_path(paths[0], create_inverse_triples=True)
            valid, test = (TriplesFactory.from_path(p, entity_to_id=train.entity_to_id,
                                                    relation_to_id=train.relation_to_id) for p in paths[1:])
            model = ConvE(triples_factory=train, embedding_dim=200, embedding_height=20,
                          embedding_width=10, random_seed=1)
            seen = []
            model.interaction.hr1d.register_forward_hook(lambda module, i, output: seen.append(len(output)))

            def epoch():
                # A new loop: one that has made its epochs does no more than try the batch size. It tries here, too, and
                # leaves out the last, incomplete batch, so time is divided by the queries that the network has seen.
                seen.clear()
                loop = LCWATrainingLoop(model=model, triples_factory=train,
                                        optimizer=torch.optim.Adam(model.parameters(), lr=0.003))
                seconds = rivals.cpu_of_call(lambda: loop.train(
                    triples_factory=train, num_epochs=1, batch_size=128, label_smoothing=0.1, use_tqdm=False,
                    pin_memory=False))
                return seconds / sum(seen) * 1e6

            def evaluate():
                RankBasedEvaluator(filtered=True).evaluate(
                    model, test.mapped_triples, batch_size=128, use_tqdm=False,
                    additional_filter_triples=[train.mapped_triples, valid.mapped_triples])

            flags = ['--kge_model=conve', '--conve_variant=dettmers', '--batch_size=128', '--learning_rate=0.003',
                     '--limit_val_batches=1']
            queries = len(queries_of(rivals.read_triples(paths[0]))[2])
            table.measure(f'{case}: training, ms per 1000 queries', arguments.rounds,
                          lambda: rivals.train_epochs(file, 1, 1 if case != 'elements' else 4, flags, scratch)
                          / queries * 1e6, epoch)
            table.measure(f'{case}: evaluation of {len(test.mapped_triples)} triples, ms', arguments.rounds,
                          lambda: rivals.cpu_of(['evaluate', '--threads=1', f'{scratch}/run/last.safetensors', file])
                          * 1e3,
                          lambda: rivals.cpu_of_call(evaluate) * 1e3)


main()
