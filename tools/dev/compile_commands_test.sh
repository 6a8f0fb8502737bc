#!/usr/bin/env bash
# compile_commands_test.sh SCRIPT: what the script makes of commands that a bazel of our own prints.
set -euo pipefail

script=$PWD/$1
cd "$TEST_TMPDIR"
mkdir bin checkout
export PATH=$PWD/bin:$PATH CHECKOUT=$PWD/checkout
failed=0
expect() {
  local what=$1
  shift
  "$@" || { echo "FAILED: $what"; failed=1; }
}
# command_of SOURCE: the entry of a source, its arguments on one line.
command_of() {
  python3 -c '
import json, sys
for entry in json.load(open(sys.argv[1])):
    if entry["file"] == sys.argv[2]:
        print(entry["directory"], *entry["arguments"])' "$CHECKOUT/compile_commands.json" "$1"
}

# A bazel that notes how it was called, and knows three actions and a precompiled header.
cat > bin/bazel << 'END'
#!/usr/bin/env bash
echo "$*" >> "$CHECKOUT/../calls"
case $1 in
  info) printf 'workspace: %s\noutput_base: /base\n' "$CHECKOUT" ;;
  aquery) [ ! -e "$CHECKOUT/../broken" ] || exit 7
    cat << 'JSON' ;;
{"actions": [
  {"arguments": ["/usr/bin/gcc", "-std=c++0x", "-MD", "-MF", "bazel-out/z.d", "-frandom-seed=bazel-out/z.o", "-DTWO=2",
    "-iquote", ".", "-iquote", "external/absl", "-iquote", "bazel-out/bin", "-isystem", "external/torch/include",
    "-Wall", "-Werror", "-std=c++17", "-fno-canonical-system-headers", "-c", "lib/z.cc", "-o", "bazel-out/z.o"]},
  {"arguments": ["/usr/bin/gcc", "-include", "bazel-out/precompiled.h", "-c", "lib/a_test.cc", "-o", "bazel-out/a.o"]},
  {"arguments": ["/usr/bin/gcc", "-DSECOND", "-c", "lib/z.cc", "-o", "bazel-out/other.o"]},
  {"arguments": ["/usr/bin/gcc", "-c", "external/absl/base.cc", "-o", "bazel-out/base.o"]},
  {"arguments": ["/usr/bin/gcc", "-x", "c++-header", "-c", "lib/precompiled.cc", "-o", "bazel-out/precompiled.gch"]}
]}
JSON
esac
END
chmod +x bin/bazel

expect "it succeeds" python3 "$script" > out
expect "it says where the file is and how many commands it has" grep -qx "$CHECKOUT/compile_commands.json: 2 files" out
expect "all targets are asked for" grep -qF 'mnemonic("CppCompile", //...)' calls
expect "a command runs in the checkout, includes with external/ made absolute, without what gcc alone knows" \
  [ "$(command_of lib/z.cc)" = \
  "$CHECKOUT clang++ -D__CLANGD__ -DTWO=2 -iquote . -iquote /base/external/absl -isystem /base/external/torch/include \
-Wall -std=c++17 -c lib/z.cc" ]
expect "the precompiled header is not included" \
  [ "$(command_of lib/a_test.cc)" = "$CHECKOUT clang++ -D__CLANGD__ -c lib/a_test.cc" ]
expect "sources of others are left out" [ -z "$(command_of external/absl/base.cc)" ]
expect "the precompiled header itself is left out" [ -z "$(command_of lib/precompiled.cc)" ]

expect "targets can be named" python3 "$script" //lib/base/... //tools/train > out
expect "the named ones are asked for" grep -qF 'mnemonic("CppCompile", //lib/base/... + //tools/train)' calls

cp checkout/compile_commands.json before
touch broken
expect "an error of bazel is one" [ "$(python3 "$script" > out 2> err; echo $?)" = 1 ]
expect "the error names the command and its status" \
  grep -qx 'compile_commands.py: bazel aquery failed with exit status 7' err
expect "the file stays as it was after an error" cmp -s before checkout/compile_commands.json

expect "--help fails" [ "$(python3 "$script" --help 2> err; echo $?)" = 1 ]
expect "--help says how it is called" grep -q 'tools/dev/compile_commands.py \[TARGETS\]' err
exit $failed
