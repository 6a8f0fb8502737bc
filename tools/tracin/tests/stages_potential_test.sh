#!/usr/bin/env bash
# What two settings, or two stages, do together with structures: eight combinations that once gave another number
# without a word. Each gives the right one now, or is refused.
set -uo pipefail
train="$PWD/tools/train/train --noplot --noprogress --check_gradient=false"
tracin=$PWD/tools/tracin/tracin
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

descriptor="--rad_cutoff=4 --ang_cutoff=3"
make() { "$@" 2> log || fail "status $? of: $*: $(cat log)"; }
make $featurize --species=Ti,O $descriptor --output=f.safetensors "$tio2"
make $cache --species=Ti,O $descriptor --output=n.safetensors "$tio2"
errors() { $evaluate "$@" 2> /dev/null | sed -n 2p | cut -f 5-; } # count, rmse, mae, max of the energy
# Columns of a row agree but for rounding of the last digits.
alike() { awk -v a="$1" -v b="$2" 'BEGIN { n = split(a, x, "\t"); if (n < 4 || split(b, y, "\t") != n) exit 1
  for (i = 1; i <= n; ++i) if ((x[i] - y[i])^2 > (1e-4 * x[i])^2) exit 1 }'; }

# 1. A run that goes on with other data, scaling, filters or weights is the same model.
make $featurize --species=Ti,O $descriptor --max_forces=2 --output=calm.safetensors "$tio2"
rate="--learning_rate=1e-30 --max_epochs=11 --keep_every_epochs=1 --resume"
succeeds $train --learning_rate=0.01 --max_epochs=10 --keep_every_epochs=10 --output_dir=a calm.safetensors
before=$(errors a/last.safetensors calm.safetensors)
succeeds $tracin --self --top_k=0 --train=calm.safetensors a/checkpoints/epoch-00010.safetensors
sort stdout > old.tsv
cp -r a b
succeeds $train $rate --override=data --output_dir=b f.safetensors
alike "$before" "$(errors b/last.safetensors calm.safetensors)" || fail "other data: $before"
for other in feature_scaling=pooled energy_scaling=false config_weights=anatase=0 "max_forces=1"; do
  rm -rf b && cp -r a b
  succeeds $train $rate --override=all --$other --output_dir=b calm.safetensors
  alike "$before" "$(errors b/last.safetensors calm.safetensors)" || fail "$other: $before"
  # The checkpoint of before has its own scales.
  [ "$other" = max_forces=1 ] || [ "$other" = config_weights=anatase=0 ] || {
    succeeds $tracin --self --top_k=0 --train=calm.safetensors b/checkpoints/epoch-00010.safetensors
    sort stdout | cmp -s - old.tsv || fail "$other: another influence at the checkpoint before"
  }
done
make $featurize --species=O,Ti $descriptor --max_forces=2 --output=turned.safetensors "$tio2"
refuses 'its species are Ti,O, those here O,Ti' $train $rate --override=all --output_dir=a turned.safetensors

# 2. A validation in which nothing counts has no loss.
rutile="--validation_key=config_type:rutile --max_epochs=2"
refuses 'nothing in the validation set counts' \
  $train $rutile --config_weights=rutile=0 --output_dir=c f.safetensors
refuses 'no .*epoch\|nothing in the validation set counts' \
  $train $rutile --config_weights=rutile=0 --patience=1 --output_dir=c f.safetensors
awk '/^ *[0-9]+ *$/ { if (++n > 20) exit } { print }' "$tio2" > some.extxyz
sed 's/:forces:R:3//; s/ stress="[^"]*"//' some.extxyz |
  awk 'NF == 7 && $1 ~ /^(Ti|O)$/ { print $1, $2, $3, $4; next } { print }' > bare.extxyz
held="--species=Ti,O $descriptor --max_epochs=1 --validation_data=bare.extxyz"
refuses 'nothing in the validation set counts' $train $held --force_weight=1 --output_dir=c some.extxyz
succeeds $train $held --force_weight=0.9 --output_dir=c some.extxyz
expect_line 'none of the 20 validation structures has forces: the validation loss is without that term' log

# 3. and 4. Influence counts weights as the run did, and forces by the number of all.
first() { # first DIRECTORY FLAGS... DATA: self-influence of structure 0 in a run that moves nothing
  succeeds $train --learning_rate=1e-12 --loss=mse --max_epochs=1 --keep_every_epochs=1 --output_dir="$1" "${@:2}"
  succeeds $tracin --self --top_k=0 --train="${@: -1}" "$1/checkpoints/epoch-00001.safetensors"
  awk -F'\t' '$2 == 0 { print $6 }' stdout
}
ratio() { awk -v a="$1" -v b="$2" -v c="$3" 'BEGIN { exit !(b > 0 && a > c * b * 0.99 && a < c * b * 1.01) }'; }
type=$(sed -n '2s/.*config_type=\([a-z]*\).*/\1/p' "$tio2")
sed "s/config_type=$type/config_type=$type w=100/" "$tio2" > w.extxyz
make $featurize --species=Ti,O $descriptor --weight_key=w --output=w.safetensors w.extxyz
within=$(first within --seed=2 w.safetensors)
ratio "$(first flag --seed=2 --config_weights="$type=100" f.safetensors)" "$within" 1 || fail "--config_weights"
ratio "$(first key --seed=2 --force_weight=0 --species=Ti,O $descriptor --weight_key=w w.extxyz)" "$within" 1 ||
  fail "--weight_key"
whole=$(first whole --force_weight=0.1 n.safetensors)
for part in --force_fraction=0.1 "--force_fraction=0.1 --force_scale_unbiased" \
  "--force_fraction=0.1 --force_sample_unit=atom"; do
  ratio "$(first part${part//[^a-z]/} --force_weight=0.1 $part n.safetensors)" "$whole" 1 || fail "$part"
done

# 5. Keys of labels and units mean nothing on files that are made from structures.
for flag in --energy_key=REF_e --force_key=F --stress_key=S --virial_key=V --runner_units=angstrom_ev; do
  why="${flag%%=*} has no effect on files that were made from structures"
  refuses "$why" $evaluate $flag a/last.safetensors n.safetensors
  refuses "$why" $featurize $flag --output=x.safetensors n.safetensors
  refuses "$why" $tracin --self $flag --train=calm.safetensors a/checkpoints/epoch-00010.safetensors
  refuses "$why" $train $flag --max_epochs=1 --output_dir=x f.safetensors
done

# 6. Numbers of structures in lists are those of the same structures in shards, and behind a filter.
for i in 1 2; do make $featurize --species=Ti,O $descriptor --shard=$i/2 --output=s.safetensors "$tio2"; done
succeeds $train --max_epochs=3 --test_fraction=0.1 --output_dir=s s-0000?-of-00002.safetensors
shards=$(errors --frames=s/test_frames.txt s/best.safetensors s-0000?-of-00002.safetensors)
[ "${shards%%	*}" = 40 ] || fail "the test set in shards: $shards"
[ "$shards" = "$(errors --frames=s/test_frames.txt s/best.safetensors "$tio2")" ] || fail "the test set in one file"
succeeds $train --max_epochs=3 --test_fraction=0.1 --output_dir=t calm.safetensors
[ "$(errors --frames=t/test_frames.txt t/best.safetensors "$tio2")" = \
  "$(errors --frames=t/test_frames.txt t/best.safetensors calm.safetensors)" ] || fail "the test set behind a filter"
succeeds $train --species=Ti,O $descriptor --force_weight=0 --max_forces=2 --max_epochs=1 --output_dir=u "$tio2"
succeeds $tracin --self --top_k=0 --train="$tio2" u/checkpoints/last.safetensors
[ "$(tail -n +2 stdout | cut -f 2 | sort -n)" = "$(cut -d ' ' -f 1 u/train_frames.txt)" ] || fail "train --max_forces"

# 7. Rates of groups of parameters count.
plain=$(first plain --seed=2 f.safetensors)
slow=$(first slow --seed=2 '--parameter_groups=*:lr_scale=0.001' f.safetensors)
ratio "$plain" "$slow" 1000 || fail "rates of groups: $plain and $slow"

# 8. On a model file the structures are those that the run beside it learned from.
succeeds $tracin --self --top_k=0 --train=calm.safetensors --learning_rate=1 --term_weights=1 a/last.safetensors
[ "$(tail -n +2 stdout | cut -f 2 | sort -n)" = "$(cut -d ' ' -f 1 a/train_frames.txt)" ] ||
  fail "structures of a model"
finish
