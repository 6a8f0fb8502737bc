#!/bin/sh
# info and diff as one calls them: output, exit status, streams.
set -u
info=$1
diff=$2
samples=testdata/tensorfile
failures=0

# expect STATUS COMMAND...: runs it; its output is in $out then, with stderr.
expect() {
  expected=$1
  shift
  out=$("$@" 2>&1)
  found=$?
  if [ "$found" != "$expected" ]; then
    echo "FAILED: exit status $found, expected $expected: $*"
    echo "$out"
    failures=$((failures + 1))
  fi
}

# contains TEXT: the last output has it.
contains() {
  case $out in
    *"$1"*) ;;
    *)
      echo "FAILED: no \"$1\" in: $out"
      failures=$((failures + 1))
      ;;
  esac
}

expect 0 "$info" $samples/reference.safetensors
contains "reference.safetensors: test/1, 8 tensors, 80 bytes of data"
contains "feature  F32    [2,3]"
expect 0 "$info" $samples/nothing.safetensors $samples/misaligned.safetensors
contains "misaligned.safetensors: no kind, 1 tensors"
expect 0 "$info" - < $samples/reference.safetensors
contains "standard input: test/1"
expect 0 "$info" --full --verify $samples/checksum.safetensors
contains "crc32c.t  e3069283"
expect 0 "$info" $samples/bad_checksum.safetensors
expect 1 "$info" --verify $samples/bad_checksum.safetensors $samples/nothing.safetensors
contains "CRC32C is"
contains "nothing.safetensors: no kind, 0 tensors"
expect 1 "$info" $samples/none.safetensors
contains "info: $samples/none.safetensors: No such file or directory"
expect 1 "$info"
contains "usage: info"
expect 1 "$info" --what x
contains "unknown flag --what"
expect 0 "$info" --help
contains "usage: info"

expect 0 "$diff" $samples/reference.safetensors $samples/reference.safetensors
expect 0 "$diff" --metadata --rtol=1e-3 --atol=0 - $samples/reference.safetensors < $samples/reference.safetensors
expect 1 "$diff" $samples/nothing.safetensors $samples/misaligned.safetensors
contains "tensor \"a\": only in $samples/misaligned.safetensors"
expect 0 "$diff" $samples/nothing.safetensors $samples/nothing.safetensors
expect 2 "$diff" $samples/bad_hole.safetensors $samples/nothing.safetensors
contains "is a hole from 1 on"
expect 2 "$diff" $samples/nothing.safetensors
contains "expected two files, got 1"
expect 2 "$diff" --rtol=-1 a b
contains "expected a number from 0 on"
expect 2 "$diff" --rtol=x a b
expect 2 "$diff" --rtol a b
contains "unknown flag --rtol"
expect 2 "$diff" - -
contains "only one of the files can be standard input"
expect 0 "$diff" --help
contains "usage: diff"

[ "$failures" = 0 ]
