#!/usr/bin/env bash
# train on triples of families, where grandparents and siblings follow from parents: all models, resuming, bad input.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

# 12 families: a grandparent, two children, three children of each. Of the grandparent and sibling facts, which follow
# from the parents, every seventh validates and every eleventh is the test.
awk 'BEGIN {
  for (f = 0; f < 12; ++f) {
    g = "g" f
    for (c = 0; c < 2; ++c) {
      child = g "c" c
      print g "\tparent\t" child > "train.txt"
      for (k = 0; k < 3; ++k) {
        kid = child "k" k
        print child "\tparent\t" kid > "train.txt"
        fact(g, "grandparent", kid)
        for (o = 0; o < 3; ++o) if (o != k) fact(kid, "sibling", child "k" o)
      }
    }
  }
}
function fact(head, relation, tail) {
  ++n
  print head "\t" relation "\t" tail > (n % 7 == 0 ? "valid.txt" : n % 11 == 0 ? "test.txt" : "train.txt")
}'
$featurize --train=train.txt --valid=valid.txt --test=test.txt --output=t.safetensors 2> log ||
  fail "featurize: $(cat log)"

small="--embedding_dim=32 --embedding_height=8 --embedding_width=4 --output_channels=8 --seed=1 --threads=1"
metric() { awk -F'\t' -v set="$1" -v name="$2" \
  'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == name) c = i} $1 == set {print $c}' "$3"; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a >= b)}'; }

# 108 entities; by chance the MRR would be 0.05.
succeeds $checked $small --max_epochs=150 --batch_size=32 --input_dropout=0 --feature_map_dropout=0 \
  --output_dropout=0.1 --output_dir=a t.safetensors && mv stdout metrics
for file in best.safetensors last.safetensors log.tsv config.json flags.txt checkpoints/last.safetensors; do
  [ -s a/$file ] || fail "no a/$file"
done
[ -e a/train_frames.txt ] && fail "frames of triples"
$info a/best.safetensors | grep -q 'kge/1' || fail "kind of best.safetensors"
at_least "$(metric test mrr metrics)" 0.7 || fail "MRR of the test: $(cat metrics)"
[ "$(awk -F'\t' 'NR == 2 {print $2}' metrics)" = "$((2 * $(wc -l < valid.txt)))" ] ||
  fail "both directions: $(cat metrics)"
# The best model is that of the highest MRR.
# val_mrr DIRECTORY: this column of a run's log, a row for each epoch.
val_mrr() {
  awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == "val_mrr") c = i} NR > 1 {print $c}' "$1/log.tsv"
}
best=$(printf '%.4f' "$(val_mrr a | sort -g | tail -n 1)")
[ "$(metric validation mrr metrics)" = "$best" ] || fail "best is $(metric validation mrr metrics), highest is $best"

# Five epochs, then resumed to twelve, give the bits of the uninterrupted run; also with parts that have memory.
rm -r a
succeeds $train $small --max_epochs=12 --output_dir=a t.safetensors
expect_line '"batch_size": 128' a/config.json
expect_line '"kge_loss": "1-N"' a/config.json
$train $small --threads=2 --max_epochs=5 --output_dir=b t.safetensors > /dev/null 2>&1 || fail "first part"
succeeds $train $small --max_epochs=12 --output_dir=b --resume t.safetensors
$diff a/last.safetensors b/last.safetensors || fail "a resumed run differs"
$diff a/best.safetensors b/best.safetensors || fail "the best of a resumed run differs"
state="$small --ema --ema_decay=0.9 --accumulate_grad_batches=2 --lr_scheduler=cosine --save_top_k=2 --batch_size=32"
succeeds $train $state --max_epochs=6 --lr_period=6 --output_dir=c t.safetensors
$train $state --max_epochs=3 --lr_period=6 --output_dir=d t.safetensors > /dev/null 2>&1 || fail "first part of states"
succeeds $train $state --max_epochs=6 --lr_period=6 --output_dir=d --resume t.safetensors
$diff c/last.safetensors d/last.safetensors || fail "a resumed run with states differs"
refuses 'output_dropout is "0.1", but the run to resume has "0.3"' \
  $train $small --max_epochs=12 --output_dropout=0.1 --output_dir=b --resume t.safetensors
# The recorded flags repeat the run; known tails from a file equal those computed.
succeeds $train --flagfile=c/flags.txt --output_dir=e
$diff c/last.safetensors e/last.safetensors || fail "the run made again differs"
$cache --output=k.safetensors t.safetensors 2> log || fail "cache-neighbors: $(cat log)"
succeeds $train $state --max_epochs=6 --lr_period=6 --output_dir=f t.safetensors k.safetensors
$diff c/last.safetensors f/last.safetensors || fail "known tails from a file make a difference"
# Triples come through a pipe, alone and beside a file, whose role need not be named.
cat t.safetensors | $train $state --max_epochs=6 --lr_period=6 --output_dir=p - > metrics 2> log ||
  fail "pipe: $(cat log)"
$diff c/last.safetensors p/last.safetensors || fail "triples from a pipe make a difference"
$train $state --max_epochs=6 --lr_period=6 --output_dir=p --overwrite - k.safetensors < t.safetensors > /dev/null \
  2> log || fail "stream: $(cat log)"
$diff c/last.safetensors p/last.safetensors || fail "triples from a stream and known tails make a difference"
expect_error 1 'needs the file of triples' $train --output_dir=z - < k.safetensors
$featurize --train=train.txt --valid=valid.txt --output=other.safetensors 2> /dev/null || fail "other triples"
expect_error 1 'other triples' $train --output_dir=g other.safetensors k.safetensors

# Every model, variant and loss trains, by the kernel and by the reference alike.
loss_of() { awk -F'\t' 'NR == 4 {print $4}' "$1/log.tsv"; }
for flags in "--conve_variant=tiepin" "--conve_variant=libkge" "--kge_loss=1vsAll --precision=fp64" \
  "--kge_loss=KvsAll --label_smoothing=0.1 --label_smoothing_form=pykeen" "--kge_loss=1-N --regularizer=f2" \
  "--kge_loss=1vsAll --group_queries --regularizer=n3 --init=normal:0.1" "--candidate_dropout=0.3"; do
  succeeds $checked $small --max_epochs=3 --overwrite --output_dir=g $flags t.safetensors
  succeeds $checked $small --max_epochs=3 --overwrite --compile_mode=none --output_dir=h $flags t.safetensors
  awk -v a="$(loss_of g)" -v b="$(loss_of h)" 'BEGIN {exit !(a - b < 2e-3 * a && b - a < 2e-3 * a)}' ||
    fail "$flags: loss $(loss_of g) by the kernel, $(loss_of h) by the reference"
done
for flags in --kge_model=complex "--kge_model=distmult --optimizer=lbfgs"; do
  succeeds $checked --threads=1 --embedding_dim=32 --max_epochs=2 --overwrite --output_dir=g $flags t.safetensors
done
for flags in "--optimizer=adagrad --learning_rate=0.1 --gradient_clip_val=1" \
  "--parameter_groups=fc.* --alternate_groups=3" "--average_best=2 --num_workers=1 --monitor=val_loss" \
  "--committee=2 --patience=2"; do
  rm -rf g
  succeeds $train $small --max_epochs=3 --output_dir=g $flags t.safetensors
done
# Batches of few queries do not contain all relations; rows of the others do not move with --lazy_rows.
for flags in "" --lazy_rows; do
  succeeds $train $small --batch_size=2 --max_steps=20 --overwrite --output_dir="rows$flags" $flags t.safetensors
done
cmp -s rows/last.safetensors rows--lazy_rows/last.safetensors && fail "lazy rows move as all others do"
refuses 'lazy_rows is not set, but the run to resume has true' \
  $train $small --batch_size=2 --max_steps=40 --resume --output_dir=rows--lazy_rows t.safetensors
# bf16 runs in the kernel if the processor has it.
if grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo; then
  succeeds $checked $small --max_epochs=3 --overwrite --precision=bf16-mixed --output_dir=g t.safetensors
  expect_no_line 'compile_mode=none' log
  $train $small --max_epochs=3 --overwrite --output_dir=h t.safetensors > /dev/null 2>&1
  # The loss is the same to the third digit, but not to the last bit.
  awk -v a="$(loss_of g)" -v b="$(loss_of h)" 'BEGIN {exit !(a != b && a - b < 1e-3 * a && b - a < 1e-3 * a)}' ||
    fail "bf16: loss $(loss_of g), in fp32 $(loss_of h)"
  refuses 'precision is "fp32", but the run to resume has "bf16-mixed"' \
    $train $small --resume --output_dir=g t.safetensors
fi
if grep -q 'amx_bf16' /proc/cpuinfo; then
  succeeds $checked $small --max_epochs=3 --overwrite --float32_matmul_precision=high --output_dir=g t.safetensors
  expect_no_line 'compile_mode=none' log
  awk -v a="$(loss_of g)" -v b="$(loss_of h)" 'BEGIN {exit !(a != b && a - b < 1e-4 * a && b - a < 1e-4 * a)}' ||
    fail "high: loss $(loss_of g), in fp32 $(loss_of h)"
  expect_line '"float32_matmul_precision": "high"' g/config.json
  refuses 'float32_matmul_precision is not set, but the run to resume has "high"' \
    $train $small --resume --output_dir=g t.safetensors
else
  expect_error 1 'needs a processor with AMX-BF16' \
    $train $small --float32_matmul_precision=high --output_dir=i t.safetensors
fi
expect_error 1 'medium is called --precision=bf16-mixed' \
  $train $small --float32_matmul_precision=medium --output_dir=i t.safetensors
expect_error 1 'has no effect in fp64' \
  $train $small --float32_matmul_precision=high --precision=fp64 --output_dir=i t.safetensors
# Without inverses only tails are ranked; without validation triples the training loss decides.
$featurize --train=train.txt --test=test.txt --inverse_relations=false --output=plain.safetensors 2> /dev/null ||
  fail "plain"
succeeds $train $small --max_epochs=2 --overwrite --output_dir=g plain.safetensors && mv stdout metrics
[ "$(awk -F'\t' 'NR == 2 {print $1, $2}' metrics)" = "test $(wc -l < test.txt)" ] || fail "tails alone: $(cat metrics)"
expect_line 'no validation triples' log

# Defaults depend on the variant; two of dimension, height and width determine the third.
config() { grep -o "\"$2\": \"[^\"]*\"" "$1/config.json" | head -n 1 | cut -d '"' -f 4; }
succeeds $train --threads=1 --conve_variant=tiepin --output_channels=2 --max_steps=1 --overwrite --output_dir=g \
  t.safetensors
for pair in embedding_height:10 embedding_width:20 kge_loss:1-of-N label_smoothing_form:standard label_smoothing:0.1; do
  [ "$(config g "${pair%:*}")" = "${pair#*:}" ] || fail "tiepin's ${pair%:*} is $(config g "${pair%:*}")"
done
expect_line '"learning_rate": 0.001' g/config.json
expect_line '"batch_size": 256' g/config.json
succeeds $train --threads=1 --embedding_dim=24 --embedding_height=6 --max_steps=1 --overwrite --output_dir=g \
  t.safetensors
[ "$(config g embedding_width)" = 4 ] || fail "the width is not inferred"

expect_error 1 'what fits: 1 x 30' $train --embedding_dim=30 --embedding_height=8 --output_dir=z t.safetensors
expect_error 1 'larger than the image' $train --kernel_height=41 --output_dir=z t.safetensors
expect_error 1 'hidden has no effect on triples' $train --hidden=8 --output_dir=z t.safetensors
# Start from a model: sizes come from it, rows are matched by name, and a larger graph starts with what was learned.
succeeds $train --init_from=a/best.safetensors --learning_rate=1e-30 --max_epochs=1 --threads=1 --output_dir=tuned \
  t.safetensors
entities=$(cut -f 1,3 train.txt valid.txt test.txt | tr '\t' '\n' | sort -u | wc -l)
expect_line "starts from a/best.safetensors: rows of $entities entities and 6 relations; from random numbers: 0 and 0" \
  log
[ "$(config tuned embedding_dim)" = 32 ] || fail "the model's sizes"
$info tuned/last.safetensors | grep -q 'a/best.safetensors' || fail "init_from in the metadata"
best=$(val_mrr a | sort -g | tail -n 1)
tuned=$(val_mrr tuned | head -n 1)
at_least "$tuned" "$(awk -v b="$best" 'BEGIN {print b / 2}')" || fail "the run starts at $tuned, the model has $best"
(cat train.txt && printf 'g0\tparent\tbaby\n') > grown.txt
$featurize --train=grown.txt --valid=valid.txt --test=test.txt --output=grown.safetensors 2> /dev/null ||
  fail "grown graph"
succeeds $train --init_from=a/best.safetensors --max_epochs=1 --threads=1 --output_dir=grown grown.safetensors
expect_line "rows of $entities entities and 6 relations; from random numbers: 1 and 0" log
expect_error 1 'the model of --init_from has 32' \
  $train --init_from=a/best.safetensors --embedding_dim=16 --output_dir=z t.safetensors
expect_error 1 'the model of --init_from has conve' \
  $train --init_from=a/best.safetensors --kge_model=complex --output_dir=z t.safetensors
expect_error 1 'init_from has no effect with --resume' \
  $train --init_from=a/best.safetensors --resume --output_dir=tuned t.safetensors
expect_error 1 'validation_fraction has no effect on triples' \
  $train --validation_fraction=0.2 --output_dir=z t.safetensors
expect_error 1 'kernel_height has no effect with --kge_model=distmult' \
  $train --kge_model=distmult --kernel_height=2 --output_dir=z t.safetensors
expect_error 1 'label_smoothing_form has no effect' \
  $train --label_smoothing=0 --label_smoothing_form=pykeen --output_dir=z t.safetensors
# Regularized runs go on as if nobody had stopped them, and their settings are those of the run and of its model.
regular="--kge_model=complex --embedding_dim=32 --threads=1 --optimizer=adagrad --learning_rate=0.1 --kge_loss=1vsAll"
regular="$regular --group_queries --regularizer=n3 --regularization=0.02 --init=normal:0.001"
succeeds $checked $regular --max_epochs=6 --output_dir=n3 t.safetensors
succeeds $train $regular --max_epochs=3 --output_dir=n3b t.safetensors
succeeds $train $regular --max_epochs=6 --resume --output_dir=n3b t.safetensors
$diff n3/last.safetensors n3b/last.safetensors || fail "a regularized run that was resumed differs"
for pair in regularizer:n3 init:normal:0.001; do
  [ "$(config n3 "${pair%%:*}")" = "${pair#*:}" ] || fail "${pair%%:*} in config.json is $(config n3 "${pair%%:*}")"
  $info n3/best.safetensors | grep -q "${pair%%:*}.*${pair#*:}" || fail "${pair%%:*} in the model"
done
# Masks of candidates are those of the batch's number, so that a run stopped within an epoch goes on to the same bits.
product="--kge_model=complex --embedding_dim=16 --threads=1 --batch_size=16 --seed=3"
table="--entity_dropout=0.2 --relation_dropout=0.1 --candidate_dropout=0.3 --relation_prediction=0.5 --regularizer=dura"
succeeds $train $product $table --max_steps=20 --output_dir=table t.safetensors
succeeds $train $product $table --max_steps=7 --output_dir=tableb t.safetensors
succeeds $train $product $table --max_steps=20 --resume --output_dir=tableb t.safetensors
$diff table/last.safetensors tableb/last.safetensors || fail "a run with dropout by table that was resumed differs"
for pair in entity_dropout:0.2 input_dropout:0 candidate_dropout:0.3 relation_prediction:0.5 regularizer:dura; do
  [ "$(config table "${pair%%:*}")" = "${pair#*:}" ] || fail "${pair%%:*} is $(config table "${pair%%:*}")"
done
succeeds $train --flagfile=table/flags.txt --output_dir=tablec
$diff table/last.safetensors tablec/last.safetensors || fail "a run with dropout by table made again differs"
succeeds $checked $product $table --threads=2 --compile_mode=none --max_epochs=3 --output_dir=tabler t.safetensors
succeeds $checked $product $table --max_epochs=3 --output_dir=tablek t.safetensors
awk -v a="$(loss_of tablek)" -v b="$(loss_of tabler)" 'BEGIN {exit !(a - b < 2e-3 * a && b - a < 2e-3 * a)}' ||
  fail "dropout by table: loss $(loss_of tablek) by the kernel, $(loss_of tabler) by the reference"
if grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo; then
  succeeds $checked $product $table --precision=bf16-mixed --max_epochs=1 --overwrite --output_dir=g t.safetensors
fi
refuses 'input_dropout = 0.3 .*entity_dropout = 0.2' \
  $train $product --input_dropout=0.3 --entity_dropout=0.2 --output_dir=z t.safetensors
refuses 'entity_dropout has no effect with --kge_model=conve' $train --entity_dropout=0.2 --output_dir=z t.safetensors
refuses 'relation_prediction has no effect with --kge_model=conve' \
  $train --relation_prediction=1 --output_dir=z t.safetensors
refuses 'dura.*conve' $train --regularizer=dura --output_dir=z t.safetensors
refuses 'candidate_dropout' $train $product $table --candidate_dropout=0.1 --max_steps=30 --resume --output_dir=tableb \
  t.safetensors
# Distances, by the kernel and by the reference. What a distance cannot have is refused by name.
for model in transe rotate; do
  distance="--kge_model=$model --embedding_dim=16 --threads=1 --seed=3"
  for flags in "--distance_norm=2" "--kge_loss=KvsAll --entity_dropout=0.2 --candidate_dropout=0.1" "--kge_loss=1-N"; do
    succeeds $checked $distance $flags --max_epochs=3 --overwrite --output_dir=g t.safetensors
    succeeds $checked $distance $flags --max_epochs=3 --overwrite --threads=2 --compile_mode=none --output_dir=h \
      t.safetensors
    awk -v a="$(loss_of g)" -v b="$(loss_of h)" 'BEGIN {exit !(a - b < 2e-3 * a && b - a < 2e-3 * a)}' ||
      fail "$model $flags: loss $(loss_of g) by the kernel, $(loss_of h) by the reference"
  done
  succeeds $train $distance --distance_norm=2 --max_steps=20 --output_dir=$model t.safetensors
  succeeds $train $distance --distance_norm=2 --max_steps=7 --output_dir=${model}b t.safetensors
  succeeds $train $distance --distance_norm=2 --max_steps=20 --resume --output_dir=${model}b t.safetensors
  $diff $model/last.safetensors ${model}b/last.safetensors || fail "a run of $model that was resumed differs"
  refuses 'distance_norm' $train $distance --distance_norm=1 --max_steps=30 --resume --output_dir=${model}b \
    t.safetensors
  succeeds $train --init_from=$model/best.safetensors --max_epochs=1 --threads=1 --output_dir=${model}i t.safetensors
  [ "$(config ${model}i distance_norm)" = 2 ] || fail "a run that began with $model has another norm"
  refuses "distance_norm=1.* has 2" $train --init_from=$model/best.safetensors --distance_norm=1 --output_dir=z \
    t.safetensors
  refuses "relation_prediction has no effect with --kge_model=$model" \
    $train $distance --relation_prediction=1 --output_dir=z t.safetensors
  if grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo; then
    refuses "$model has no matrix products" $checked $distance --precision=bf16-mixed --compile_mode=none --device=cpu \
      --output_dir=z t.safetensors
  fi
  refuses 'distance_norm' $train $distance --distance_norm=3 --output_dir=z t.safetensors
done
refuses 'regularizer = f2.*rotate are angles' $train --kge_model=rotate --regularizer=f2 --output_dir=z t.safetensors
refuses 'distance_norm has no effect' $train --kge_model=complex --distance_norm=2 --output_dir=z t.safetensors
# The other products of embeddings, by the kernel and by the reference. A run that is stopped goes on to the same bits.
for model in rescal cp simple tucker; do
  bilinear="--kge_model=$model --embedding_dim=16 --threads=1 --seed=3 --kge_loss=1vsAll"
  for flags in "--input_dropout=0.2 --regularizer=n3" "--entity_dropout=0.2 --candidate_dropout=0.1" \
    "--input_dropout=0 --relation_prediction=0.5"; do
    [ $model = tucker ] && flags=${flags%--relation_prediction*}
    succeeds $checked $bilinear $flags --max_epochs=3 --overwrite --output_dir=g t.safetensors
    succeeds $checked $bilinear $flags --max_epochs=3 --overwrite --threads=2 --compile_mode=none --output_dir=h \
      t.safetensors
    awk -v a="$(loss_of g)" -v b="$(loss_of h)" 'BEGIN {exit !(a - b < 2e-3 * a && b - a < 2e-3 * a)}' ||
      fail "$model $flags: loss $(loss_of g) by the kernel, $(loss_of h) by the reference"
  done
  succeeds $train $bilinear --ema --ema_decay=0.9 --max_steps=20 --output_dir=$model t.safetensors
  succeeds $train $bilinear --ema --ema_decay=0.9 --max_steps=7 --output_dir=${model}b t.safetensors
  succeeds $train $bilinear --ema --ema_decay=0.9 --max_steps=20 --resume --output_dir=${model}b t.safetensors
  $diff $model/last.safetensors ${model}b/last.safetensors || fail "a run of $model that was resumed differs"
  succeeds $train --init_from=$model/best.safetensors --max_epochs=1 --threads=1 --output_dir=${model}i t.safetensors
  [ "$(config ${model}i kge_model)" = $model ] || fail "a run that began with $model has $(config ${model}i kge_model)"
  refuses "dura.*$model" $train $bilinear --regularizer=dura --output_dir=z t.safetensors
  refuses 'kernel_height has no effect' $train $bilinear --kernel_height=2 --output_dir=z t.safetensors
done
tucker="$train --kge_model=tucker --embedding_dim=8"
[ "$(config tucker relation_embedding_dim)" = 30 ] || fail "tucker: D is $(config tucker relation_embedding_dim)"
succeeds $tucker --relation_embedding_dim=3 --max_epochs=1 --overwrite --output_dir=g t.safetensors
[ "$(config g relation_embedding_dim)" = 3 ] || fail "tucker: D is $(config g relation_embedding_dim), not 3"
refuses 'parameters.relation.weight.*another model' $tucker --relation_embedding_dim=4 --resume --max_epochs=2 \
  --output_dir=g t.safetensors
refuses 'relation_embedding_dim=4.*init_from has 3' $train --relation_embedding_dim=4 --init_from=g/best.safetensors \
  --output_dir=z t.safetensors
refuses 'relation_embedding_dim has no effect' $train --kge_model=rescal --relation_embedding_dim=3 --output_dir=z \
  t.safetensors
refuses 'relation_prediction has no effect' $tucker --relation_prediction=1 --output_dir=z t.safetensors
refuses 'core tensor' $train --kge_model=tucker --embedding_dim=65536 --output_dir=z t.safetensors
refuses 'embedding_dim = 7: cp .*even' $train --kge_model=cp --embedding_dim=7 --output_dir=z t.safetensors
# The defaults of distmult and complex.
recent="${checked% --preset=aenet} $product --max_epochs=1 --overwrite --output_dir=g"
succeeds $recent t.safetensors
for pair in kge_loss:1vsAll group_queries: input_dropout:0.4; do
  [ "$(config g "${pair%%:*}")" = "${pair#*:}" ] || fail "default ${pair%%:*} is $(config g "${pair%%:*}")"
done
succeeds ${checked% --preset=aenet} --flagfile=g/flags.txt --overwrite --output_dir=gg
$diff g/last.safetensors gg/last.safetensors || fail "a run with default flags made again differs"
succeeds $recent --group_queries t.safetensors
[ "$(config g group_queries)" = true ] || fail "--group_queries gives $(config g group_queries)"
succeeds $recent --kge_loss=KvsAll t.safetensors
succeeds ${checked% --preset=aenet} --flagfile=g/flags.txt --overwrite --output_dir=gg
refuses 'regularizer' $train $regular --regularizer=f2 --max_epochs=8 --resume --output_dir=n3b t.safetensors
expect_error 1 'regularization has no effect with --regularizer=none' \
  $train --regularization=0.1 --output_dir=z t.safetensors
expect_error 1 'regularization is 0' $train --regularizer=n3 --regularization=0 --output_dir=z t.safetensors
expect_error 1 'group_queries has no effect with --kge_loss=KvsAll' \
  $train --kge_loss=KvsAll --group_queries --output_dir=z t.safetensors
expect_error 1 'normal:-1.*normal:0.001' $train --init=normal:-1 --output_dir=z t.safetensors
expect_error 1 'optimizer=lbfgs does not train ConvE' $train --optimizer=lbfgs --output_dir=z t.safetensors
expect_error 1 'schedule-free-adamw does not train ConvE' \
  $train --optimizer=schedule-free-adamw --output_dir=z t.safetensors
expect_error 1 'batch_size=1 does not train ConvE' $train --batch_size=1 --output_dir=z t.safetensors
for share in test_fraction validation_fraction; do
  expect_error 1 "$share has no effect on triples, which featurize splits.*--split=" \
    $train --$share=0.1 --output_dir=z t.safetensors
done
# One query: a star around a head, or a triple, without inverses.
printf 'a\tr\tb\na\tr\tc\n' > star.txt
$featurize --train=star.txt --inverse_relations=false --output=star.safetensors 2> /dev/null || fail "star"
expect_error 1 '^train: 1 training query does not train ConvE' $train --output_dir=z star.safetensors
succeeds $train --kge_model=distmult --embedding_dim=8 --max_epochs=1 --threads=1 --output_dir=star star.safetensors
# A last batch of one query is named, with the next size that leaves none.
printf '%s\tr\tz\n' a b c d e > five.txt
$featurize --train=five.txt --inverse_relations=false --output=five.safetensors 2> /dev/null || fail "five"
succeeds $train --max_epochs=1 --threads=1 --batch_size=2 --output_dir=five five.safetensors
expect_line 'warning: the last batch of an epoch has 1 of 5 queries.*--batch_size=3' log
succeeds $train --max_epochs=1 --threads=1 --batch_size=3 --overwrite --output_dir=five five.safetensors
grep -q 'last batch' log && fail "a last batch of two: $(cat log)"
for limit in limit_train_batches overfit_batches; do
  succeeds $train --max_epochs=1 --threads=1 --batch_size=2 --$limit=2 --overwrite --output_dir=five five.safetensors
  grep -q 'last batch' log && fail "--$limit leaves it out: $(cat log)"
done
succeeds $train --max_epochs=1 --threads=1 --batch_size=2 --committee=2 --output_dir=fives five.safetensors
[ "$(grep -c 'last batch' log)" = 1 ] || fail "said for each member: $(cat log)"
# Rows of embeddings by number would be given to other names, even with --override=all.
(tail -n 1 train.txt && head -n -1 train.txt) > moved.txt
$featurize --train=moved.txt --valid=valid.txt --test=test.txt --output=moved.safetensors 2> /dev/null || fail "moved"
succeeds $train $small --max_epochs=1 --output_dir=named t.safetensors
refuses 'other names than those of the run to resume.*--init_from' \
  $train $small --max_epochs=2 --resume --override=all --output_dir=named moved.safetensors
# Models say which triples they learned from.
$info a/best.safetensors | grep -q 'train_sha256' || fail "train_sha256 in the metadata"
expect_error 1 'bucket_by_size has no effect on triples' $train --bucket_by_size --output_dir=z t.safetensors
expect_error 1 'sampling_policy=error_weighted is not for triples' \
  $train --sampling_policy=error_weighted --output_dir=z t.safetensors
expect_error 1 'gradient_checkpointing saves nothing' $train --gradient_checkpointing --output_dir=z t.safetensors
expect_error 1 'kge_loss' $train --kge_loss=bce --output_dir=z t.safetensors
expect_error 1 'needs the file of triples' $train --output_dir=z k.safetensors
expect_error 1 'a second file of kind kg.triples' $train --output_dir=z t.safetensors other.safetensors
expect_error 1 'expected a file of triples' $train --output_dir=z t.safetensors train.txt
expect_error 1 'train.txt: is a knowledge graph as text' $train --kge_model=complex --output_dir=z train.txt
expect_error 1 'test: is featurize' $train --test=test.txt --output_dir=z t.safetensors
$checked --compile_mode=script --output_dir=z t.safetensors 2> log && fail "script"
expect_line "no form in TorchScript" log
[ -e z ] && fail "a refused run left files"
finish
