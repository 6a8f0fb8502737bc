#!/usr/bin/env bash
# Bad input and flags of tracin on triples: each gives one line that names the problem.
. tools/tracin/tests/kge_testing.sh

succeeds $train --kge_model=distmult --embedding_dim=8 --plot=false --progress=false --max_epochs=1 --output_dir=dist \
  g.safetensors
ok a.tsv $data --output=i.safetensors $saved

# Bad input, one line each.
refuses 'needs --train' --test=t.tsv $saved
refuses 'needs --test' --train=g.safetensors $saved
refuses 'needs checkpoints' $data
refuses 'No such file\|no such file' $data none.safetensors
refuses 'is of kind kg.triples/1, expected checkpoints' $data g.safetensors
refuses 'a model file has no learning rate: give --learning_rate' $data run/best.safetensors
refuses 'is of kind kge' $data --learning_rate=1 run/checkpoints/last.safetensors run/best.safetensors
ok turned.tsv $data run/checkpoints/epoch-00004.safetensors run/checkpoints/epoch-00002.safetensors
cmp a.tsv turned.tsv || fail "checkpoints are not ordered by step: $(head -n 3 a.tsv turned.tsv)"
refuses 'give each checkpoint once' $data $saved $saved
refuses 'of another run than .* another seed' $data run/checkpoints/epoch-00002.safetensors \
  other/checkpoints/last.safetensors
refuses 'of another model' $data run/checkpoints/epoch-00002.safetensors dist/checkpoints/last.safetensors
refuses "expected a checkpoint; numbers of a flag have commas between" $data --test-indices 0 1 $saved
succeeds $train --kge_model=complex --embedding_dim=8 --plot=false --progress=false --max_epochs=2 --output_dir=comp \
  g.safetensors
refuses 'of another run than dist.*: kge_model is complex, there it is distmult' $data \
  dist/checkpoints/last.safetensors comp/checkpoints/last.safetensors
refuses 'of another model' $data --learning_rate=1 run/best.safetensors dist/best.safetensors
cp run/best.safetensors copy.safetensors
refuses 'has the content of run/best.safetensors' $data --learning_rate=1 run/best.safetensors copy.safetensors
# A model that was imported without the loss of its training.
python3 - << 'PYTHON' || fail "metadata of an imported model"
import json, struct
data = open("run/best.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
header["__metadata__"]["imported_from"] = "PyKEEN"
text = json.dumps(header).encode()
text += b" " * (-(len(text) + 8) % 64)
open("imported.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
refuses 'imported.safetensors: .*PyKEEN.* loss is not known, and --loss=trained needs it' $data --learning_rate=1 \
  --loss=trained imported.safetensors
ok imported.tsv $data --learning_rate=1 imported.safetensors
head -c 3000 run/checkpoints/last.safetensors > cut.safetensors
refuses 'cut.safetensors' $data cut.safetensors
printf 'Fe\tis_a\tmetal\nFe\tis_a\tnosuch\n' > bad.tsv
refuses 'bad.tsv:2: no entity is called "nosuch"' --train=g.safetensors --test=bad.tsv $saved
printf 'Fe\tis_not\tmetal\n' > bad.tsv
refuses 'bad.tsv:1: no relation is called "is_not"' --train=g.safetensors --test=bad.tsv $saved
refuses 'bad.tsv:1: .*(names are those of run/best.safetensors)' --train=bad.tsv --test=t.tsv $saved
refuses '--top_k=3000: there are 2497 training examples' $data --top_k=3000 $saved
refuses '--test_indices: 9: there are 4 tests' $data --test_indices=9 $saved
refuses 'but 1 comes twice' $data --test_indices=1,1 $saved
head -n 100 "$elements/train.txt" > fewer.txt
$featurize --train=fewer.txt --valid="$elements/valid.txt" --test="$elements/test.txt" --output=fewer.safetensors \
  2> /dev/null
refuses 'fewer.safetensors' --train=fewer.safetensors --test=t.tsv $saved
sed '$d' "$elements/train.txt" > changed.txt
$featurize --train=changed.txt --valid="$elements/valid.txt" --test="$elements/test.txt" --output=changed.safetensors \
  2> log || fail "featurize: $(cat log)"
ok changed.tsv --train=changed.safetensors --test=t.tsv $saved
expect_line 'warning: changed.safetensors: these are not the triples that .* was trained on' log
refuses 'they have changed since' --train=changed.safetensors --test=t.tsv --strict $saved
refuses '--strict compares .* which text does not allow' --train=changed.txt --test=t.tsv --strict $saved
printf '1 2\n' > w2
refuses 'w2: 2 numbers for 4 tests' $data --test_weights=w2 $saved
printf '1 2 x 3\n' > w2
refuses 'w2:1: "x" is no number' $data --test_weights=w2 $saved
refuses 'no parameter is called fcc.*; there are entity.weight' $data --params='fcc.*' $saved
refuses 'no parameter is left' $data --exclude_params='*' $saved
refuses '--hops: no training example' $data --hops=0 --max_tests=1 $saved

# Values out of range, and flags without effect beside the others.
for bad in --mode=all --rank=best --normalize=l2 --precondition=sgd --top_k=-1 --max_tests=-1 --sample_rate=0 \
  --shard=3/2 --precision=fp8 --device=cuda --max_bytes=-1 --verify=-1 --learning_rate=0 --test_indices=x --loss=bce \
  --hops=-2 --test_split=dev --test_direction=up --test_quantity=energy --blocks=all --stratify_by=color; do
  extra=
  case $bad in --stratify_by*) extra=--sample_rate=0.5 ;; --test_split*) extra=--test=g.safetensors ;; --shard*) \
    extra=--output=x.safetensors ;; esac
  refuses "$(echo "$bad" | sed 's/=.*//').*\(expected\|the choices are\)\|$bad.*expected" $data $extra "$bad" $saved
done
refuses '--test has no effect with --self' --self $data $saved
refuses '--csv_output has no effect with --self' --self --train=g.safetensors --csv_output=x.csv $saved
refuses '--self and --mode=test exclude' --self --mode=test --train=g.safetensors $saved
refuses '--test_indices has no effect with --mode=test' --mode=test --test_indices=1 $data $saved
refuses '--max_tests has no effect with --mode=single' --mode=single --max_tests=1 $data $saved
refuses 'are the same' --max_test_triples=1 --max_tests=1 $data $saved
refuses '--stratify_by has no effect without --sample_rate' --stratify_by=head $data $saved
refuses '--num_last_layers has no effect without --use_last_layers_only' --num_last_layers=1 $data $saved
refuses '--params has no effect with --use_last_layers_only' --use_last_layers_only --params='*' $data $saved
refuses '--num_last_layers has no effect with --last_layer_names' --use_last_layers_only --last_layer_names='*' \
  --num_last_layers=1 $data $saved
refuses '--num_last_layers=9: expected 1 to 6' --use_last_layers_only --num_last_layers=9 $data $saved
refuses '--output_per_triple has no effect without --json_output' --output_per_triple $data $saved
refuses '--csv_output=-: standard output is for a single test, and there are 4' --csv_output=- $data $saved
refuses 'only one of them can be -' --csv_output=- --json_output=- --test_indices=0 $data $saved
refuses 'only one of them can be -' --output=- --json_output=- $data $saved
refuses '--json_output=-: expected a file' --json_output=- --output_per_triple $data $saved
refuses '--output=t.tsv: would take the place of an input' --output=t.tsv $data $saved
# A file with the name that is the default of --test_component is no input.
succeeds $tracin --json_output=x $data $saved
succeeds $tracin --json_output=x $data $saved
refuses '--skip_existing has no effect without' --skip_existing $data $saved
refuses '--resume needs --output' --resume $data $saved
refuses 'needs --output=FILE, .*standard output' --mode=curvature --output=- --train=g.safetensors $saved
refuses '--shard needs --output' --shard=1/2 $data $saved
refuses '--json_output has no effect with --aggregate' --aggregate --json_output=x $data $saved
refuses '--test_split has no effect' --test_split=valid $data $saved
refuses '--label_test_tails\|label_test_tails' --label_test_tails $data $saved
refuses '--precondition=adam: .* is a model file' --precondition=adam --learning_rate=1 $data run/best.safetensors
refuses '--term_weights has no effect with triples' --term_weights=1 $data $saved
refuses 'expected fewer' --projection_dim=100000 $data $saved
refuses '--projection_dim has no effect with --aggregate' --projection_dim=10 --aggregate $data $saved
refuses '--projection_dim has no effect with --self' --projection_dim=10 --self --train=g.safetensors $saved
refuses 'with a preconditioner' --projection_dim=10 --precondition=adam $data $saved
refuses 'choose one of them' --projection_dim=10 --precision=bf16 $data $saved
refuses 'a projection mixes the parameters' --projection_dim=10 --blocks $data $saved
refuses '--projection_type has no effect without --projection_dim' --projection_type=sparse $data $saved
refuses '--projection_type=haar: expected' --projection_dim=10 --projection_type=haar $data $saved
refuses '--verify has no effect with --projection_dim' --projection_dim=10 --verify=2 $data $saved
refuses 'gradients of distmult with the loss triple are a few embedding rows' --projection_dim=10 $data \
  dist/checkpoints/last.safetensors
refuses '--precision has no effect with --use_mixed_precision' --use_mixed_precision --precision=fp32 $data $saved
refuses '--top_k has no effect with --merge' --merge --top_k=3 i.safetensors
refuses '--merge needs influence files' --merge
refuses 'give --train, too' --merge --csv_output=x.csv i.safetensors
# Losses have train's names, and shorter ones; both programs take both.
for names in "1-N 1n" "1-of-N 1ofn" "1vsAll ce" "KvsAll kvsall"; do
  ok long.tsv --loss=${names% *} $data dist/checkpoints/last.safetensors
  ok short.tsv --loss=${names#* } $data dist/checkpoints/last.safetensors
  cmp long.tsv short.tsv || fail "--loss=$names differ"
  for name in $names; do
    succeeds $train --kge_model=distmult --embedding_dim=8 --plot=false --progress=false --max_epochs=1 \
      --kge_loss=$name --output_dir=loss-$name g.safetensors
    expect_line "loss ${names% *}\$" log
  done
  $diff loss-${names% *}/last.safetensors loss-${names#* }/last.safetensors || fail "train --kge_loss=$names differ"
done
# If nothing would be rounded, bf16 is refused, or replaced by fp32 if that is allowed.
for model in dist comp; do
  refuses '--precision=bf16 has no effect: gradients of .* with the loss triple are a few embedding rows' \
    --precision=bf16 $data $model/checkpoints/last.safetensors
  ok exact.tsv --precision=fp32 $data $model/checkpoints/last.safetensors
  ok mixed.tsv --use_mixed_precision $data $model/checkpoints/last.safetensors
  cmp exact.tsv mixed.tsv || fail "--use_mixed_precision of $model is not fp32"
  expect_line '--use_mixed_precision: gradients of .*: fp32 is used\|no instructions' log
  ok exact.tsv --loss=1n --precision=fp32 --top_k=0 $data $model/checkpoints/last.safetensors
  ok mixed.tsv --loss=1n --precision=bf16 --top_k=0 $data $model/checkpoints/last.safetensors
  cmp -s exact.tsv mixed.tsv && fail "--precision=bf16 of $model with --loss=1n changes nothing"
done
ok mixed.tsv --use_mixed_precision $data $saved
expect_line '--use_mixed_precision: ' log
# A softmax does not fix the zero of scores: the loss of the triples alone says little, and the tool warns of that.
succeeds $train --kge_loss=KvsAll $small --max_epochs=1 --output_dir=soft g.safetensors
ok soft.tsv $data soft/checkpoints/last.safetensors
expect_line 'warning: --loss=triple .* KvsAll, is a softmax.*--loss=trained' log
ok soft.tsv $data --loss=trained soft/checkpoints/last.safetensors && [ ! -s log ] ||
  fail "--loss=trained warns: $(cat log)"
# What a regularizer of rows added is a part of the loss of each triple. Otherwise it is in the steps of the run alone.
succeeds $train --kge_model=complex --embedding_dim=16 --plot=false --progress=false --kge_loss=1vsAll --group_queries \
  --regularizer=n3 --max_epochs=1 --output_dir=n3 g.safetensors
ok n3.tsv $data --loss=trained --verify=20 --precision=fp64 --output=n3.safetensors n3/checkpoints/last.safetensors
expect_line 'verify: .*20 pairs agree' log
grep -aq 'n3 0.05' n3.safetensors || fail "no regularizer in the settings of n3.safetensors"
ok gn.tsv $data --precondition=gauss-newton --max_tests=1 n3/checkpoints/last.safetensors
expect_no_line 'warning: .*regularizer' log
ok gn.tsv $data --precondition=gauss-newton --loss=1vsAll --max_tests=1 n3/checkpoints/last.safetensors
expect_line 'warning: .*regularizer=n3.*curvature.*too large; --loss=trained includes them' log
for other in "--regularizer=dura --kge_loss=1vsAll" "--regularizer=n3 --kge_loss=KvsAll"; do
  loss=${other##*=}
  succeeds $train --kge_model=complex --embedding_dim=8 --plot=false --progress=false $other --max_epochs=1 \
    --overwrite --output_dir=other_n3 g.safetensors
  refuses "loss=trained: .*regularizer=.*--loss=$loss" $data --loss=trained other_n3/checkpoints/last.safetensors
  refuses "loss=trained: .*regularizer=.*--loss=$loss" $data --precondition=gauss-newton \
    other_n3/checkpoints/last.safetensors
done
ok n3.tsv $data --loss=1vsAll n3/checkpoints/last.safetensors
expect_line 'warning: .*regularizer=n3' log
refuses 'regularizer=n3' --strict $data --loss=1vsAll n3/checkpoints/last.safetensors
succeeds $train --kge_model=complex --embedding_dim=16 --plot=false --progress=false --kge_loss=1vsAll \
  --relation_prediction=2 --max_epochs=1 --output_dir=rp g.safetensors
refuses 'loss=trained: .*relation_prediction=2.*--loss=1vsAll' $data --loss=trained rp/checkpoints/last.safetensors
ok n3.tsv $data --loss=1vsAll --verify=4 --precision=fp64 n3/checkpoints/last.safetensors
ok n3.tsv $data --loss=kvsall --verify=4 --precision=fp64 n3/checkpoints/last.safetensors
ok soft.tsv $data $saved && ! grep -q softmax log || fail "a warning of no softmax: $(cat log)"
# Flags of other programs are recognized, also with dashes, and each message gives the reason.
for foreign in --use-vectorized-gradients --cache_test_gradients --use-torch-compile --enable-multi-gpu \
  --use_optimized_tracin --use_gradient_checkpointing --batch-size=256 --embedding-dim=200 --entity-to-id=x \
  --model-path=x --num_threads=2 --disable-memory-cleanup -o; do
  refuses "$(echo "$foreign" | sed 's/=.*//'): ..*" $data $foreign $saved
done
ok dashes.tsv --train=g.safetensors --test=t.tsv --top-k=10 --max-test-triples=4 $saved && cmp a.tsv dashes.tsv ||
  fail "flags with dashes"
finish
