#!/usr/bin/env bash
# --kge_model=auto: which model triples are learned by where no flag names one, and for how long; what goes on from a
# model or a run keeps its kind.
set -uo pipefail
train="$PWD/tools/train/train --threads=1 --plot=false --progress=false"
featurize=$PWD/tools/featurize/featurize
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
head -n 300 "$elements/train.txt" > train.txt
head -n 20 "$elements/train.txt" > valid.txt
succeeds $featurize --leaked=keep --train=train.txt --valid=valid.txt --output=t.safetensors

short="--embedding_dim=20 --check_gradient=false"
kind() { grep -o '"kge_model": "[a-z]*"' "$1/config.json" | head -n 1 | cut -d '"' -f 4; }
setting() { python3 -c "import json; print(json.load(open('$1/config.json'))['$2'])"; }
is() { [ "$(kind "$1")" = "$2" ] || fail "$1 is $(kind "$1"), expected $2: $(cat log)"; }

# Triples and nothing else: ComplEx, which is said and recorded, for 200 epochs.
succeeds $train $short --output_dir=plain t.safetensors
is plain complex
expect_line 'learns ComplEx, as no flag names a model' log
expect_line 'max_epochs=200 after 200 epochs' log
[ "$(setting plain max_epochs)" = 200 ] || fail "max_epochs is $(setting plain max_epochs)"
succeeds $train $short --kge_model=auto --max_epochs=2 --output_dir=auto t.safetensors
is auto complex
expect_line 'max_epochs=2 after 2 epochs' log
# The run by name is the same, and says nothing.
succeeds $train $short --kge_model=complex --max_epochs=2 --output_dir=named t.safetensors
expect_no_line 'learns ComplEx' log
cmp <(cut -f 1-11 auto/log.tsv) <(cut -f 1-11 named/log.tsv) || fail "auto is not what it says"
succeeds $train --flagfile=auto/flags.txt --output_dir=again
is again complex

# Flags that only ConvE has mean it, and so does the preset of what was before; its runs have 1000 epochs.
for flags in --embedding_height=4 --conve_variant=libkge --output_channels=4 --kernel_width=2 --output_dropout=0.1; do
  succeeds $train --embedding_dim=20 --embedding_width=5 --check_gradient=false $flags --max_steps=1 \
    --output_dir=c$flags t.safetensors
  is c$flags conve
  expect_no_line 'learns ComplEx' log
done
succeeds $train --preset=aenet $short --embedding_width=5 --max_time=1s --output_dir=preset t.safetensors
is preset conve
[ "$(setting preset max_epochs)" = 1000 ] || fail "ConvE's epochs: $(setting preset max_epochs)"
succeeds $train --preset=aenet --check_gradient=false --max_steps=1 --output_dir=bare t.safetensors
is bare conve

# What goes on keeps its kind: without a flag, with auto, from a model, from a checkpoint, and in a committee.
succeeds $train $short --kge_model=distmult --max_epochs=1 --output_dir=run t.safetensors
succeeds $train $short --max_epochs=2 --resume --output_dir=run t.safetensors
is run distmult
expect_line '^--kge_model=distmult' run/flags.txt
succeeds $train $short --kge_model=auto --max_epochs=3 --resume=auto --output_dir=run t.safetensors
is run distmult
expect_line '^--kge_model=distmult' run/flags.txt
expect_no_line '^--kge_model=auto' run/flags.txt
refuses 'kge_model' $train $short --kge_model=complex --max_epochs=4 --resume --output_dir=run t.safetensors
conve=c--embedding_height=4
succeeds $train $short --embedding_width=5 --embedding_height=4 --max_steps=2 --resume --output_dir=$conve t.safetensors
is $conve conve
for flag in '' --kge_model=auto; do
  succeeds $train --check_gradient=false $flag --init_from=run/best.safetensors --max_epochs=1 --overwrite \
    --output_dir=from t.safetensors
  is from distmult
  expect_no_line 'learns ComplEx' log
done
refuses 'kge_model=complex: the model of --init_from has distmult' \
  $train --kge_model=complex --init_from=run/best.safetensors --output_dir=none t.safetensors
succeeds $train $short --kge_model=distmult --max_epochs=1 --committee=2 --output_dir=two t.safetensors
succeeds $train $short --max_epochs=2 --committee=2 --resume --output_dir=two t.safetensors
is two/member-01 distmult
# A run to go on with has the epochs that it began with, also where it was stopped before.
succeeds $train $short --max_epochs=3 --output_dir=few t.safetensors
succeeds $train $short --resume --output_dir=few t.safetensors
expect_line 'max_epochs=3 after 3 epochs' log
expect_line '^--max_epochs=3' few/flags.txt

# A flag of another model names the choice.
refuses 'distance_norm.*(no flag names a model, and complex was chosen: --kge_model' \
  $train --distance_norm=1 --output_dir=none t.safetensors
refuses 'even.*(no flag names a model, and complex was chosen' $train --embedding_dim=25 --output_dir=none t.safetensors
[ ! -e none ] || fail "a refused run left something"
finish
