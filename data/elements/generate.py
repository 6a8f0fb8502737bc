#!/usr/bin/env python3
"""Makes the knowledge graph of the chemical elements, train.txt, valid.txt and test.txt, from facts.tsv beside it.

  generate.py [--output_dir=DIR] [--seed=N]    writes the three files: head TAB relation TAB tail
  generate.py --check                          proves facts.tsv against rules of its own, and writes nothing

Needs Python 3 and nothing else. The same table and seed give the same bytes: triples are ordered by their hash, not by
a random generator whose ways may change.
"""
import argparse
import hashlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 1
VALID, TEST = 0.05, 0.08  # shares of the triples

# Questions that go into the test whatever the seed, since their answers are known to anyone who has seen the table.
ASKED = [("Ti", "element_below", "Zr"), ("Te", "in_group", "group_16"), ("Hf", "forms_oxide", "MO2"),
         ("Au", "crystal_structure", "fcc"), ("Lu", "oxidation_state", "+3"), ("Ba", "forms_chloride", "MCl2")]

# Column of facts.tsv, relation, and how the value is written as an entity.
SIMPLE = [("period", "in_period", "period_%s"), ("group", "in_group", "group_%s"), ("block", "in_block", "block_%s"),
          ("family", "in_family", "%s"), ("kind", "is_a", "%s"), ("state", "state_at_room_temperature", "%s"),
          ("structure", "crystal_structure", "%s"), ("discovered", "discovered_in", "%s"),
          ("isotopes", "isotopes", "%s"), ("states", "oxidation_state", "%s")]
COMPOUNDS = ["oxides", "fluorides", "chlorides", "bromides", "iodides", "sulfides", "hydrides"]


def listed(value):
    """The values of a cell; "." is none, or not known."""
    return [] if value == "." else value.split(",")


def read_facts():
    with open(os.path.join(HERE, "facts.tsv"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    for i, line in enumerate(lines):
        if len(line) != len(lines[0]):
            sys.exit("facts.tsv: line %d has %d cells; the header has %d" % (i + 1, len(line), len(lines[0])))
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def compounds(row, column):
    """(formula, structure types) of each: "MO2:rutile+quartz"."""
    for cell in listed(row[column]):
        formula, _, types = cell.partition(":")
        yield formula, types.split("+") if types else []


def neighbors(rows):
    """(element, relation, element) of the places beside and below each element in the table.

    Lanthanoids and actinoids are rows of their own, under which actinoids stand; what joins those rows to the others is
    left out, since tables differ in it.
    """
    right = {}
    for a, b in zip(rows, rows[1:]):
        if a["period"] == b["period"] and (a["group"] == ".") == (b["group"] == "."):
            right[a["symbol"]] = b["symbol"]
    left = {b: a for a, b in right.items()}
    for a in rows:
        if a["symbol"] in right:
            yield a["symbol"], "element_right", right[a["symbol"]]
        for b in rows:
            apart = int(b["number"]) - int(a["number"])
            if int(b["period"]) == int(a["period"]) + 1 and a["group"] == b["group"] and (a["group"] != "." or apart == 32):
                yield a["symbol"], "element_below", b["symbol"]
                for relation, side in (("element_below_right", right), ("element_below_left", left)):
                    if b["symbol"] in side:
                        yield a["symbol"], relation, side[b["symbol"]]


def electrons(row, rows):
    """The noble gas whose shells lie inside, and the subshell that the table fills in this block and period."""
    inner = [other["symbol"] for other in rows
             if other["family"] == "noble_gas" and int(other["number"]) < int(row["number"])]
    if inner:
        yield row["symbol"], "noble_gas_core", "[%s]" % inner[-1]
    if row["block"] != ".":
        shell = int(row["period"]) - {"s": 0, "p": 0, "d": 1, "f": 2}[row["block"]]
        yield row["symbol"], "fills_subshell", "%d%s" % (shell, row["block"])


def make_triples(rows):
    triples = list(neighbors(rows))
    for row in rows:
        symbol = row["symbol"]
        triples += electrons(row, rows)
        for column, relation, form in SIMPLE:
            triples += [(symbol, relation, form % value) for value in listed(row[column])]
        for column in COMPOUNDS:
            for formula, types in compounds(row, column):
                triples.append((symbol, "forms_" + column[:-1], formula))
                triples += [(symbol, column[:-1] + "_structure", name) for name in types]
    return sorted(set(triples))


def split(triples, seed):
    """train, valid, test: each name of valid and test is in train, too."""
    def rank(triple):
        return triple not in ASKED, hashlib.sha256("\t".join((str(seed),) + triple).encode()).digest()

    uses = {}
    for h, r, t in triples:
        for name in (("entity", h), ("relation", r), ("entity", t)):
            uses[name] = uses.get(name, 0) + 1
    sizes = {"test": round(TEST * len(triples)), "valid": round(VALID * len(triples))}
    parts = {"train": [], "valid": [], "test": []}
    for h, r, t in sorted(triples, key=rank):
        names = (("entity", h), ("relation", r), ("entity", t))
        held = next((part for part in sizes if len(parts[part]) < sizes[part]), None)
        if held and all(uses[name] > 1 for name in names):
            parts[held].append((h, r, t))
            for name in names:
                uses[name] -= 1
        else:
            parts["train"].append((h, r, t))
    return {part: sorted(chosen) for part, chosen in parts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output_dir", default=HERE)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = read_facts()
    if options.check:
        import check_facts  # beside this file
        return check_facts.main(rows)
    for part, triples in split(make_triples(rows), options.seed).items():
        with open(os.path.join(options.output_dir, part + ".txt"), "w", encoding="utf-8", newline="\n") as file:
            file.writelines("\t".join(triple) + "\n" for triple in triples)
    return 0


if __name__ == "__main__":
    sys.exit(main())
