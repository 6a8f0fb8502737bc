#!/usr/bin/env bash
# check_examples.sh [DOCUMENT]: the worked examples of CONTRIBUTING.md name files, lines in them and targets that exist.
#
# An item "1. `file`, beside `text`: ..." promises that the file has a line with this text. Every //package:target of an
# example is looked for in the BUILD file, and every folder/file in backquotes or links must be there, but for those that
# the example makes itself: blocks of code begin with their name. Prints what is missing and exits 1 if anything is.
set -uo pipefail
document=$(realpath "${1:-$(dirname "$0")/../CONTRIBUTING.md}")
cd "$(dirname "$0")/.." || exit 2

missing=0
miss() {
  echo "${document##*/}: $*"
  missing=$((missing + 1))
}
section=$(awk '/^## / { example = /^## Worked example/ } example' "$document")
made=$(awk '/^```cpp$/ { getline; print $2 }' <<< "$section")
prose=$(awk '/^```/ { code = !code } !code' <<< "$section")

items=0
while IFS=$'\t' read -r file text; do
  items=$((items + 1))
  if [ ! -f "$file" ]; then
    miss "$file does not exist"
  elif ! grep -qF -e "$text" -- "$file"; then
    miss "$file has no line with: $text"
  fi
done < <(sed -nE 's/^[0-9]+\. `([^`]+)`, beside `([^`]+)`:.*/\1\t\2/p' <<< "$prose")
[ "$items" = "$(grep -cE '^[0-9]+\. ' <<< "$prose")" ] ||
  miss "an item is not of the form: 1. \`file\`, beside \`text\`: ..."
[ "$items" -gt 0 ] || miss "no worked example"

while read -r label; do
  package=${label%:*} target=${label#*:}
  grep -qF -e "name = \"$target\"" -- "${package#//}/BUILD" || miss "no target $label"
done < <(grep -oE '//[a-z_/-]+:[a-z_0-9-]+' <<< "$prose")

while read -r file; do
  [ -e "$file" ] || grep -qxF -e "$file" <<< "$made" || miss "$file does not exist"
done < <(grep -oE '(`|\()(\.ci|docs|lib|testdata|tools)/[A-Za-z0-9_./-]+(`|\))' <<< "$prose" | tr -d '`()')
[ $missing = 0 ]
