#!/usr/bin/env python3
"""Makes a large knowledge graph, about 82000 nouns and their relations, from WordNet 3.0, to try rutile at scale.

  sudo apt-get install wordnet-base
  wordnet_graph.py --output_dir=wordnet        writes train.txt, valid.txt, test.txt: head TAB relation TAB tail
  wordnet_graph.py --pos=noun,verb,adj,adv     all 117659 synsets

An entity is a set of synonyms, named by its first word, part of speech and offset in the file: dog.n.02084071. Each
fact is given once: hypernym but not hyponym, holonyms (is a member, part or substance of) but not meronyms, topics but
not members of topics; symmetric relations from the smaller name to the greater. Facts about a part of speech that was
not asked for are left out, and so are synsets without a fact.

valid and test are drawn by a hash of the seed and the triple, and every entity and relation in them is in train, too.
Python 3 alone; the same arguments give the same bytes. The input is documented in wndb(5) and wninput(5). WordNet is (C)
Princeton University, free for any purpose under the license in /usr/share/doc/wordnet-base/copyright, which output
that is passed on must carry; none of it is in rutile.
"""
import argparse
import hashlib
import os
import sys

LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}

# Pointer symbols of wninput(5); the inverses of these (~ ~i %m %s %p -c -r -u) are not read.
RELATIONS = {"@": "hypernym", "@i": "instance_hypernym", "#m": "member_holonym", "#s": "substance_holonym",
             "#p": "part_holonym", ";c": "domain_topic", ";r": "domain_region", ";u": "domain_usage",
             "*": "entails", ">": "causes", "^": "also_see", "\\": "pertains_to", "<": "participle_of",
             "!": "antonym", "+": "derivation", "=": "attribute", "&": "similar_to", "$": "verb_group"}
SYMMETRIC = {"antonym", "derivation", "attribute", "similar_to", "verb_group"}


def read_synsets(path):
    """(offset, letter, first word, [(relation, offset, letter)]) of each line of a data file."""
    try:
        file = open(path, encoding="utf-8")
    except OSError as error:
        sys.exit("%s: %s; apt-get install wordnet-base, or give --wordnet=DIRECTORY" % (path, error.strerror))
    with file:
        for number, line in enumerate(file, 1):
            if line.startswith("  "):  # the license
                continue
            fields = line.split(" | ")[0].split()
            try:
                offset, letter, words = fields[0], fields[2].replace("s", "a"), int(fields[3], 16)
                first = fields[4].split("(")[0]
                at = 4 + 2 * words  # each word has a lexical id
                pointers = [fields[i:i + 4] for i in range(at + 1, at + 1 + 4 * int(fields[at]), 4)]
                known = [(RELATIONS[symbol], target, pos.replace("s", "a"))
                         for symbol, target, pos, _ in pointers if symbol in RELATIONS]
            except (IndexError, ValueError):
                sys.exit("%s:%d: not a synset as in wndb(5): %.60s" % (path, number, line.rstrip()))
            yield offset, letter, first, known


def make_triples(directory, parts):
    names, facts = {}, []
    for part in parts:
        for offset, letter, first, known in read_synsets(os.path.join(directory, "data." + part)):
            names[offset, letter] = "%s.%s.%s" % (first, letter, offset)
            facts += [((offset, letter), relation, (target, pos)) for relation, target, pos in known]
    letters = {LETTERS[part] for part in parts}
    triples = set()
    for head, relation, tail in facts:
        if tail[1] not in letters:
            continue
        if tail not in names:
            sys.exit("%s: %s points to %s.%s, which is not there" % (directory, names[head], tail[1], tail[0]))
        h, t = names[head], names[tail]
        if relation in SYMMETRIC and h > t:
            h, t = t, h
        if h != t:
            triples.add((h, relation, t))
    return sorted(triples)


def split(triples, sizes, seed):
    """train, valid, test: each name of valid and test is in train, too."""
    uses = {}
    for triple in triples:
        for name in triple:
            uses[name] = uses.get(name, 0) + 1
    parts = {"train": [], "valid": [], "test": []}
    for triple in sorted(triples, key=lambda triple: hashlib.sha256("\t".join((str(seed),) + triple).encode()).digest()):
        held = next((part for part in ("test", "valid") if len(parts[part]) < sizes[part]), None)
        if held and all(uses[name] > 1 for name in triple):
            parts[held].append(triple)
            for name in triple:
                uses[name] -= 1
        else:
            parts["train"].append(triple)
    for part, size in sizes.items():
        if len(parts[part]) < size:
            sys.exit("--%s=%d: only %d triples can be spared" % (part, size, len(parts[part])))
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", default="/usr/share/wordnet", help="directory of data.noun (default: %(default)s)")
    parser.add_argument("--output_dir", default=".", help="made if absent (default: the current one)")
    parser.add_argument("--pos", default="noun", help="parts of speech: noun,verb,adj,adv (default: %(default)s)")
    parser.add_argument("--valid", type=int, default=5000, help="triples in valid.txt (default: %(default)s)")
    parser.add_argument("--test", type=int, default=5000, help="triples in test.txt (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the split (default: %(default)s)")
    options = parser.parse_args()
    chosen = options.pos.split(",")
    if len(set(chosen)) != len(chosen) or not set(chosen) <= set(LETTERS):
        parser.error("--pos=%s: must be some of noun,verb,adj,adv" % options.pos)
    if options.valid < 0 or options.test < 0:
        parser.error("--valid and --test must not be negative")
    triples = make_triples(options.wordnet, chosen)
    parts = split(triples, {"test": options.test, "valid": options.valid}, options.seed)
    os.makedirs(options.output_dir, exist_ok=True)
    for part, lines in parts.items():
        with open(os.path.join(options.output_dir, part + ".txt"), "w", encoding="utf-8", newline="\n") as file:
            file.writelines("\t".join(triple) + "\n" for triple in sorted(lines))
    print("%d entities, %d relations, %d triples: %d train, %d valid, %d test" %
          (len({name for h, _, t in triples for name in (h, t)}), len({r for _, r, _ in triples}), len(triples),
           len(parts["train"]), len(parts["valid"]), len(parts["test"])), file=sys.stderr)


if __name__ == "__main__":
    main()
