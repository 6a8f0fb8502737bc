#!/usr/bin/env bash
# family_graph.py makes the committed triples byte for byte, and they obey the rules that it promises.
set -euo pipefail
cd testdata/kg/family
python3 -B family_graph.py --output_dir="$TEST_TMPDIR"
for part in train valid test; do cmp "$part.txt" "$TEST_TMPDIR/$part.txt"; done
cat train.txt valid.txt test.txt > "$TEST_TMPDIR/all"

# Said again in another way, from the parents and spouses alone.
awk -F'\t' '
  function fail(what) { print what; failed = 1 }
  { known[$1, $2, $3] = 1; count[$2]++; person[$1]; person[$3] }
  $2 == "parent_of" { parent[$3, ++parents[$3]] = $1 }
  function related(a, b) {  # a shared parent
    return a != b && parents[a] && parents[b] && (parent[a, 1] == parent[b, 1] || parent[a, 1] == parent[b, 2])
  }
  END {
    for (a in person) if (parents[a] && (parents[a] != 2 || !((parent[a, 1], "spouse_of", parent[a, 2]) in known))) fail("parents of " a)
    for (a in person) for (b in person) {
      if (((a, "spouse_of", b) in known) != ((b, "spouse_of", a) in known)) fail("spouse_of is one-sided: " a " " b)
      sibling = related(a, b); grand = aunt = cousin = 0
      for (i = 1; i <= parents[b]; ++i) {
        p = parent[b, i]
        for (j = 1; j <= parents[p]; ++j) if (parent[p, j] == a) grand = 1
        if (related(a, p)) aunt = 1
        for (j = 1; j <= parents[a]; ++j) if (related(parent[a, j], p)) cousin = 1
      }
      if (sibling != ((a, "sibling_of", b) in known)) fail("sibling_of " a " " b)
      if (grand != ((a, "grandparent_of", b) in known)) fail("grandparent_of " a " " b)
      if (aunt != ((a, "aunt_or_uncle_of", b) in known)) fail("aunt_or_uncle_of " a " " b)
      if (cousin != ((a, "cousin_of", b) in known)) fail("cousin_of " a " " b)
    }
    if (count["cousin_of"] != 486 || count["parent_of"] != 132) fail("not as many as the README says")
    exit failed
  }' "$TEST_TMPDIR/all"

# Nobody of valid and test is unknown in train.
cut -f1,3 valid.txt test.txt | tr '\t' '\n' | sort -u > "$TEST_TMPDIR/asked"
cut -f1,3 train.txt | tr '\t' '\n' | sort -u | comm -23 "$TEST_TMPDIR/asked" - | { ! grep .; }
