#!/usr/bin/env python3
"""check_statements.py: each statement in docs/methods.md that two ways give the same has a bound and tests that exist.

Reads the table "What is the same". Its columns are the statement, the bound and the tests. A test is //package:name, as
the BUILD file of the package has it, alone or as a further name of the package before it; a property of
benchmarks/settings/combine_settings.py; or a path. Prints what is missing and exits with status 1 if anything is.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TITLE = "## What is the same, within which bound"


def properties():
    """The names of the properties of combine_settings.py, in lower case."""
    names = set()
    for path in (ROOT / "benchmarks" / "settings").glob("*_properties.py"):
        names |= {name.lower() for name in re.findall(r"^class (\w+)\(", path.read_text(), re.M)}
    return names


def has_target(package, name):
    """Whether the BUILD file has the name, maybe behind a folder, or the package a test that it finds by itself."""
    build = ROOT / package / "BUILD"
    return build.exists() and (re.search(r'["/]%s"' % re.escape(name), build.read_text()) is not None or
                               any((ROOT / package).rglob(name + ".cc")))


def missing(cell, known):
    """What a cell of tests names and is not there; a cell without a test is missing altogether."""
    found, wrong, package = 0, [], None
    for word in re.findall(r"`([^`]+)`|(\b[\w.-]+/[\w./-]+)", cell):
        word = word[0] or word[1]
        if word.startswith("//"):
            package, _, name = word[2:].partition(":")
            found += 1
            if not has_target(package, name):
                wrong.append("no target " + word)
        elif "/" in word:
            found += 1
            if not (ROOT / word).exists():
                wrong.append("no file " + word)
        elif word in known:
            found += 1
        elif package and has_target(package, word):
            found += 1
        else:
            wrong.append("%s is neither a property of combine_settings.py nor a test of %s" % (
                word, "//" + package if package else "a package before it"))
    return wrong or ([] if found else ["names no test"])


def main():
    text = (ROOT / "docs" / "methods.md").read_text()
    if TITLE not in text:
        print("docs/methods.md: no heading \"%s\"" % TITLE)
        return 1
    table = [line for line in text.split(TITLE)[1].split("\n## ")[0].split("\n") if line.startswith("|")][2:]
    known, failures = properties(), 0
    for line in table:
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        wrong = missing(cells[2], known) if len(cells) == 3 and all(cells) else [
            "%d columns, expected statement, bound and tests" % len(cells)]
        for what in wrong:
            failures += 1
            print("docs/methods.md: \"%s\": %s" % (cells[0], what))
    if len(table) < 10:
        failures += 1
        print("docs/methods.md: the table has %d rows: was it cut?" % len(table))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
