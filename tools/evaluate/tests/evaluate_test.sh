#!/usr/bin/env bash
# evaluate as users run it: features and structures, tables, the report, limits, and one clear line for bad input.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# One angular cutoff, as aenet's files have.
$featurize --species=Ti,O --ang_cutoff=4 --precision=fp64 --output=f.safetensors "$tio2" 2> /dev/null ||
  fail "featurize"
succeeds $train --precision=fp64 --max_epochs=20 --test_fraction=0.1 --output_dir=run f.safetensors && mv stdout trained

succeeds $evaluate run/best.safetensors f.safetensors && mv stdout features.tsv
succeeds $evaluate --threads=2 run/best.safetensors "$tio2" && mv stdout structures.tsv
cmp features.tsv structures.tsv || fail "features and structures differ"
$cache --cutoff=6.5 --output=n.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors"
succeeds $evaluate run/best.safetensors n.safetensors && mv stdout neighbors.tsv
cmp features.tsv neighbors.tsv || fail "features and neighbors differ"
succeeds $evaluate run/best.safetensors f.safetensors n.safetensors && mv stdout both.tsv
cmp features.tsv both.tsv || fail "features and neighbors together differ"
$featurize --species=Ti,O --ang_cutoff=3 --output=other.safetensors "$tio2" 2> /dev/null || fail "other features"
expect_error 1 'other.safetensors: made with the descriptor .*model' $evaluate run/best.safetensors other.safetensors \
  n.safetensors
$cache --cutoff=3 --output=short.safetensors "$tio2" 2> /dev/null || fail "cache-neighbors --cutoff=3"
expect_error 1 'short.safetensors' $evaluate run/best.safetensors short.safetensors
[ "$(head -n 1 features.tsv | paste -sd ' ' | tr '\t' ' ')" = \
  'grouping group quantity unit count rmse mae max structures of_structures atoms of_atoms' ] || fail "header"
# value GROUPING GROUP QUANTITY UNIT COLUMN FILE
value() { awk -F'\t' -v g="$1" -v n="$2" -v q="$3" -v u="$4" -v c="$5" \
  '$1 == g && $2 == n && $3 == q && $4 == u { print $c }' "$6"; }
[ "$(value all '' energy meV/atom 5 features.tsv)" = 403 ] &&
  [ "$(value all '' force eV/Å 9 features.tsv)" = 403 ] || fail "energies: $(cat features.tsv)"
[ "$(value all '' force eV/Å 5 features.tsv)" = "$(($(value all '' force_vector eV/Å 5 features.tsv) * 3))" ] ||
  fail "forces"
[ "$(value all '' net_force eV/Å 8 features.tsv)" = 0.000000000 ] || fail "net force"
for row in 'config_type rutile energy meV/atom' 'config_type rutile force eV/Å' 'species Ti force_vector eV/Å'; do
  [ -n "$(value $row 6 features.tsv)" ] || fail "no $row: $(cat features.tsv)"
done
# The table of the test set equals train's.
$evaluate --frames=run/test_frames.txt run/best.safetensors f.safetensors > test.tsv || fail "frames"
[ "$(value all '' energy meV/atom 6 test.tsv)" = "$(grep '^test' trained | cut -f 3)" ] ||
  fail "test errors: $(cat test.tsv trained)"
$evaluate --config_type=fluo* run/best.safetensors - < "$tio2" > stdin.tsv || fail "standard input"
# Without forces the energies are the same.
$evaluate --forces=false run/best.safetensors f.safetensors > energies.tsv || fail "energies alone"
[ "$(value all '' energy meV/atom 6 energies.tsv)" = "$(value all '' energy meV/atom 6 features.tsv)" ] ||
  fail "energies alone: $(cat energies.tsv)"
expect_no_line force energies.tsv

succeeds $evaluate --check --frames=<(seq 0 5) run/best.safetensors "$tio2" && mv stdout table
expect_line 'check: 27 force components of 3 structures agree' log
expect_line ' stress components' log

succeeds $evaluate --train_log=run/log.tsv --output_dir=report run/best.safetensors f.safetensors && mv stdout table
for file in metrics.tsv predictions.tsv predictions_forces.tsv predictions.safetensors parity_energy.svg \
  error_histogram.svg parity_force.svg force_histogram.svg learning_curve.svg report.html; do
  [ -s report/$file ] || fail "no report/$file"
done
cmp table report/metrics.tsv || fail "metrics.tsv is not what was printed"
[ "$(wc -l < report/predictions.tsv)" = 404 ] || fail "predictions.tsv"
[ "$(wc -l < report/predictions_forces.tsv)" = "$(($(value all '' force_vector eV/Å 5 table) + 1))" ] ||
  fail "predictions_forces.tsv"
[ "$(wc -c < report/report.html)" -lt 2000000 ] || fail "report.html is $(wc -c < report/report.html) bytes"
# The report is self-contained: it refers to no other file and no server.
grep -qE '(src|href)="[^#d]' report/report.html && fail "report.html refers to other files"

# A committee of two members with their own seeds, as a list or a glob; a model given twice has no spread.
succeeds $train --precision=fp64 --max_epochs=5 --seed=7 --output_dir=other f.safetensors
succeeds $evaluate --output_dir=committee run/best.safetensors,other/best.safetensors f.safetensors &&
  mv stdout list.tsv
mkdir members && cp run/best.safetensors members/1.safetensors && cp other/best.safetensors members/2.safetensors
succeeds $evaluate 'members/*.safetensors' f.safetensors && mv stdout glob.tsv
cmp list.tsv glob.tsv || fail "list and glob differ"
[ "$(value all '' energy_spread meV/atom 5 list.tsv)" = 403 ] || fail "spread: $(cat list.tsv)"
[ -n "$(value species O force_spread eV/Å 6 list.tsv)" ] || fail "spread of forces: $(cat list.tsv)"
expect_line 'committee of 2' committee/report.html
expect_no_line 'spread of a committee' log
succeeds $evaluate run/best.safetensors,run/best.safetensors f.safetensors && mv stdout twice.tsv
expect_line 'warning: run/best.safetensors: is twice in the committee' log
cp run/best.safetensors copy.safetensors
succeeds $evaluate --forces=false other/best.safetensors,run/best.safetensors,copy.safetensors f.safetensors
expect_line 'warning: copy.safetensors: has the parameters of run/best.safetensors' log
[ "$(value all '' force eV/Å 6 twice.tsv)" = "$(value all '' force eV/Å 6 features.tsv)" ] || fail "a model twice"
[ "$(value all '' force_spread eV/Å 8 twice.tsv)" = 0.000000 ] || fail "spread of a model with itself"

# Atoms that the descriptor does not see.
printf '2\n\nTi 0 0 0\nO 1.9 0 0\n2\n\nTi 0 0 0\nO 0.5 0 0\n2\n\nTi 0 0 0\nO 0.4 0 0\n' > near.xyz
for flags in '' --forces=false; do
  succeeds $evaluate $flags run/best.safetensors near.xyz
  expect_line 'warning: 2 structures have atoms nearer than --min_cutoff=0.55 .* at 0.400 .*, are in near.xyz#2' log
done
head -n 4 near.xyz > far.xyz
succeeds $evaluate run/best.safetensors far.xyz
expect_no_line 'min_cutoff' log

# Parts by several processes, named together, give every file of one run, to the byte except for the command.
for members in run/best.safetensors run/best.safetensors,other/best.safetensors; do
  [ ! -d whole ] || mv whole whole1
  rm -rf parts merged
  chosen="--frames=run/test_frames.txt"
  succeeds $evaluate $chosen --output_dir=whole $members f.safetensors && mv stdout whole.tsv
  for i in 3 1 2; do
    succeeds $evaluate $chosen --shard=$i/3 --output_dir=parts $members f.safetensors && mv stdout part.tsv
    [ ! -s part.tsv ] || fail "a part prints a table"
  done
  expect_line 'wrote parts/predictions-00002-of-00003.safetensors: 1[34] structures' log
  succeeds $evaluate --output_dir=merged $members parts/predictions-*-of-00003.safetensors && mv stdout merged.tsv
  expect_line 'the predictions were made with --frames=' log
  cmp whole.tsv merged.tsv || fail "parts give other errors than the whole"
  for file in metrics.tsv predictions.tsv predictions_forces.tsv parity_force.svg; do
    cmp whole/$file merged/$file || fail "parts give another $file"
  done
  $evaluate $members merged/predictions.safetensors | cmp - whole.tsv || fail "predictions read back"
done
expect_error 1 'shard 2/3 of parts/predictions-00001-of-00003.safetensors and 1 more are missing' \
  $evaluate $members parts/predictions-00001-of-00003.safetensors
expect_error 1 'parts/predictions-00003-of-00003.safetensors is missing' \
  $evaluate $members parts/predictions-0000[12]-of-00003.safetensors
expect_error 1 'of 2 models, but 1 are given' $evaluate run/best.safetensors parts/*.safetensors
$evaluate --shard=2/3 --forces=false --output_dir=otherparts $members f.safetensors 2> log ||
  fail "energies in parts: $(cat log)"
ls parts/predictions-0000[13]* otherparts/* > mixed.txt
expect_error 1 'they are not parts of one result' $evaluate $members list:mixed.txt
expect_error 1 'was not made from the model other/best' $evaluate other/best.safetensors whole1/predictions.safetensors
expect_error 1 'does not go with' $evaluate $members f.safetensors parts/*.safetensors
expect_error 1 'shard=2/3 writes a part' $evaluate --shard=2/3 $members f.safetensors
expect_error 1 'shard=4/3' $evaluate --shard=4/3 --output_dir=parts $members f.safetensors
expect_error 1 'max_energy_rmse has no effect with --shard' \
  $evaluate --shard=2/3 --output_dir=parts --max_energy_rmse=1 $members f.safetensors
expect_error 1 'config_type has no effect on predictions' $evaluate --config_type=rutile $members parts/*.safetensors
$evaluate --max_energy_rmse=0.001 $members parts/*.safetensors > /dev/null 2> err
[ $? = 2 ] || fail "a limit on parts: $(cat err)"
expect_line 'meV/atom is above' err

printf '1\n\nO 0 0 0\n' > bare.xyz
succeeds $evaluate --output_dir=bare run/best.safetensors bare.xyz && mv stdout table
[ "$(cut -f 3 table | paste -sd ,)" = quantity,net_force ] || fail "rows without energies: $(cat table)"

# Limits that are met, not met, and impossible to check.
$evaluate --max_energy_rmse=1e6 run/best.safetensors f.safetensors > /dev/null 2>&1 || fail "a limit that is met"
$evaluate --max_energy_rmse=0.001 run/best.safetensors f.safetensors > /dev/null 2> err
[ $? = 2 ] || fail "a limit that is not met: $(cat err)"
expect_line 'meV/atom is above' err
$evaluate --max_energy_rmse=1 run/best.safetensors bare.xyz > /dev/null 2> err
[ $? = 2 ] || fail "a limit without energies: $(cat err)"
$evaluate --max_force_rmse=1e6 run/best.safetensors f.safetensors > /dev/null 2>&1 ||
  fail "a limit of forces that is met"
$evaluate --max_force_rmse=1e-6 run/best.safetensors f.safetensors > /dev/null 2> err
[ $? = 2 ] || fail "a limit of forces that is not met: $(cat err)"
expect_line 'eV/Å is above --max_force_rmse=1e-06' err
$evaluate --max_stress_rmse=1 run/best.safetensors bare.xyz > /dev/null 2> err
[ $? = 2 ] || fail "a limit without stress: $(cat err)"
expect_line 'no stress' err

expect_error 1 'none.safetensors' $evaluate none.safetensors f.safetensors
# A flipped bit is detected.
for file in run/best f; do
  python3 -c "import sys
data = bytearray(open(sys.argv[1], 'rb').read())
data[len(data) // 2] ^= 4
open('bit.safetensors', 'wb').write(data)" $file.safetensors
  expect_error 1 'bit.safetensors: .*CRC32C' \
    $evaluate $([ $file = f ] && echo run/best.safetensors) bit.safetensors $([ $file = f ] || echo f.safetensors)
done
expect_error 1 'potential' $evaluate f.safetensors f.safetensors
head -c 2000 run/best.safetensors > cut.safetensors
expect_error 1 'cut.safetensors' $evaluate cut.safetensors f.safetensors
expect_error 1 'is a file of kind checkpoint/1, expected potential/1; the models' \
  $evaluate --split=valid run/checkpoints/last.safetensors f.safetensors
expect_error 1 'split has no effect with an interatomic potential' \
  $evaluate --split=valid run/best.safetensors f.safetensors
for file in f n; do
  expect_error 1 'energy_key has no effect on files that were made from structures' \
    $evaluate --energy_key=E run/best.safetensors $file.safetensors
done
expect_error 1 'run: is the directory of a run, expected its model, run/best.safetensors' $evaluate run f.safetensors
expect_error 1 'needs a model' $evaluate
expect_error 1 'needs a model' $evaluate run/best.safetensors
expect_error 1 'none.xyz' $evaluate run/best.safetensors none.xyz
$featurize --species=Ti,O --rad_cutoff=5 --output=other.safetensors "$tio2" 2> /dev/null
expect_error 1 'descriptor' $evaluate run/best.safetensors other.safetensors
expect_error 1 'is a model, not data' $evaluate run/best.safetensors other/best.safetensors f.safetensors
expect_error 1 'need --forces' $evaluate --forces=false --max_force_rmse=1 run/best.safetensors f.safetensors
$train --max_epochs=1 --output_dir=longer other.safetensors > /dev/null 2>&1
expect_error 1 'a committee need the same' $evaluate run/best.safetensors,longer/best.safetensors f.safetensors
printf '1\n\nFe 0 0 0\n' > iron.xyz
expect_error 1 'is Fe, which is not among the model.s species Ti,O: leave' $evaluate run/best.safetensors iron.xyz
expect_error 1 'structure 5000' $evaluate --frames=<(echo 5000) run/best.safetensors f.safetensors
expect_error 1 'output_dir' $evaluate --train_log=run/log.tsv run/best.safetensors f.safetensors
expect_error 1 'train_log has no effect with several models' $evaluate --train_log=run/log.tsv --output_dir=committee \
  run/best.safetensors,other/best.safetensors f.safetensors
expect_error 1 '--config_type' $evaluate --config_type=nothing run/best.safetensors f.safetensors

# Export for aenet; evaluate_aenet_test.sh checks the numbers.
$evaluate --export_aenet=aenet run/best.safetensors 2> err || fail "--export_aenet: $(cat err)"
[ "$(head -n 1 aenet/Ti.nn.ascii)" = 4 ] || fail "aenet's files"
grep -qx Chebyshev aenet/O.nn.ascii || fail "aenet's files"
expect_error 1 'a model and nothing else' $evaluate --export_aenet=aenet run/best.safetensors f.safetensors
expect_error 1 '--check has no effect' $evaluate --export_aenet=aenet --check run/best.safetensors
expect_error 1 'one by one' $evaluate --export_aenet=aenet run/best.safetensors,other/best.safetensors
finish
