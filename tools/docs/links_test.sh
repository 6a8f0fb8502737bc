#!/usr/bin/env bash
# links_test.sh DOCUMENT...: each link to another of these documents, or within one, that has an #anchor finds a heading
# of that name (as GitHub names them), and each link into docs/ itself a document. Other files are not here to be looked
# for.
set -uo pipefail
documents=("$@")

# Anchors of the headings of a document, one a line.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print }' "$1" |
    sed 's/`//g; s/\[\([^]]*\)\]([^)]*)/\1/g' | tr '[:upper:]' '[:lower:]' | sed "s/[^a-z0-9 _-]//g; s/ /-/g"
}
failures=0
for document in "${documents[@]}"; do
  links=$(awk '/^```/ { code = !code } !code' "$document" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' |
    grep -vE '^[a-z]+:')
  for link in $links; do
    file=${link%%#*} anchor=
    [[ $link != *#* ]] || anchor=${link#*#}
    target=$document
    [ -z "$file" ] || target=$(realpath -ms --relative-to=. "$(dirname "$document")/$file")
    if [[ " ${documents[*]} " == *" $target "* ]]; then
      if [ -n "$anchor" ] && ! anchors "$target" | grep -qxF -e "$anchor"; then
        echo "$document: $link: $target has no heading of that name" >&2
        failures=$((failures + 1))
      fi
    elif [[ $target =~ ^docs/[^/]*\.md$ ]]; then
      echo "$document: $link: no such document" >&2
      failures=$((failures + 1))
    fi
  done
done
[ $failures = 0 ]
