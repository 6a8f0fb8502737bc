#!/usr/bin/env bash
# From a fresh machine to a trained potential, and to embeddings of a knowledge graph: installs what is missing, builds
# the tools into bin/, runs cache-neighbors | train | evaluate on the DFT data in data/tio2-pbe, with forces, and
# featurize | train | evaluate on the periodic table in data/elements. What is up to date is not done again.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/bootstrap.sh build

echo "Building the tools (minutes the first time, seconds later) ..." >&2
# A terminal gets bazel's progress line, a log a line now and then.
every=30
[ ! -t 2 ] || every=0.2
if ! bazel build --show_progress_rate_limit="$every" --show_result=0 //:tools >&2; then
  echo "quickstart.sh: the tools could not be built; the messages above say why" >&2
  exit 1
fi
mkdir -p bin
# train-libtorch and tracin-verify are no tools of their own: train and tracin look for them beside themselves.
for program in cache-neighbors featurize train train-libtorch evaluate tracin tracin-verify profile; do
  tool=${program%-verify}
  binary=bazel-bin/tools/${tool%-libtorch}/$program
  cmp -s "$binary" "bin/$program" || install -m 755 "$binary" "bin/$program"
done

PATH=$PWD/bin:$PATH
potential=(-f docs/tutorial-tio2/Makefile DATA=data/tio2-pbe/tio2-pbe.extxyz OUT=quickstart)
graph=(-f docs/tutorial-elements/Makefile DATA=data/elements OUT=quickstart/elements)
make --no-print-directory "${potential[@]}"
make --no-print-directory "${graph[@]}"
cat quickstart/summary.txt quickstart/elements/summary.txt
echo
echo 'The commands, to repeat on files of your own (after export PATH=$PWD/bin:$PATH):'
for example in potential graph; do
  declare -n arguments=$example
  make --no-print-directory --always-make --dry-run "${arguments[@]}" all |
    grep -E '^(cache-neighbors|featurize|train|evaluate) ' | sed 's/^/  /; s| > /dev/null$||; s| > \(.*\)\.part$| > \1|'
done
