"""Proves facts.tsv against rules that the table itself does not use; `generate.py --check` calls it."""
import re

import generate

NOBLE = [0, 2, 10, 18, 36, 54, 86, 118]
FORMULA = re.compile(r"M(\d*)([A-Z][a-z]?)(\d*)$")
PARTNER = {"oxides": ("O", -2), "fluorides": ("F", -1), "chlorides": ("Cl", -1), "bromides": ("Br", -1),
           "iodides": ("I", -1), "sulfides": ("S", -2), "hydrides": ("H", None)}  # H: -1 with metals, +1 with nonmetals
MIXED = {"M3O4": ((2, 3), (2, 4)), "M3O8": ((5, 6),)}  # charges that must both be there; one of the pairs

# Atoms of M and of the partner in each structure type.
TYPES = {
    (1, 1): "rocksalt wurtzite zincblende CsCl_type litharge cooperite GeS_type",
    (1, 2): "fluorite rutile quartz baddeleyite cotunnite CaCl2_type CdCl2_type CdI2_type MoS2_type",
    (2, 1): "antifluorite cuprite",
    (2, 3): "corundum bixbyite La2O3_type stibnite",
    (3, 4): "spinel",
    (1, 3): "ReO3_type VF3_type LaF3_type YF3_type UCl3_type PuBr3_type AlCl3_type BiI3_type",
    (1, 4): "UF4_type UCl4_type",
}
STRUCTURES = set(". fcc bcc hcp dhcp diamond cubic tetragonal orthorhombic hexagonal rhombohedral monoclinic".split())
CENTURIES = set(". antiquity 17th_century 18th_century 19th_century 20th_century 21st_century".split())
GASES = set("H He N O F Ne Cl Ar Kr Xe Rn".split())
LIQUIDS = {"Br", "Hg"}
METALLOIDS = set("B Si Ge As Sb Te".split())
NONMETALS = GASES | set("C P S Se Br I".split())
GROUP_FAMILY = {1: "alkali_metal", 2: "alkaline_earth_metal", 12: "zinc_group", 13: "boron_group", 14: "carbon_group",
                15: "pnictogen", 16: "chalcogen", 17: "halogen", 18: "noble_gas"}


def place(z):
    """Period, group and block as text, from the atomic number alone."""
    period = next(p for p in range(1, 8) if z <= NOBLE[p])
    n, left = z - NOBLE[period - 1], NOBLE[period] - z  # place in the period, from either end
    if n <= 2 and z != 2:
        return period, str(n), "s"
    if left < 6:
        return period, str(18 - left), "s" if z == 2 else "p"
    if left < 15 or period < 6:
        return period, str(18 - left), "d"
    return period, ".", "." if n in (3, 17) else "f"  # La, Lu, Ac, Lr: tables differ


def families(z, group):
    found = set()
    if group == ".":
        found |= {"lanthanoid", "rare_earth_metal"} if z < 72 else {"actinoid"}
    elif z != 1:
        found.add(GROUP_FAMILY.get(int(group), "transition_metal"))
        if group == "3":
            found.add("rare_earth_metal")
    return found


def compound_faults(row, charges):
    for column, (partner, charge) in PARTNER.items():
        for formula, types in generate.compounds(row, column):
            match = FORMULA.match(formula)
            if not match or match.group(2) != partner:
                yield "%s: %s is no formula with %s" % (column, formula, partner)
                continue
            m, x = (int(count or 1) for count in (match.group(1), match.group(3)))
            for name in types:
                if name not in TYPES.get((m, x), "").split():
                    yield "%s: %s cannot be of the type %s" % (column, formula, name)
            if formula in MIXED:
                if not any(charges.issuperset(pair) for pair in MIXED[formula]):
                    yield "%s: %s needs two charges that are not listed" % (column, formula)
            elif partner == "H":
                if not charges & {x, -x}:
                    yield "%s: %s needs %d or %d" % (column, formula, x, -x)
            elif -charge * x % m or -charge * x // m not in charges:
                yield "%s: %s needs %+g" % (column, formula, -charge * x / m)


def row_faults(z, row):
    period, group, block = place(z)
    symbol = row["symbol"]
    expected = {"number": str(z), "period": str(period), "group": group, "block": block,
                "isotopes": "stable_isotope" if z <= 82 and z not in (43, 61) else "all_radioactive"}
    if row["state"] != ".":
        expected["state"] = "gas" if symbol in GASES else "liquid" if symbol in LIQUIDS else "solid"
    if row["kind"] != ".":
        expected["kind"] = ("metalloid" if symbol in METALLOIDS else "nonmetal" if symbol in NONMETALS else "metal")
    for column, value in expected.items():
        if row[column] != value:
            yield "%s is %s; the atomic number gives %s" % (column, row[column], value)
    if set(generate.listed(row["family"])) != families(z, group):
        yield "family is %s; expected %s" % (row["family"], sorted(families(z, group)))
    if z >= 100 and {row["kind"], row["state"], row["structure"]} != {"."}:
        yield "nobody has seen a piece of it"
    if row["structure"] not in STRUCTURES or row["discovered"] not in CENTURIES:
        yield "unknown structure or century: %s, %s" % (row["structure"], row["discovered"])
    charges = [int(value) for value in generate.listed(row["states"])]
    if charges != sorted(set(charges)) or "%+d" * len(charges) % tuple(charges) != row["states"].replace(",", "").strip("."):
        yield "states must ascend, each with its sign: %s" % row["states"]
    if group != "." and charges:  # no more than the valence electrons, no fewer than complete the octet
        electrons = {9: 6, 10: 6, 11: 3, 12: 2}.get(int(group), int(group) % 10 if int(group) < 18 else 8)
        if charges[-1] > electrons or charges[0] < (-1 if z == 1 else min(0, int(group) - 18)):
            yield "states %s do not go with group %s" % (row["states"], group)
    yield from compound_faults(row, set(charges))


def split_faults(triples, parts):
    train = {name for h, r, t in parts["train"] for name in (h, "relation " + r, t)}
    if sorted(sum(parts.values(), [])) != triples:
        yield "the parts are not the whole"
    for part in ("valid", "test"):
        for h, r, t in parts[part]:
            for name in (h, "relation " + r, t):
                if name not in train:
                    yield "%s: %s is not in train" % (part, name)
    for triple in generate.ASKED:
        if triple not in parts["test"]:
            yield "%s is not in test" % " ".join(triple)


def main(rows):
    faults = [] if len(rows) == 118 else ["%d rows; there are 118 elements" % len(rows)]
    for column in ("symbol", "name"):
        if len({row[column] for row in rows}) != len(rows):
            faults.append("%s: given twice" % column)
    for z, row in enumerate(rows, 1):
        faults += ["%s: %s" % (row["symbol"], fault) for fault in row_faults(z, row)]
    triples = generate.make_triples(rows)
    symbols = {row["symbol"] for row in rows}
    pairs = [frozenset((h, t)) for h, _, t in triples if t in symbols]
    if len(set(pairs)) != len(pairs):
        faults.append("two elements are related twice: one relation would give the other away")
    faults += split_faults(triples, generate.split(triples, generate.SEED))
    for fault in faults:
        print("facts.tsv: " + fault)
    names = {name for h, _, t in triples for name in (h, t)}
    print("%d rows, %d entities, %d relations, %d triples, %d faults" %
          (len(rows), len(names), len({r for _, r, _ in triples}), len(triples), len(faults)))
    return 1 if faults else 0
