#!/usr/bin/env python3
"""Training ConvE, 1-N: PyTorch, eager, in Python, against rutile's train.

Dettmers' form: embeddings of 200 as 20 x 10, 32 channels, dropout 0.2, 0.2, 0.3, label smoothing 0.1, binary
cross-entropy over all entities, batches of 128 (head, relation), Adam, fp32, one thread. On data/elements (299
entities, shipped) and on a random graph (5000 entities, 20 relations, 40 000 triples). An epoch of rutile is the
difference of a long and a short run (no validation between).
"""

import tempfile

import rivals

torch = rivals.load('torch')
from conve_model import ConvE, queries_of  # noqa: E402


def make_epoch(train, limit):
    """A function that trains on `limit` batches of 128 and returns how many there are in an epoch."""
    entities, relations, tails = queries_of(train)
    torch.manual_seed(1)
    model = ConvE(len(entities), 2 * len(relations))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    queries = torch.tensor(list(tails))
    answers = [torch.tensor(t) for t in tails.values()]
    criterion = torch.nn.BCEWithLogitsLoss()
    batches = (len(answers) + 127) // 128

    def run():
        model.train()
        order = torch.randperm(len(answers))
        for some in order.split(128)[:limit]:
            labels = torch.zeros(len(some), len(entities))
            for row, k in enumerate(some.tolist()):
                labels[row, answers[k]] = 1
            labels = 0.9 * labels + 1 / len(entities)
            optimizer.zero_grad()
            loss = criterion(model(queries[some, 0], queries[some, 1]), labels)
            loss.backward()
            optimizer.step()

    return run, min(limit, batches)


def main():
    arguments = rivals.parse_arguments(__doc__, rounds=5, batches=(20, 'batches of an epoch that are measured'))
    rivals.one_torch_thread(torch)
    table = rivals.Table('milliseconds per batch of 128', [rivals.version('torch')])
    with tempfile.TemporaryDirectory() as scratch:
        for case, paths in (('elements', rivals.ELEMENTS),
                            ('5000 entities', rivals.write_graph(scratch, 5000, 20, 40000))):
            file = f'{scratch}/triples.safetensors'
            rivals.cpu_of(['featurize', f'--output={file}'] + paths)
            run, batches = make_epoch(rivals.read_triples(paths[0]), arguments.batches)
            flags = ['--kge_model=conve', '--conve_variant=dettmers', '--batch_size=128', '--learning_rate=0.003',
                     f'--limit_train_batches={batches}', '--limit_val_batches=1']
            run()
            table.measure(case, arguments.rounds,
                          lambda: rivals.train_epochs(file, 1, 4, flags, scratch) / batches * 1e3,
                          lambda: rivals.cpu_of_call(run) / batches * 1e3)


main()
