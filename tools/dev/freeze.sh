#!/usr/bin/env bash
# freeze.sh BIN OUT [INSTRUCTIONS]: records what the tools do, so that `diff -r` of two records shows what a change did.
#
#   BIN            a directory with the eight programs, as tools/quickstart.sh fills it
#   OUT            a directory that does not exist yet
#   INSTRUCTIONS   the program benchmarks/instructions; without it no instructions are counted
#
#   OUT/help/      --help and --help=all of each tool
#   OUT/sha256     checksums of everything that both tutorials and the resumed runs of testdata/compat write
#   OUT/symbols/   names that each program defines, sorted, without addresses
#   OUT/files/     the logs, messages, config.json and flags.txt among them, to see what differs
#   OUT/counts     instructions of each kernel under callgrind, to the unit
#
# Nothing in the record depends on time or place: logs are taken without their columns of seconds, and inputs and
# outputs lie at paths that are relative to one scratch directory.
set -euo pipefail
export LC_ALL=C
[ $# = 2 ] || [ $# = 3 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 1; }
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "$1" && pwd)
instructions=${3:+$(realpath "$3")}
mkdir "$2"
out=$(cd "$2" && pwd)
export PATH=$bin:$PATH
programs="cache-neighbors featurize train train-libtorch evaluate tracin tracin-verify profile"

mkdir "$out/help" "$out/symbols"
for program in $programs; do
  nm -C --defined-only "$bin/$program" | sed -E 's/^[0-9a-f]+ . //' | sort -u > "$out/symbols/$program"
  [[ $program =~ -(libtorch|verify)$ ]] ||
    { "$bin/$program" --help && "$bin/$program" --help=all; } > "$out/help/$program"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
cp -r "$root/data" "$root/docs/tutorial-tio2" "$root/docs/tutorial-elements" "$root/testdata/compat" .
chmod -R u+w .
make -s -f tutorial-tio2/Makefile DATA=data/tio2-pbe/tio2-pbe.extxyz OUT=tio2 all energies > /dev/null 2>&1
make -s -f tutorial-elements/Makefile DATA=data/elements OUT=elements > /dev/null 2>&1
tracin --train=tio2/features.safetensors --test=tio2/features.safetensors \
  --output=tio2/influence.safetensors tio2/energies/run/checkpoints/*.safetensors > /dev/null 2> tracin.err ||
  { cat tracin.err >&2; exit 1; }

# Runs of released versions go on to their end.
for run in compat/*/*/run; do
  name=${run%/run}
  # shellcheck disable=SC2046
  (cd "${name%/*}" && train $(cat "${name##*/}/flags") --plot=false --resume --output_dir="${name##*/}/run") \
    > "$name/resumed.out" 2> "$name/resumed.err" || echo "status $?" >> "$name/resumed.err"
done

# A log of a run has columns of seconds, and a few files repeat the command or the program's own checksum.
find . -name log.tsv -o -name log.jsonl -o -name '*.err' -o -name '*.out' -o -name config.json | while read -r file; do
  sed -E -i 's/[0-9.]+ ?(s|ms|us|min)\b/TIME/g; s/[0-9]+ atoms\/s/SPEED/g
    s/("[a-z_]*(second|time|per_s)[a-z_]*": ?)[0-9.e+-]+/\1TIME/g' "$file"
done
find . -name log.tsv | while read -r file; do
  awk -F'\t' -v OFS='\t' 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i ~ /second|time|per_s/) skip[i] = 1 }
    { for (i in skip) $i = "-"; print }' "$file" > "$file.new" && mv "$file.new" "$file"
done
find tio2 elements compat -type f | sort | xargs sha256sum > "$out/sha256"
mkdir "$out/files"
find . -name config.json -o -name log.tsv -o -name flags.txt -o -name '*.err' | tar cf - -T - | tar xf - -C "$out/files"

if [ -n "$instructions" ]; then
  for kernel in $("$instructions"); do
    count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=MeasuredCalls "$instructions" \
      "$kernel" 2>&1 |
      sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p')
    printf '%s\t%s\n' "$kernel" "${count:-none}"
  done > "$out/counts"
fi
