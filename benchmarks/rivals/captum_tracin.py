#!/usr/bin/env python3
"""Influence of training triples: captum's TracInCP and TracInCPFast against rutile's tracin.

ConvE on data/elements, embeddings of 200, one checkpoint, fp32, one thread. TracInCP: all parameters, the loss of a
triple, softplus of minus its score, as tracin --loss=triple, which is exact too. TracInCPFast: the gradient of the last
layer alone, cross-entropy over all entities; tracin --loss=ce takes all parameters, which is more. captum is given part
of the training triples; times are for each training triple, with everything about the tests in them. rutile's are of
the whole program over all 2497. Without tracin on PATH captum is measured alone.
"""

import glob
import shutil
import tempfile
import warnings

import rivals

torch = rivals.load('torch')
influence = rivals.load('captum.influence')
from conve_model import ConvE, queries_of  # noqa: E402

warnings.filterwarnings('ignore')


class TripleScore(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, head, relation, tail):
        return self.model(head, relation).gather(1, tail.unsqueeze(1)).squeeze(1)


class WithLastLayer(torch.nn.Module):
    """The same scores, with the product with all entities as a layer of its own."""

    def __init__(self, model, entities):
        super().__init__()
        self.model = model
        self.last = torch.nn.Linear(200, entities)
        self.last.weight.data = model.entity.weight.data.clone()

    def forward(self, head, relation):
        model = self.model
        shape = (-1, 1, model.height, model.width)
        x = torch.cat([model.entity(head).view(shape), model.relation(relation).view(shape)], 2)
        x = torch.relu(model.norm1(model.convolution(model.norm0(x))))
        return self.last(torch.relu(model.norm2(model.linear(x.flatten(1)))))


def main():
    arguments = rivals.parse_arguments(__doc__, rounds=3, examples=(256, 'training triples that captum is given'))
    rivals.one_torch_thread(torch)
    has_tracin = shutil.which('tracin') is not None
    table = rivals.Table('microseconds per training triple', [rivals.version('captum'), rivals.version('torch')])
    triples = rivals.read_triples(rivals.ELEMENTS[0])
    entities, relations, _ = queries_of(triples)
    torch.manual_seed(1)
    model = ConvE(len(entities), 2 * len(relations)).eval()
    rows = torch.tensor([[entities[h], 2 * relations[r], entities[t]] for h, r, t in triples])
    some = rows[torch.randperm(len(rows))[:arguments.examples]]
    ones = torch.ones(len(rows))

    def load_nothing(module, path):  # the checkpoint is what the module holds
        return 1.0

    scores = influence.TracInCP(TripleScore(model), torch.utils.data.TensorDataset(*some.t(), ones[:len(some)]),
                                ['the only one'], checkpoints_load_func=load_nothing,
                                loss_fn=torch.nn.BCEWithLogitsLoss(reduction='none'), batch_size=32)
    last = WithLastLayer(model, len(entities)).eval()
    fast = influence.TracInCPFast(last, last.last, torch.utils.data.TensorDataset(*rows.t()), ['the only one'],
                                  checkpoints_load_func=load_nothing,
                                  loss_fn=torch.nn.CrossEntropyLoss(reduction='sum'), batch_size=128)

    with tempfile.TemporaryDirectory() as scratch:
        file = f'{scratch}/triples.safetensors'
        if has_tracin:
            rivals.cpu_of(['featurize', f'--output={file}'] + rivals.ELEMENTS)
            rivals.cpu_of(['train', '--threads=1', '--max_epochs=1', '--keep_every_epochs=1', '--kge_model=conve',
                           f'--output_dir={scratch}/run', file])

        def tracin(tests, loss):
            checkpoint = sorted(glob.glob(f'{scratch}/run/checkpoints/*.safetensors'))[0]
            return rivals.cpu_of(['tracin', '--threads=1', f'--train={file}', f'--test={file}', f'--max_tests={tests}',
                                  f'--loss={loss}', checkpoint]) / len(rows) * 1e6

        for tests in (1, 32):
            some_tests = tuple(rows[:tests].t())

            def with_captum():
                return rivals.cpu_of_call(lambda: scores.influence((*some_tests, ones[:tests]), k=10)) / len(some) * 1e6

            def with_fast():
                return rivals.cpu_of_call(lambda: fast.influence(some_tests, k=10)) / len(rows) * 1e6

            for name, loss, rival in (('TracInCP', 'triple', with_captum),
                                      ('TracInCPFast, last layer alone', 'ce', with_fast)):
                case = f'{name}, {tests} test{"s" if tests > 1 else ""}'
                if has_tracin:
                    table.measure(case, arguments.rounds, lambda: tracin(tests, loss), rival)
                else:
                    print(f'{case}\t-\t{rival():.4g}\t-\t-\t-\t(tracin is not on PATH: captum alone)', flush=True)


main()
