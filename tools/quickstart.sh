#!/usr/bin/env bash
# From a fresh machine to a trained potential: installs what is missing, builds the tools into bin/, and runs
# cache-neighbors | train | evaluate on the DFT data in data/tio2-pbe, with forces. What is up to date is not done again.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/bootstrap.sh build

echo "Building the tools (minutes the first time, seconds later) ..." >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! bazel build --noshow_progress --show_result=0 //:tools > "$log" 2>&1; then
  cat "$log" >&2
  echo "quickstart.sh: the tools could not be built; the messages above say why" >&2
  exit 1
fi
mkdir -p bin
for tool in cache-neighbors featurize train evaluate; do
  binary=bazel-bin/tools/$tool/$tool
  cmp -s "$binary" "bin/$tool" || install -m 755 "$binary" "bin/$tool"
done

make=(make --no-print-directory -f docs/tutorial-tio2/Makefile DATA=data/tio2-pbe/tio2-pbe.extxyz OUT=quickstart)
PATH=$PWD/bin:$PATH "${make[@]}"
cat quickstart/summary.txt
echo
echo 'The commands, to repeat on files of your own (after export PATH=$PWD/bin:$PATH):'
"${make[@]}" --always-make --dry-run all | grep -E '^(cache-neighbors|train|evaluate) ' | sed 's/^/  /; s| > /dev/null$||'
