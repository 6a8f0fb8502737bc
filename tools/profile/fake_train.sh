#!/bin/sh
# Acts as train for tests of profile: a --help, logs and config.json as train writes them. FAKE_RATE examples per second
# with batch_size 32; a batch of 64 is 1.5 times as fast, threads=1 1.25 times, and 128 takes much memory. FAKE_FAULT:
# crash, refuse, silent; unvalidated: it has no validation set. FAKE_GROUPS: file that gets each trial's learning rate
# and groups.
for flag in output_dir:run batch_size:32 threads:0 max_time: max_steps:-1 learning_rate:0 lr_factor:0.1 \
  num_workers:0 parameter_groups: check_val_every_n_epoch:1; do
  eval "${flag%%:*}=\${flag#*:}"
done
optimizer=adam
help='output_dir batch_size threads max_time max_steps max_epochs learning_rate lr_scheduler lr_interval lr_factor
num_workers optimizer logger log_every_n_steps save_interval check_val_every_n_epoch compile_mode precision
compile_preset min_learning_rate parameter_groups'
if [ "$1" = --help=all ]; then
  for name in $help; do echo "  --$name=\"\" (string)"; done
  for name in overwrite plot progress; do echo "  --$name=true (bool)"; done
  exit 0
fi
for word in "$@"; do
  case $word in
    --num_workers=*) echo "train: --num_workers: cached features need none" >&2 && exit 1 ;;
    --*=*) name=${word%%=*} && eval "${name#--}=\${word#*=}" ;;
  esac
done
[ "${FAKE_FAULT:-}" = refuse ] && echo "train: warning: odd" >&2 && echo "train: data: no such file" >&2 && exit 1
[ "${FAKE_FAULT:-}" = crash ] && kill -SEGV $$
[ "${FAKE_FAULT:-}" = unvalidated ] && [ "$check_val_every_n_epoch" != 1 ] &&
  echo "train: check_val_every_n_epoch has no effect without a validation set" >&2 && exit 1
[ -z "${FAKE_GROUPS:-}" ] || echo "$learning_rate $parameter_groups" >> "$FAKE_GROUPS"
mkdir -p "$output_dir"
[ "$learning_rate" = 0 ] && learning_rate=0.01
[ "$threads" = 0 ] && threads=2
cat > "$output_dir/config.json" << END
{"flags": {"batch_size": {"value": "$batch_size"}, "threads": {"value": "$threads"},
  "learning_rate": {"value": "$learning_rate"}, "optimizer": {"value": "$optimizer"},
  "compile_mode": {"value": "compile"}, "num_workers": {"value": "0"}, "compile_preset": {"value": "default"},
  "precision": {"value": "fp32"}, "force_weight": {"value": "0.1"}}}
END
[ "${FAKE_FAULT:-}" = silent ] && exit 0
if [ "$max_steps" != -1 ]; then
  # A loss that falls around 1e-3 and diverges above 0.1.
  awk -v n="$max_steps" -v lr="$learning_rate" -v f="$lr_factor" 'BEGIN {
    for (i = 1; i <= n; ++i) {
      x = lr / 1e-3; y = lr / 0.05
      printf "{\"epoch\":1,\"step\":%d,\"loss\":%.9g,\"learning_rate\":%.9g,", i, 0.1 + 1 / (1 + x) + y * y, lr
      printf "\"gradient_norm\":1,\"time\":%g}\n", i / 100
      lr *= f
    }
  }' > "$output_dir/steps.jsonl"
  exit 0
fi
[ "$batch_size" -ge 128 ] && exec python3 -c "
import time
x = b'1' * 400000000
time.sleep(20)"
awk -v b="$batch_size" -v t="$threads" -v rate="${FAKE_RATE:-1000}" 'BEGIN {
  if (b == 64) rate *= 1.5; else if (b < 32) rate *= b / 32
  if (t == 1) rate *= 1.25
  for (e = 1; e <= 5; ++e) {
    printf "{\"epoch\":%d,\"step\":%d,\"epoch_time\":0.02,", e, 10 * e
    printf "\"examples_per_s\":%.9g}\n", e == 1 ? rate / 5 : rate
  }
}' > "$output_dir/log.jsonl"
sleep 0.1
