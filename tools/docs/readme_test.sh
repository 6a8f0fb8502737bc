#!/usr/bin/env bash
# readme_test.sh README TOOL...: every ```sh block of the README runs, in order, in one empty directory that has data/.
set -euo pipefail
readme=$1
shift
mkdir -p "$TEST_TMPDIR/bin" "$TEST_TMPDIR/work"
for tool in "$@"; do ln -s "$PWD/$tool" "$TEST_TMPDIR/bin/"; done
ln -s "$PWD/data" "$TEST_TMPDIR/work/data"
export PATH=$TEST_TMPDIR/bin:$PATH
sed -n '/^```sh$/,/^```$/p' "$readme" | grep -v '^```' > "$TEST_TMPDIR/commands.sh"
[ -s "$TEST_TMPDIR/commands.sh" ] || { echo "$readme has no sh block"; exit 1; }
cd "$TEST_TMPDIR/work"
bash -euo pipefail -x "$TEST_TMPDIR/commands.sh"
