# Helpers for tests of tracin on triples: a run on data/elements with two checkpoints, and checks.
set -uo pipefail
tracin=$PWD/tools/tracin/tracin
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
evaluate=$PWD/tools/evaluate/evaluate
untrained=$PWD/lib/kge/model/untrained_model
diff=$PWD/lib/tensorfile/diff
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --train="$elements/train.txt" --valid="$elements/valid.txt" --test="$elements/test.txt" \
  --output=g.safetensors 2> log || fail "featurize: $(cat log)"
small="--embedding_dim=16 --embedding_height=4 --embedding_width=4 --output_channels=4 --plot=false --progress=false"
succeeds $train $small --max_epochs=4 --keep_every_epochs=2 --output_dir=run g.safetensors
succeeds $train $small --max_epochs=1 --seed=5 --output_dir=other g.safetensors
head -n 4 "$elements/test.txt" > t.tsv
saved="run/checkpoints/epoch-00002.safetensors run/checkpoints/epoch-00004.safetensors"
data="--train=g.safetensors --test=t.tsv"
ok() { # ok OUT ARGS...: runs, and leaves what it says in log
  local out=$1
  shift
  $tracin "$@" > "$out" 2> log || fail "$*: $(cat log)"
}
refuses() { expect_error 1 "$1" "$tracin" "${@:2}"; }
# column NAME FILE prints a column; close FILE FILE compares rows, with scores equal up to rounding.
column() { awk -F'\t' -v c="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i; next } { print $at }' "$2"; }
close() {
  paste "$1" "$2" | awk -F'\t' 'NR == 1 { n = NF / 2; if (NF % 2) exit 1; next }
    { for (i = 1; i <= n; ++i) { d = $i - $(i + n); if (d < 0) d = -d; a = $i < 0 ? -$i : $i
        if ($i != $(i + n) && !(d <= 1e-5 * a + 1e-9)) { print "row " NR ": " $i " and " $(i + n); exit 1 } } }'
}

