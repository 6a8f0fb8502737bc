#!/usr/bin/env python3
"""Makes a knowledge graph of a family whose relations follow from each other by rules.

  family_graph.py [--output_dir=DIR] [--seed=N] [--couples=N] [--generations=N] [--children=N]

Writes train.txt, valid.txt and test.txt: head TAB relation TAB tail. The first generation is `couples` pairs; each
pair has `children` children, who marry children of other pairs of their generation. From parents and spouses follow by
rules sibling_of, grandparent_of, aunt_or_uncle_of (by blood) and cousin_of. Symmetric relations are
given both ways, others in one direction only. Python 3 alone; the same arguments give the same bytes.
"""
import argparse
import hashlib
import itertools
import os

VALID, TEST = 0.1, 0.1  # shares of the triples


def digest(*parts):
    """An order that no version of Python changes."""
    return hashlib.sha256("\t".join(map(str, parts)).encode()).digest()


def people(options):
    """parents: person -> their two; spouses: pairs. Names tell the generation: g2_07."""
    parents, spouses = {}, []
    couples = []
    for generation in range(options.generations):
        children = []  # (name, number of the pair of parents)
        if generation == 0:
            children = [("g0_%02d" % i, i) for i in range(2 * options.couples)]
        for pair, couple in enumerate(couples):
            for _ in range(options.children):
                name = "g%d_%02d" % (generation, len(children))
                children.append((name, pair))
                parents[name] = couple
        # In a hashed order, each with the next who is no sibling and still single; the last may stay single.
        order = sorted(children, key=lambda child: digest(options.seed, "marriage", child[0]))
        couples, married = [], set()
        for name, home in order:
            for other, other_home in order:
                if home != other_home and not married & {name, other}:
                    married |= {name, other}
                    couples.append((name, other))
        spouses += couples
    return parents, spouses


def make_triples(options):
    parents, spouses = people(options)
    children = {}
    for child, couple in parents.items():
        for parent in couple:
            children.setdefault(parent, []).append(child)
    triples = set()
    for a, b in spouses:
        triples |= {(a, "spouse_of", b), (b, "spouse_of", a)}
    for child, couple in parents.items():
        siblings = {other for parent in couple for other in children[parent]} - {child}
        triples |= {(child, "sibling_of", other) for other in siblings}
        for other in siblings:
            triples |= {(child, "aunt_or_uncle_of", kid) for kid in children.get(other, [])}
            for mine, theirs in itertools.product(children.get(child, []), children.get(other, [])):
                triples.add((mine, "cousin_of", theirs))
        for parent in couple:
            triples.add((parent, "parent_of", child))
            triples |= {(elder, "grandparent_of", child) for elder in parents.get(parent, [])}
    return sorted(triples)


def split(triples, seed):
    """train, valid, test: each name of valid and test is in train, too."""
    uses = {}
    for triple in triples:
        for name in triple:
            uses[name] = uses.get(name, 0) + 1
    sizes = {"test": round(TEST * len(triples)), "valid": round(VALID * len(triples))}
    parts = {"train": [], "valid": [], "test": []}
    for triple in sorted(triples, key=lambda triple: digest(seed, *triple)):
        held = next((part for part in sizes if len(parts[part]) < sizes[part]), "train")
        if any(uses[name] == 1 for name in triple):
            held = "train"
        elif held != "train":
            for name in triple:
                uses[name] -= 1
        parts[held].append(triple)
    return {part: sorted(chosen) for part, chosen in parts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output_dir", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--couples", type=int, default=5)
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--children", type=int, default=3)
    options = parser.parse_args()
    for part, triples in split(make_triples(options), options.seed).items():
        with open(os.path.join(options.output_dir, part + ".txt"), "w", encoding="utf-8", newline="\n") as file:
            file.writelines("\t".join(triple) + "\n" for triple in triples)


if __name__ == "__main__":
    main()
