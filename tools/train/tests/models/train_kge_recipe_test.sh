#!/usr/bin/env bash
# --kge_recipe: which defaults triples are learned with by the size of the graph, what keeps the choice, and what
# refuses it.
set -uo pipefail
train="$PWD/tools/train/train --threads=1 --plot=false --progress=false --check_gradient=false --embedding_dim=4"
featurize=$PWD/tools/featurize/featurize
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
# triples N [ENTITIES]: as many different ones of 600 entities and two relations.
triples() {
  awk -v n="$1" -v e="${2-600}" \
    'BEGIN { for (i = 0; i < n; ++i) printf "e%d\tr%d\te%d\n", i % e, int(i / e) % 2, i / (2 * e) }'
}
triples 12000 > many.txt
head -n 11999 many.txt > few.txt
triples 12100 > more.txt
triples 12000 480 > dense.txt
triples 12000 481 > loose.txt
triples 25000 1000 > wide-dense.txt
triples 12110 | tail -n 10 > valid.txt
for set in many few more; do
  succeeds $featurize --train=$set.txt --valid=valid.txt --output=$set.safetensors
done

value() { python3 -c "import json; print(json.load(open('$1/config.json'))['flags']['$2']['value'])"; }
has() { [ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is $(value "$1" "$2"), expected $3: $(cat log)"; }
# is RUN RECIPE: the run has its settings.
n3="kge_loss=1vsAll group_queries=true regularizer=n3 regularization=0.05 input_dropout=0 init=normal:0.001 \
optimizer=adagrad learning_rate=0.1 batch_size=1000"
plain="kge_loss=1vsAll group_queries=false regularizer=none input_dropout=0.4 init=xavier optimizer=adam \
learning_rate=0.003 batch_size=128"
is() {
  has "$1" kge_recipe "$2"
  for setting in ${!2}; do has "$1" "${setting%%=*}" "${setting#*=}"; done
}

# By size, which is said for a large graph.
succeeds $train --max_epochs=1 --output_dir=many many.safetensors
is many n3
expect_line 'learns by Adagrad with N3.*12000 training triples: --kge_recipe=plain' log
succeeds $train --max_epochs=1 --output_dir=few few.safetensors
is few plain
expect_no_line 'kge_recipe' log
# Few entities with 25 triples each stay with the plain defaults.
for graph in dense loose wide-dense; do
  succeeds $featurize --train=$graph.txt --output=$graph.safetensors
  succeeds $train --max_steps=1 --output_dir=$graph $graph.safetensors
done
is dense plain
is loose n3
is wide-dense n3
# The length is of the recipe, too.
succeeds $train --limit_train_batches=1 --limit_val_batches=1 --output_dir=long many.safetensors
expect_line 'max_epochs=50 after 50 epochs' log
# The run by name is the same, and so is one of its flags.
succeeds $train --kge_model=complex --kge_recipe=n3 --max_epochs=1 --output_dir=named many.safetensors
expect_no_line 'learns by Adagrad' log
cmp <(cut -f 1-9 many/log.tsv) <(cut -f 1-9 named/log.tsv) || fail "auto is not what it says"
succeeds ${train% --embedding_dim=4} --flagfile=many/flags.txt --output_dir=again
cmp <(cut -f 1-9 many/log.tsv) <(cut -f 1-9 again/log.tsv) || fail "flags.txt makes another run"
succeeds $train --kge_recipe=n3 --max_epochs=1 --output_dir=small few.safetensors
is small n3
succeeds $train --kge_model=distmult --max_steps=1 --output_dir=distmult many.safetensors
is distmult n3

# What the user gives stays, and what he does not is of the recipe.
succeeds $train --learning_rate=0.05 --batch_size=500 --regularization=0.1 --nogroup_queries --max_epochs=1 \
  --output_dir=own many.safetensors
for setting in learning_rate=0.05 batch_size=500 regularization=0.1 group_queries=false optimizer=adagrad \
  regularizer=n3 input_dropout=0; do
  has own "${setting%%=*}" "${setting#*=}"
done
# Another optimizer, regularizer or loss, and dropout, have the plain defaults beside them, as the run says.
i=0
for flag in --optimizer=adam --learning_rate=0.001 --beta1=0.8 --regularizer=f2 --kge_loss=KvsAll \
  --input_dropout=0.1; do
  i=$((i + 1))
  succeeds $train $flag --max_steps=1 --output_dir=against-$i many.safetensors
  has against-$i kge_recipe plain
  has against-$i batch_size 128
  has against-$i optimizer adam
  expect_line "of 12000 training triples --kge_recipe=n3.* as $flag is given" log
done
# So do models that the recipe is not for, and the preset.
for flags in --kge_model=rotate "--kge_model=complex --preset=aenet"; do
  i=$((i + 1))
  succeeds $train $flags --max_steps=1 --output_dir=other-$i many.safetensors
  has other-$i kge_recipe plain
  has other-$i optimizer adam
done

# A run that goes on keeps its own, with more triples or fewer, and so does one that starts from a model.
succeeds $train --max_epochs=2 --resume --output_dir=many many.safetensors
is many n3
succeeds $train --max_epochs=2 --resume --override=all --output_dir=few more.safetensors
is few plain
expect_no_line 'learns by Adagrad' log
succeeds $train --max_epochs=3 --resume --override=all --output_dir=many few.safetensors
is many n3
succeeds $train --init_from=own/best.safetensors --max_epochs=1 --output_dir=from few.safetensors
is from plain
expect_line 'the model of --init_from was learned with N3.*--kge_recipe=n3 goes on' log
succeeds $train --kge_recipe=n3 --init_from=own/best.safetensors --max_epochs=1 --output_dir=from-n3 few.safetensors
has from-n3 kge_recipe n3
has from-n3 regularization 0.1
succeeds $train --init_from=few/best.safetensors --max_epochs=1 --output_dir=from-few many.safetensors
is from-few plain
succeeds $train --regularization=0.1 --max_epochs=1 --output_dir=strong many.safetensors
succeeds $train --kge_recipe=n3 --init_from=strong/best.safetensors --max_epochs=1 --output_dir=from-strong \
  few.safetensors
has from-strong kge_recipe n3
has from-strong regularization 0.1
succeeds $train --max_epochs=2 --resume --output_dir=from-strong few.safetensors
has from-strong regularization 0.1
refuses 'optimizer is' $train --kge_recipe=plain --max_epochs=4 --resume --output_dir=many few.safetensors

# Of very many entities a sample is named.
awk 'BEGIN { for (i = 0; i < 99999; ++i) printf "e%d\tr\te%d\n", i, i + 1 }' > wide.txt
succeeds $featurize --train=wide.txt --output=wide.safetensors
succeeds $train --max_steps=1 --batch_size=10 --output_dir=wide wide.safetensors
expect_line 'compared with all 100000 entities: --negatives_per_batch=1024' log
succeeds $train --max_steps=1 --negatives_per_batch=8 --overwrite --output_dir=wide wide.safetensors
expect_no_line 'compared with all' log

# What does not go together.
refuses 'kge_recipe=large: expected auto, plain or n3' $train --kge_recipe=large --output_dir=none many.safetensors
refuses 'kge_recipe=n3 is for complex, distmult, cp and simple.*rotate' \
  $train --kge_recipe=n3 --kge_model=rotate --output_dir=none many.safetensors
refuses 'kge_recipe=n3: --preset=aenet' \
  $train --kge_recipe=n3 --kge_model=complex --preset=aenet --output_dir=none many.safetensors
refuses 'kge_recipe=n3 learns by 1vsAll, and --kge_loss=KvsAll' \
  $train --kge_recipe=n3 --kge_loss=KvsAll --output_dir=none many.safetensors
[ ! -e none ] || fail "a refused run left something"
finish
