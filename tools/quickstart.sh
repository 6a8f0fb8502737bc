#!/usr/bin/env bash
# From a fresh machine to a trained potential: installs what is missing, builds the tools into bin/, and runs
# featurize | train | evaluate on the DFT data in data/tio2-pbe. What is up to date is not done again.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/bootstrap.sh build

echo "Building the tools (minutes the first time, seconds later) ..." >&2
bazel build --noshow_progress --show_result=0 //:tools 2>&1 | grep -vE '^(INFO|Loading|Analyzing):? ' >&2 || true
mkdir -p bin
for tool in featurize train evaluate; do
  binary=bazel-bin/tools/$tool/$tool
  [ -x "$binary" ] || { echo "quickstart.sh: $binary was not built; see above" >&2; exit 1; }
  cmp -s "$binary" "bin/$tool" || install -m 755 "$binary" "bin/$tool"
done

PATH=$PWD/bin:$PATH make --no-print-directory -C docs/tutorial-tio2 OUT="$PWD/quickstart"
cat quickstart/summary.txt
