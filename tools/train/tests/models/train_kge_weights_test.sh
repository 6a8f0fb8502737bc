#!/usr/bin/env bash
# Weights of triples and known-false triples, from featurize to a model: what they do, and who refuses them.
set -uo pipefail
checked="$PWD/tools/train/train --preset=aenet"
train="$checked --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
diff=$PWD/lib/tensorfile/diff
. tools/common/tool_test.sh
. tools/train/tests/same_run.sh
cd "$TEST_TMPDIR" || exit 1

# A ring of 40 entities, each with the next and the one after that; every fifth of these validates.
awk 'BEGIN {
  for (k = 0; k < 40; ++k) {
    print "e" k "\tnext\te" (k + 1) % 40 "\t" (k % 4 + 1) / 2 > "train.tsv"
    print "e" k "\tafter\te" (k + 2) % 40 "\t" 1 > (k % 5 ? "train.tsv" : "valid.tsv")
    print "e" k "\tnext\te" (k + 2) % 40 "\t" 0.5 > "false.tsv"
  }
}'
for file in train valid false; do cut -f 1-3 $file.tsv > $file-plain.tsv; done
sed 's/[^\t]*$/1/' train.tsv > train-ones.tsv
sed 's/[^\t]*$/1/' valid.tsv > valid-ones.tsv
triples() { $featurize --output="$1.safetensors" "${@:2}" 2> log || fail "featurize $1: $(cat log)"; }
triples plain --train=train-plain.tsv --valid=valid-plain.tsv
triples ones --train=train-ones.tsv --valid=valid-ones.tsv --weight_column=4
triples weighted --train=train.tsv --valid=valid.tsv --weight_column=4
expect_line 'weights of training triples: 0.5 to 2' log
triples false --train=train.tsv --valid=valid.tsv --negatives=false.tsv --weight_column=4
expect_line '40 triples are known to be false' log
refuses 'train-plain.tsv:1: .*weight_column' $featurize --output=z.safetensors --train=train-plain.tsv --weight_column=4
head -n 1 train-plain.tsv > both.tsv
refuses 'both.tsv:1: .*in train, too' $featurize --output=z.safetensors --train=both.tsv --negatives=both.tsv
sed 's/[^\t]*$/-1/' train.tsv > negative.tsv
refuses 'negative.tsv:1: .*weight is' $featurize --output=z.safetensors --train=negative.tsv --weight_column=4
[ -e z.safetensors ] && fail "a file of refused triples"

small="--embedding_dim=16 --seed=1 --threads=1 --batch_size=16"
conve="--embedding_height=4 --embedding_width=4 --output_channels=4"
for model in "--kge_model=complex --kge_loss=1vsAll --input_dropout=0.2" "$conve --kge_loss=1-N" \
  "--kge_model=cp --kge_loss=KvsAll"; do
  run() {
    $train $small $model --max_epochs=3 --overwrite --output_dir="$1" "${@:2}" > "$1.out" 2> "$1.err" ||
      fail "train $1 $model: $(cat "$1.err")"
  }
  run plain plain.safetensors
  run ones ones.safetensors
  $diff plain/last.safetensors ones/last.safetensors || fail "$model: weights of 1 change the run"
  run weighted weighted.safetensors
  $diff plain/last.safetensors weighted/last.safetensors > /dev/null && fail "$model: weights do nothing"
  train=$checked run false false.safetensors
  $diff weighted/last.safetensors false/last.safetensors > /dev/null && fail "$model: known-false triples do nothing"
  run none --negative_weight=0 false.safetensors
  $diff weighted/last.safetensors none/last.safetensors > /dev/null || fail "$model: --negative_weight=0 does something"
  # The definition by LibTorch, and a run that was stopped within an epoch.
  train=$checked run eager --compile_mode=none --precision=fp64 --negative_weight=2 false.safetensors
  train=$checked run kernel --precision=fp64 --negative_weight=2 --threads=2 false.safetensors
  same eager kernel
  succeeds $train $small $model --max_steps=4 --overwrite --output_dir=part false.safetensors
  succeeds $train $small $model --max_epochs=3 --resume --output_dir=part false.safetensors
  $diff part/last.safetensors false/last.safetensors || fail "$model: a run that was resumed differs"
done
refuses 'weights_sha256' $train $small $model --max_epochs=4 --resume --output_dir=part weighted.safetensors
refuses 'negative_weight=2: plain.safetensors' \
  $train $small --kge_model=complex --negative_weight=2 --output_dir=z plain.safetensors

# Examples of weight 0 do not train. They are not counted, neither among those that do nor for the last batch.
succeeds $train $small --kge_model=complex --max_epochs=1 --output_dir=counts false.safetensors
expect_line '72 triples as 144 queries and 80 known-false ones train' log
awk '{ print $1, $2, $3, ($1 + 0 < 17 ? 1 : 0) }' OFS='\t' <(cut -c 2- train.tsv | grep next) > zeros.tsv
triples zeros --train=zeros.tsv --weight_column=4 --inverse_relations=false
succeeds $train $small $conve --max_epochs=1 --output_dir=conve zeros.safetensors
expect_line '40 triples as 17 queries (23 more have weight 0) train' log
expect_line 'the last batch of an epoch has 1 of 17 queries' log

# Known-false triples of weight 0 are told apart. featurize refuses a file in which all have it; train warns of one.
awk '{ print $1, $2, $3, (NR % 4 == 0 ? 1 : 0) }' OFS='\t' false.tsv > some.tsv
triples some --train=train.tsv --valid=valid.tsv --negatives=some.tsv --weight_column=4
succeeds $train $small --kge_model=complex --max_epochs=1 --output_dir=some some.safetensors
expect_line '10 triples are known to be false (30 more have weight 0)' log
python3 - << 'PYTHON'
import json, struct
data = bytearray(open('some.safetensors', 'rb').read())
size = struct.unpack('<Q', data[:8])[0]
header = bytes(data[8:8 + size]).replace(b'crc32c.negative_weights', b'former.negative_weights')
data[8:8 + size] = header
begin, end = json.loads(header)['negative_weights']['data_offsets']
data[8 + size + begin:8 + size + end] = bytes(end - begin)
open('none.safetensors', 'wb').write(data)
PYTHON
succeeds $train $small --kge_model=complex --max_epochs=1 --output_dir=unlearned none.safetensors
expect_line 'warning: 40 triples are known to be false, and all have weight 0: none is learned' log

# A sample of the validation triples may have weights of 0 alone, as one of these two has.
for drawn in --rank_sample=1 "--limit_val_batches=1 --batch_size=1"; do
  refused=0
  for half in 0 1; do
    awk -v half=$half '{ $4 = substr($1, 2) % 2 == half; print }' OFS='\t' valid.tsv > half.tsv
    triples half --train=train.tsv --valid=half.tsv --weight_column=4
    # shellcheck disable=SC2086
    $train $small --kge_model=complex --kge_loss=1vsAll --max_epochs=1 --overwrite --output_dir=half $drawn \
      half.safetensors > out 2> err && continue
    refused=$((refused + 1))
    grep -q -e "^train: ${drawn%%=*}.*weights of all [12] validation queries that were drawn are 0" err ||
      fail "$drawn: $(cat err)"
  done
  [ $refused = 1 ] || fail "$drawn: $refused of 2 were refused"
done

# Two processes, which deal out the batch or divide the table of entities.
two="$small --kge_model=complex --num_processes=2 --max_epochs=1"
# shellcheck disable=SC2086
if $train $two --output_dir=two plain.safetensors > out 2> err; then
  sums="$small --kge_model=complex --precision=fp64 --max_epochs=3 --overwrite"
  for loss in 1vsAll 1-N; do
    $train $sums --kge_loss=$loss --output_dir=one false.safetensors > one.out 2> one.err ||
      fail "one: $(cat one.err)"
    for strategy in ddp tensor_parallel; do
      $train $sums --kge_loss=$loss --num_processes=2 --strategy=$strategy --output_dir=two false.safetensors \
        > two.out 2> two.err || fail "$strategy: $(cat two.err)"
      same one two
    done
  done
fi
finish
