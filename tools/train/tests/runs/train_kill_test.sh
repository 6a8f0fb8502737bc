#!/usr/bin/env bash
# kill -9 at random moments, a few of them: benchmarks/kill_resume.sh runs hundreds, docs/reliability.md has its
# figures.
set -uo pipefail
root=$PWD
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
"$root"/tools/featurize/featurize --species=Ti,O --output=f.safetensors "$root/data/tio2-pbe/tio2-pbe.extxyz" \
  2> /dev/null || fail "featurize"
(cd "$root/testdata/kg/family" && "$root"/tools/featurize/featurize --train=train.txt --valid=valid.txt \
  --test=test.txt --output="$TEST_TMPDIR/t.safetensors") 2> /dev/null || fail "triples"
# One case a line: its name, its flags, its input.
{
  echo 'averages: --plot=false --hidden=6,6 --batch_size=16 --max_epochs=150 --ema --average_best=2' \
    '--lr_scheduler=cosine --accumulate_grad_batches=2 --save_top_k=2 --patience=100 --save_interval=0.01 $FEATURES'
  echo 'buckets: --plot=false --hidden=6,6 --batch_size=16 --max_epochs=6 --bucket_by_size' \
    '--sampling_policy=error_weighted "--parameter_groups=network.O.*" --alternate_groups=3 --log_every_n_steps=3' \
    '--keep_every_steps=5 --val_check_interval=5 --save_interval=0 $FEATURES'
  echo 'conve: --plot=false --embedding_dim=16 --embedding_height=4 --embedding_width=4 --output_channels=4' \
    '--batch_size=64 --threads=1 --max_epochs=4 --ema --lr_scheduler=cosine --save_interval=0.01 $TRIPLES'
} > cases
bash "$root/benchmarks/kill_resume.sh" --kills=3 --seed="$RANDOM" --work="$PWD/runs" "$root/tools/train/train" cases \
  FEATURES="$PWD/f.safetensors" TRIPLES="$PWD/t.safetensors" || fail "a run that was killed differs"
finish
