#!/usr/bin/env python3
"""Times of training steps of ConvE and ComplEx in PyTorch on a GPU, to set beside those of check.sh on the same card.

    pytorch_steps.py GRAPH [--device=cuda] [--compile]

GRAPH is a folder with train.txt, valid.txt and test.txt. The models are those that check.sh times: embeddings of 200;
ConvE of Dettmers et al. with dropout and binary cross-entropy over all entities for each (head, relation), and ComplEx
with a softmax over all entities for each triple and its inverse; Adam, fp32. All is on the device: the triples, the labels,
which are made there, and the optimizer, which PyTorch fuses. --compile: models and losses by torch.compile.
"""

import argparse
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "rivals"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from conve_model import ConvE, queries_of  # noqa: E402


class ComplEx(torch.nn.Module):
    """Scores of all entities for (head, relation): [B, N]. Rows are [re | im]."""

    def __init__(self, entities, relations, dim=200, dropout=0.2):
        super().__init__()
        self.entity = torch.nn.Embedding(entities, dim)
        self.relation = torch.nn.Embedding(relations, dim)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, head, relation):
        h, h_im = self.dropout(self.entity(head)).chunk(2, 1)
        r, r_im = self.dropout(self.relation(relation)).chunk(2, 1)
        return torch.cat([h * r - h_im * r_im, h * r_im + h_im * r], 1) @ self.entity.weight.t()


def smoothed_cross_entropy(scores, labels):
    """Binary cross-entropy, with labels smoothed as ConvE's authors do."""
    labels = 0.9 * labels + 1 / labels.shape[1]
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, labels)


class KeyBatches:
    """Batches of (head, relation) and their labels [B, N], from tails that lie on the device one key after the other."""

    def __init__(self, tails, entities, device):
        keys = list(tails)
        self.entities = entities
        self.keys = torch.tensor(keys, device=device)
        self.first = torch.tensor([0] + [len(tails[key]) for key in keys], device=device).cumsum(0)
        self.tails = torch.tensor([t for key in keys for t in tails[key]], device=device)

    def __len__(self):
        return len(self.keys)

    def make(self, rows):
        count = self.first[rows + 1] - self.first[rows]
        query = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), count)
        within = torch.arange(len(query), device=rows.device) - (count.cumsum(0) - count)[query]
        labels = torch.zeros(len(rows), self.entities, device=rows.device)
        labels[query, self.tails[self.first[rows][query] + within]] = 1
        return self.keys[rows, 0], self.keys[rows, 1], labels


class TripleBatches:
    """Batches of triples, whose label is their tail."""

    def __init__(self, tails, device):
        self.triples = torch.tensor([(h, r, t) for (h, r), all_tails in tails.items() for t in all_tails], device=device)

    def __len__(self):
        return len(self.triples)

    def make(self, rows):
        triples = self.triples[rows]
        return triples[:, 0], triples[:, 1], triples[:, 2]


def milliseconds(model, loss, batches, size, device, compiled, steps=100):
    """The mean of a step's time after 20 steps."""
    model = model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003, fused=device.startswith("cuda"))

    def total(head, relation, labels):
        return loss(model(head, relation), labels)

    step_loss = torch.compile(total) if compiled else total
    order = torch.randperm(len(batches), device=device)
    begin = 0.0
    for step in range(20 + steps):
        if step == 20:
            if device.startswith("cuda"):
                torch.cuda.synchronize()
            begin = time.perf_counter()
        first = step * size % (len(order) - size)
        optimizer.zero_grad(set_to_none=True)
        step_loss(*batches.make(order[first:first + size])).backward()
        optimizer.step()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - begin) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    triples = [line.split("\t") for line in (arguments.graph / "train.txt").read_text().splitlines()]
    entities, relations, tails = queries_of(triples)
    keys = KeyBatches(tails, len(entities), arguments.device)
    single = TripleBatches(tails, arguments.device)
    name = torch.cuda.get_device_name() if arguments.device.startswith("cuda") else arguments.device
    print(f"PyTorch {torch.__version__}{' compiled' if arguments.compile else ''} on {name}")
    for size in (128, 1024):
        for model, loss, batches in ((ConvE(len(entities), 2 * len(relations)), smoothed_cross_entropy, keys),
                                     (ComplEx(len(entities), 2 * len(relations)), torch.nn.functional.cross_entropy,
                                      single)):
            took = milliseconds(model, loss, batches, size, arguments.device, arguments.compile, arguments.steps)
            print(f"{type(model).__name__.lower()} {size}: {took:.2f} ms for a step", flush=True)


if __name__ == "__main__":
    main()
