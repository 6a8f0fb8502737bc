#!/usr/bin/env bash
# Models go to aenet's files and come back: the same energies and forces, in every program that opens a model.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
tracin=$PWD/tools/tracin/tracin
read_aenet="python3 $PWD/tools/evaluate/tests/read_aenet.py"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$featurize --species=Ti,O --ang_cutoff=4 --precision=fp64 --output=f.safetensors "$tio2" 2> /dev/null ||
  fail "featurize"
succeeds $train --precision=fp64 --max_epochs=5 --output_dir=run f.safetensors
model=run/best.safetensors

# What is written, and what to do next.
$evaluate --export_aenet=aenet $model 2> err || fail "--export_aenet: $(cat err)"
expect_line 'wrote aenet/Ti.nn and aenet/O.nn, and the same as text' err
expect_line 'predict.x .* NETWORKS | Ti aenet/Ti.nn | O aenet/O.nn' err
expect_line 'pair_coeff \* \* v00 Ti O aenet/\*\*.nn Ti O' err
[ "$(cd aenet && echo *)" = 'O.nn O.nn.ascii Ti.nn Ti.nn.ascii' ] || fail "files: $(ls aenet)"

# A model of which a network is missing is no reason to speak of the order of arguments.
expect_error 1 'there is none of O' $evaluate aenet/Ti.nn "$tio2"
expect_no_line 'comes first' err

# A reader of the binary files that shares nothing with ours finds the same energies.
succeeds $evaluate --output_dir=direct $model f.safetensors
$read_aenet energies f.safetensors aenet/Ti.nn aenet/O.nn > energies 2> err || fail "read_aenet.py: $(cat err)"
sed -n '2,31p' direct/predictions.tsv | cut -f 6 | paste - energies |
  awk '{ if ($1 - $2 > 2e-8 || $2 - $1 > 2e-8) exit 1 } END { exit NR != 30 }' || fail "energies of aenet's files"

# Both forms open as models, in any order, and so does what is exported again; forces included.
succeeds $evaluate --output_dir=direct $model "$tio2"
again() {
  succeeds $evaluate --output_dir="$1" "$2" "$tio2"
  $read_aenet compare direct/predictions.safetensors "$1/predictions.safetensors" 1e-12 2> err || fail "$2: $(cat err)"
}
again binary aenet/Ti.nn,aenet/O.nn
again text 'aenet/*.nn.ascii'
succeeds $evaluate --export_aenet=twice aenet/O.nn.ascii,aenet/Ti.nn.ascii
again twice twice/O.nn,twice/Ti.nn
expect_text 'Evaluation of aenet/Ti.nn,aenet/O.nn' binary/report.html
expect_no_line committee binary/report.html
# The training range travels as well: the same structures are outside.
succeeds $evaluate --output_dir=mixed $model,aenet/O.nn,aenet/Ti.nn "$tio2"
expect_text 'Evaluation of a committee of 2' mixed/report.html
$read_aenet compare direct/predictions.safetensors direct/predictions.safetensors 0 || fail "compare"

# Shards know their models by all files.
for i in 1 2; do succeeds $evaluate --shard=$i/2 --output_dir=parts aenet/O.nn,aenet/Ti.nn "$tio2"; done
succeeds $evaluate --output_dir=merged aenet/O.nn,aenet/Ti.nn parts/predictions-*.safetensors
expect_error 1 'was not made from the model' \
  $evaluate --output_dir=merged twice/O.nn,twice/Ti.nn parts/predictions-*.safetensors

# What is missing, and what there is twice.
expect_error 1 'aenet/Ti.nn: need .*none of O' $evaluate aenet/Ti.nn "$tio2"
expect_error 1 'aenet/O.nn.ascii: is a second network of O, beside aenet/O.nn' $evaluate aenet "$tio2"
expect_error 1 'aenet/Ti.nn: is a network' $tracin --train="$tio2" --test="$tio2" aenet/Ti.nn
head -c 1000 aenet/O.nn > short.nn
expect_error 1 'short.nn: record .*cut off' $evaluate aenet/Ti.nn,short.nn "$tio2"

# Fine-tuning starts from them: steps of no length leave the energies where they were.
succeeds $train --precision=fp64 --max_epochs=1 --learning_rate=1e-15 --init_from=aenet/Ti.nn,aenet/O.nn \
  --output_dir=tuned f.safetensors
expect_line 'a new run starts from aenet/Ti.nn,aenet/O.nn: networks of Ti, O' log
succeeds $evaluate --output_dir=after tuned/best.safetensors "$tio2"
$read_aenet compare direct/predictions.safetensors after/predictions.safetensors 1e-9 2> err || fail "tuned: $(cat err)"
hashes=$(cat aenet/Ti.nn | sha256sum | cut -c 1-64),$(cat aenet/O.nn | sha256sum | cut -c 1-64)
expect_text "aenet/Ti.nn,aenet/O.nn $hashes" tuned/best.safetensors
expect_error 1 'none of O' $train --max_epochs=1 --init_from=aenet/Ti.nn --output_dir=none f.safetensors
expect_error 1 'expected one model, found 2' $train --max_epochs=1 --output_dir=none \
  --init_from=aenet/Ti.nn,aenet/O.nn,$model f.safetensors
[ ! -e none ] || fail "a run without a model to start from"
finish
