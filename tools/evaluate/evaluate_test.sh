#!/usr/bin/env bash
# evaluate as users run it: features and structures, tables, the report, limits, and one clear line for bad input.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
train=$PWD/tools/train/train
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --precision=fp64 --output=f.safetensors "$tio2" 2> /dev/null || fail "featurize"
$train --precision=fp64 --max_epochs=20 --test_fraction=0.1 --output_dir=run f.safetensors > trained 2> log || fail "train: $(cat log)"

$evaluate run/best.safetensors f.safetensors > features.tsv 2> log || fail "features: $(cat log)"
$evaluate --threads=2 run/best.safetensors "$tio2" > structures.tsv 2> log || fail "structures: $(cat log)"
cmp features.tsv structures.tsv || fail "features and structures differ"
head -n 1 features.tsv | grep -q 'energy_rmse\[meV/atom\]' || fail "no unit"
grep -q '^all.*403' features.tsv && grep -q '^config_type.rutile' features.tsv || fail "groups: $(cat features.tsv)"
# The table of the test set is what train said of it.
$evaluate --frames=run/test_frames.txt run/best.safetensors f.safetensors > test.tsv || fail "frames"
[ "$(grep '^all' test.tsv | cut -f 5)" = "$(grep '^test' trained | cut -f 3)" ] || fail "test errors: $(cat test.tsv trained)"
$evaluate --config_type=fluo* run/best.safetensors - < "$tio2" > stdin.tsv || fail "standard input"

$evaluate --train_log=run/log.tsv --output_dir=report run/best.safetensors f.safetensors > table 2> log || fail "report: $(cat log)"
for file in metrics.tsv predictions.tsv predictions.safetensors parity_energy.svg error_histogram.svg learning_curve.svg report.html; do
  [ -s report/$file ] || fail "no report/$file"
done
cmp table report/metrics.tsv || fail "metrics.tsv is not what was printed"
[ "$(wc -l < report/predictions.tsv)" = 404 ] || fail "predictions.tsv"
# The page needs nothing else: no reference to another file or to a server.
grep -qE '(src|href)="[^#d]' report/report.html && fail "report.html refers to other files"
printf '1\n\nO 0 0 0\n' > bare.xyz
$evaluate --output_dir=bare run/best.safetensors bare.xyz > table 2> log || fail "no energies: $(cat log)"
[ "$(wc -l < table)" = 1 ] || fail "rows without energies"

# A limit that is met, one that is not, one that cannot be checked.
$evaluate --max_energy_rmse=1e6 run/best.safetensors f.safetensors > /dev/null 2>&1 || fail "a limit that is met"
$evaluate --max_energy_rmse=0.001 run/best.safetensors f.safetensors > /dev/null 2> err
[ $? = 2 ] && grep -q 'meV/atom is above' err || fail "a limit that is not met: $(cat err)"
$evaluate --max_energy_rmse=1 run/best.safetensors bare.xyz > /dev/null 2> err
[ $? = 2 ] || fail "a limit without energies: $(cat err)"

expect_error 1 'none.safetensors' $evaluate none.safetensors f.safetensors
expect_error 1 'potential' $evaluate f.safetensors f.safetensors
head -c 2000 run/best.safetensors > cut.safetensors
expect_error 1 'cut.safetensors' $evaluate cut.safetensors f.safetensors
expect_error 1 'needs a model' $evaluate run/best.safetensors
expect_error 1 'none.xyz' $evaluate run/best.safetensors none.xyz
$featurize --species=Ti,O --rad_cutoff=5 --output=other.safetensors "$tio2" 2> /dev/null
expect_error 1 'descriptor' $evaluate run/best.safetensors other.safetensors
printf '1\n\nFe 0 0 0\n' > iron.xyz
expect_error 1 'Fe' $evaluate run/best.safetensors iron.xyz
expect_error 1 'structure 5000' $evaluate --frames=<(echo 5000) run/best.safetensors f.safetensors
expect_error 1 'output_dir' $evaluate --train_log=run/log.tsv run/best.safetensors f.safetensors
expect_error 1 '--config_type' $evaluate --config_type=nothing run/best.safetensors f.safetensors
finish
