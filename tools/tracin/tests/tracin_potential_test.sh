#!/usr/bin/env bash
# tracin of structures as users run it. lib/potential tests that products are exact; this test uses --verify.
set -uo pipefail
tracin=$PWD/tools/tracin/tracin
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
featurize=$PWD/tools/featurize/featurize
cache=$PWD/tools/cache-neighbors/cache-neighbors
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

frames() { awk -v n="$1" '/^ *[0-9]+ *$/ { if (++count > n) exit } { print }' "$tio2"; }
frames 60 > s.extxyz
frames 2 > bad.extxyz
$featurize --species=Ti,O --output=f.safetensors s.extxyz 2> log || fail "featurize: $(cat log)"
$cache --species=Ti,O --rad_cutoff=6 --output=n.safetensors s.extxyz 2> log || fail "cache-neighbors: $(cat log)"
short="--hidden=5,5 --max_epochs=4 --keep_every_epochs=2 --plot=false --progress=false --test_fraction=0.1"
succeeds $train $short --force_weight=0.1 --output_dir=run f.safetensors n.safetensors
succeeds $train $short --hidden=6 --output_dir=energy f.safetensors
$train $short --force_weight=0.1 --stress_weight=0.1 --loss=huber --precision=fp64 --output_dir=huber n.safetensors \
  > /dev/null 2> log || true
saved="run/checkpoints/epoch-00002.safetensors run/checkpoints/epoch-00004.safetensors"
data="--train=f.safetensors,n.safetensors --test=bad.extxyz"
ok() {
  local out=$1
  shift
  $tracin "$@" > "$out" 2> log || fail "$*: $(cat log)"
}
refuses() { expect_error 1 "$1" "$tracin" "${@:2}"; }
numbers() { cut -d ' ' -f 1 "$1" | sort -n; } # of a list of structures
column() { awk -F'\t' -v c="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i; next } { print $at }' "$2"; }
close() {
  paste "$1" "$2" | awk -F'\t' 'NR == 1 { n = NF / 2; if (NF % 2) exit 1; next }
    { for (i = 1; i <= n; ++i) { d = $i - $(i + n); if (d < 0) d = -d; a = $i < 0 ? -$i : $i
        if ($i != $(i + n) && !(d <= 1e-4 * a + 1e-9)) { print "row " NR ": " $i " and " $(i + n); exit 1 } } }'
}

# The main use. Only structures that trained are listed.
ok a.tsv $data --verify=4 run/checkpoints/*.safetensors
[ "$(grep -c 'verify: .*4 pairs agree' log)" = 2 ] || fail "--verify: $(cat log)"
expect_no_line warning log
columns='test test_structure test_config_type test_atoms place train train_structure train_config_type train_atoms'
[ "$(head -n 1 a.tsv)" = "$(tr ' ' '\t' <<< "$columns score[loss]")" ] || fail "header: $(head -n 1 a.tsv)"
[ "$(wc -l < a.tsv)" = 21 ] || fail "2 tests with 10 each: $(cat a.tsv)"
ok all.tsv $data --top_k=0 $saved
[ "$(column train all.tsv | sort -un)" = "$(numbers run/train_frames.txt)" ] || fail "not the structures that trained"
ok every.tsv $data --top_k=0 --train_frames=all $saved
[ "$(column train every.tsv | sort -un | wc -l)" = 60 ] || fail "--train_frames=all"
head -n 7 run/train_frames.txt > few.txt
ok few.tsv $data --top_k=0 --train_frames=few.txt $saved
[ "$(column train few.tsv | sort -un)" = "$(numbers few.txt)" ] || fail "--train_frames=FILE"
ok b.tsv $data --threads=1 $saved && close a.tsv b.tsv || fail "threads"

# Whichever file holds the data, scores agree up to rounding; tests come as features, neighbors, or through a pipe.
ok b.tsv --train=n.safetensors --test=bad.extxyz $saved && close a.tsv b.tsv || fail "neighbors alone"
$featurize --species=Ti,O --output=bad-f.safetensors bad.extxyz 2> log || fail "featurize: $(cat log)"
ok b.tsv --train=f.safetensors,n.safetensors --test=bad-f.safetensors $saved && close a.tsv b.tsv ||
  fail "features as tests"
$tracin --train=f.safetensors,n.safetensors --test=- $saved < bad.extxyz > b.tsv 2> log || fail "a pipe: $(cat log)"
[ "$(column train b.tsv)" = "$(column train a.tsv)" ] || fail "a pipe: other structures"
# Data other than the run's files in their order give a warning.
ok b.tsv --train=n.safetensors --test=bad.extxyz $saved
expect_line 'warning: n.safetensors: not the files, in that order, that .* was trained on' log
refuses 'not the files' --strict --train=n.safetensors --test=bad.extxyz $saved
ok b.tsv --strict $data $saved
# Held-out files of a run are no reason for a warning; with them the files are those of the run.
apart="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --hidden=4 --max_epochs=1 --plot=false --progress=false"
awk '/^ *[0-9]+ *$/ { ++count } count > 60 && count <= 65' "$tio2" > held.extxyz
succeeds $train $apart --force_weight=0 --validation_data=held.extxyz --output_dir=apart s.extxyz
ok b.tsv --strict --train=s.extxyz --test=bad.extxyz apart/checkpoints/last.safetensors
expect_line 's.extxyz: has the training structures of the run; whether their energies and forces have changed' log
expect_no_line warning log
ok b.tsv --strict --train=s.extxyz,held.extxyz --test=bad.extxyz apart/checkpoints/last.safetensors
expect_no_line 'whether their energies' log
ok /dev/null --mode=curvature --train=s.extxyz --output=c.safetensors --term_weights=1 \
  apart/checkpoints/last.safetensors
expect_line 'validation structures of the run are not in --train.*if it had --validation_data, add those files' log
frames 59 > fewer.extxyz
refuses 'run/train_frames.txt: 1 of .* are not among the 59\|not the files' --strict --train=fewer.extxyz \
  --test=bad.extxyz $saved
# The structures that trained are found by content: filtered in training, in another order, beside a model.
filtered="--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --hidden=4 --max_epochs=2 --max_forces=2 --plot=false"
succeeds $train $filtered --progress=false --output_dir=filtered s.extxyz
ok filtered.tsv --strict --train=s.extxyz --test=bad.extxyz --top_k=0 filtered/checkpoints/*.safetensors
[ "$(column train filtered.tsv | sort -un)" = "$(numbers filtered/train_frames.txt)" ] || fail "filtered"
awk '/^ *[0-9]+ *$/ { ++n } { print > (n > 30 ? "b.part" : "a.part") }' s.extxyz
cat b.part a.part > turned.extxyz
ok turned.tsv --train=turned.extxyz --test=bad.extxyz --top_k=0 filtered/checkpoints/*.safetensors
expect_line 'listed structures have other numbers' log
[ "$(column train_structure turned.tsv | sort -u | wc -l)" = "$(wc -l < filtered/train_frames.txt)" ] || fail "turned"
model="--learning_rate=1 --term_weights=1 --top_k=0 --test=bad.extxyz --train=s.extxyz"
ok model.tsv $model filtered/best.safetensors
[ "$(column train model.tsv | sort -un)" = "$(numbers filtered/train_frames.txt)" ] || fail "frames beside the model"
mkdir -p lone && cp filtered/best.safetensors lone
ok model.tsv $model lone/best.safetensors
expect_line 'warning: all 60 structures of --train count as trained on: there is no lone/train_frames.txt' log
refuses 'filtered/train_frames.txt: .* listed structures are not among the 2 of the data.*--train_frames=all' \
  --train=bad.extxyz --test=bad.extxyz filtered/checkpoints/*.safetensors

# Quantities, blocks, self-influence and precisions are compared with one backward pass for each example.
for flags in --test_quantity=energy "--test_quantity=atom-force --test_atom=0" \
  "--test_quantity=force-component --test_component=z" --precision=fp64 --precondition=adam --normalize=cosine \
  "--term_weights=1,0.01" "--params=network.Ti.*" "--use_last_layers_only --num_last_layers=1"; do
  ok v.tsv $data --verify=3 $flags $saved
  expect_line 'verify: .*3 pairs agree' log
done
ok v.tsv --train=f.safetensors --test=f.safetensors --verify=3 energy/checkpoints/*.safetensors
[ -e huber/checkpoints/last.safetensors ] && ok v.tsv --train=n.safetensors --test=bad.extxyz --verify=3 \
  huber/checkpoints/epoch-00004.safetensors
ok energy.tsv $data --test_quantity=energy --top_k=1 $saved && grep -q 'score\[eV\]' energy.tsv ||
  fail "units: $(head -n 1 energy.tsv)"
ok atoms.tsv $data --test_quantity=atom-force --top_k=1 --output=atoms.safetensors $saved
ok merged.tsv --merge $data --model=run/best.safetensors atoms.safetensors && cmp atoms.tsv merged.tsv ||
  fail "--merge knows the atoms and the unit by the file: $(head -n 2 merged.tsv)"
[ "$(wc -l < atoms.tsv)" = 13 ] || fail "each atom is a test: $(cat atoms.tsv)"
ok one.tsv $data --test_quantity=atom-force --test_atom=1 --top_k=1 --output=atom.safetensors $saved
refuses 'for other tests .*--test_atom' --merge $data --model=run/best.safetensors atom.safetensors
ok merged.tsv --merge $data --test_atom=1 --model=run/best.safetensors atom.safetensors && cmp one.tsv merged.tsv ||
  fail "--merge of one atom: $(head -n 2 merged.tsv)"
[ "$(column test_atom atoms.tsv | head -n 6 | paste -sd ,)" = 0,1,2,3,4,5 ] ||
  fail "each atom is a test: $(cat atoms.tsv)"
ok blocks.tsv $data --blocks --top_k=3 $saved
[ "$(head -n 1 blocks.tsv | cut -f 10-)" = "$(printf 'score[loss]\tTi\tO')" ] ||
  fail "--blocks: $(head -n 1 blocks.tsv)"
awk -F'\t' \
  'NR > 1 { d = $10 - $11 - $12; if (d < 0) d = -d; if (!(d <= 1e-6 * ($10 < 0 ? -$10 : $10) + 1e-12)) exit 1 }' \
  blocks.tsv || fail "blocks do not add up"
ok layers.tsv $data --blocks=layers --top_k=1 $saved
[ "$(head -n 1 layers.tsv | cut -f 11-)" = "$(printf 'Ti.0\tTi.1\tTi.2\tO.0\tO.1\tO.2')" ] ||
  fail "--blocks=layers: $(head -n 1 layers.tsv)"
ok self.tsv --self --top_k=0 --train=f.safetensors,n.safetensors $saved
[ "$(wc -l < self.tsv)" = $(($(wc -l < run/train_frames.txt) + 1)) ] || fail "--self: $(wc -l < self.tsv)"
ok own.tsv --train=f.safetensors,n.safetensors --test=f.safetensors,n.safetensors --top_k=0 $saved
awk -F'\t' '
  NR == FNR { if (FNR > 1) self[$2] = $6; next }
  FNR > 1 && $1 == $6 { d = $10 - self[$6]; if (d < 0) d = -d; if (!(d <= 1e-5 * $10)) exit 1; ++n }
  END { exit n < 40 }' self.tsv own.tsv || fail "self-influence is not the diagonal"
awk -F'\t' '
  FNR > 1 { score[$1 " " $6] = $10 }
  END {
    for (pair in score) {
      split(pair, ij, " ")
      mirrored = ij[2] " " ij[1]
      if (!(mirrored in score)) continue
      d = score[pair] - score[mirrored]
      if (d < 0) d = -d
      size = score[pair] < 0 ? -score[pair] : score[pair]
      if (!(d <= 1e-4 * size + 1e-7)) { print pair, score[pair], score[mirrored]; exit 1 }
    }
  }' own.tsv || fail "not symmetric"

# Projections are close but not exact; they exclude blocks and --verify.
ok p.tsv $data --projection_dim=4000 --projection_type=rademacher --top_k=0 $saved
awk -F'\t' '
  NR == FNR { score[$1 " " $6] = $10; next }
  FNR > 1 { error += (score[$1 " " $6] - $10)^2; norm += $10^2 }
  END { exit !(error > 0 && error < 0.05 * norm) }' all.tsv p.tsv || fail "--projection_dim=4000 is far off"
refuses '--blocks and --projection_dim exclude' $data --blocks --projection_dim=10 $saved
refuses '--verify has no effect with --projection_dim' $data --verify=1 --projection_dim=10 $saved
refuses '--projection_type has no effect without' $data --projection_type=sparse $saved
refuses '--projection_type=svd: expected' $data --projection_dim=5 --projection_type=svd $saved

# Model files, weights, parts, shards.
ok m.tsv $data --learning_rate=0.1 --term_weights=1,0.1 run/best.safetensors
refuses 'give --term_weights' $data --learning_rate=0.1 run/best.safetensors
refuses 'of another model' $data --learning_rate=0.1 --term_weights=1 run/best.safetensors energy/best.safetensors
mkdir alone && cp run/checkpoints/epoch-00004.safetensors alone
refuses 'give --model' $data alone/epoch-00004.safetensors
ok m.tsv $data --model=run/best.safetensors --train_frames=run/train_frames.txt alone/epoch-00004.safetensors
ok e4.tsv $data run/checkpoints/epoch-00004.safetensors && cmp m.tsv e4.tsv ||
  fail "--model and what is beside the checkpoint differ"
ok strata.tsv $data --sample_rate=0.3 --stratify_by=config_type --top_k=0 $saved
for i in 1 2; do ok /dev/null $data --shard=$i/2 --output=part$i.safetensors $saved; done
refuses 's.extxyz: structures are read with the descriptor of the run: give --model' --merge --train=s.extxyz \
  part1.safetensors part2.safetensors
refuses 'bad.extxyz: structures are read with the descriptor of the run: give --model' --merge $data \
  part1.safetensors part2.safetensors
ok merged.tsv --merge $data --model=run/best.safetensors part1.safetensors part2.safetensors && close a.tsv merged.tsv \
  || fail "shards are not the whole"
ok i.tsv $data --output=i.safetensors $saved && cmp a.tsv i.tsv || fail "--output"
ok sum.tsv $data --aggregate --top_k=2 $saved
head -n 1 sum.tsv | grep -q '^test	test_name	place' || fail "--aggregate: $(cat sum.tsv)"

# Bad input.
sed 's/:forces:R:3//' bad.extxyz | awk 'NF == 7 && $1 ~ /^(Ti|O)$/ { print $1, $2, $3, $4; next } { print }' \
  > noforce.extxyz
refuses 'force' --train=f.safetensors,n.safetensors --test=noforce.extxyz --test_quantity=atom-force $saved
refuses 'atom' $data --test_quantity=atom-force --test_atom=99 $saved
sed 's/ energy=[^ ]*//; s/:forces:R:3//' bad.extxyz |
  awk 'NF == 7 && $1 ~ /^(Ti|O)$/ { print $1, $2, $3, $4; next } { print }' > nothing.extxyz
refuses 'nothing.extxyz#0: has nothing that the run learned (energy, forces)' --train=f.safetensors,n.safetensors \
  --test=nothing.extxyz $saved
ok nothing.tsv --train=f.safetensors,n.safetensors --test=nothing.extxyz --test_quantity=energy --top_k=1 $saved
refuses '--test_atom has no effect without' $data --test_atom=1 $saved
refuses '--test_component has no effect without' $data --test_component=y $saved
refuses '--test_component=w: expected x, y or z' $data --test_quantity=force-component --test_component=w $saved
refuses '--test_quantity=score: expected' $data --test_quantity=score $saved
refuses '--term_weights=0: nothing counts' $data --term_weights=0 $saved
refuses '--term_weights=1,x: expected' $data --term_weights=1,x $saved
refuses '--top_k=500: there are' $data --top_k=500 $saved
refuses '--stratify_by=relation: expected config_type' $data --sample_rate=0.5 --stratify_by=relation $saved
refuses '--hops has no effect with structures' $data --hops=1 $saved
refuses '--energy_key has no effect on files that were made from structures' \
  --train=f.safetensors,n.safetensors --test=f.safetensors,n.safetensors --energy_key=E $saved
refuses '--csv_output has no effect with structures' $data --csv_output=x.csv $saved
refuses '--precision=bf16: ' $data --precision=bf16 $saved
printf '3\n3\n' > twice.txt
refuses 'a structure is there twice' $data --train_frames=twice.txt $saved
printf '3\n300\n' > far.txt
refuses 'far.txt: structure 300 of 60' $data --train_frames=far.txt $saved
$featurize --species=Ti,O --rad_order=5 --output=g.safetensors s.extxyz 2> log || fail "featurize: $(cat log)"
refuses 'descriptor' --train=g.safetensors --test=bad.extxyz $saved
sed 's/^Ti/Zr/' bad.extxyz > zr.extxyz
refuses 'Zr' --train=f.safetensors,n.safetensors --test=zr.extxyz $saved
# What the run counted counts: weights of structures by flag as within the file, rates of groups, samples of forces.
first() { # first DIRECTORY FLAGS...: the self-influence of structure 0 in a run of one epoch that moves nothing
  local directory=$1
  shift
  succeeds $train --hidden=5,5 --loss=mse --learning_rate=1e-12 --max_epochs=1 --keep_every_epochs=1 --plot=false \
    --validation_fraction=0 --progress=false --output_dir="$directory" "$@"
  ok "$directory.tsv" --self --top_k=0 --train="${@: -1}" "$directory/checkpoints/epoch-00001.safetensors"
  awk -F'\t' '$2 == 0 { print $6 }' "$directory.tsv"
}
ratio() { awk -v a="$1" -v b="$2" -v c="$3" 'BEGIN { exit !(a > c * b * 0.99 && a < c * b * 1.01) }'; }
type=$(sed -n '2s/.*config_type=\([a-z]*\).*/\1/p' s.extxyz)
sed "s/config_type=$type/config_type=$type w=100/" s.extxyz > w.extxyz
$featurize --species=Ti,O --weight_key=w --output=w.safetensors w.extxyz 2> log || fail "featurize: $(cat log)"
within=$(first within w.safetensors) flag=$(first flag --config_weights="$type=100" f.safetensors)
key=$(first key --species=Ti,O --ang_cutoff=5,3 --weight_key=w w.extxyz)
ratio "$flag" "$within" 1 || fail "--config_weights: $flag, within the file $within"
ratio "$key" "$within" 1 || fail "--weight_key: $key, within the file $within"
plain=$(first plain f.safetensors) slow=$(first slow --parameter_groups='*:lr_scale=0.001' f.safetensors)
ratio "$plain" "$slow" 1000 || fail "rates of groups: $plain and $slow"
whole=$(first whole --force_weight=0.9 n.safetensors)
part=$(first part --force_weight=0.9 --force_fraction=0.2 n.safetensors)
ratio "$part" "$whole" 1 || fail "a sample of forces: $part, all $whole"
scaled=$(first scaled --force_weight=0.9 --force_fraction=0.2 --force_scale_unbiased n.safetensors)
ratio "$scaled" "$whole" 1 || fail "a sample of forces with a scale: $scaled, all $whole"
some=$(first some --force_weight=0.9 --limit_train_batches=2 --batch_size=10 n.safetensors)
ratio "$some" "$whole" 1 || fail "a part of the batches: $some, all $whole"
first drawn --force_weight=0.9 --sampling_policy=energy_weighted n.safetensors > /dev/null
expect_line 'warning: .*drew structures with --sampling_policy=energy_weighted' log
# Labels are those that the run learned from.
sed 's/ energy=\([^ ]*\)/ energy=\1 other_e=-1.0/' s.extxyz > keys.extxyz
keyed=$(first keyed --species=Ti,O --ang_cutoff=5,3 --energy_key=other_e keys.extxyz)
ok named.tsv --self --top_k=0 --train=keys.extxyz --energy_key=other_e keyed/checkpoints/epoch-00001.safetensors
[ "$keyed" = "$(awk -F'\t' '$2 == 0 { print $6 }' named.tsv)" ] || fail "labels of the run: $keyed"
refuses '--energy_key=energy: the run of keyed/.* learned from labels of --energy_key=other_e' --self \
  --train=keys.extxyz --energy_key=energy keyed/checkpoints/epoch-00001.safetensors
# A model file knows them, too.
of_model="--self --top_k=0 --term_weights=1 --learning_rate=1 --train=keys.extxyz"
ok of-model.tsv $of_model keyed/best.safetensors
expect_line 'labels of structures are read as the model.s were, by --energy_key=other_e' log
ok of-flag.tsv $of_model --energy_key=other_e keyed/best.safetensors
cmp of-model.tsv of-flag.tsv || fail "labels of the model: $(cat of-model.tsv)"
usual=$(first usual --species=Ti,O --ang_cutoff=5,3 keys.extxyz)
ratio "$keyed" "$usual" 1 && fail "another energy scores alike: $keyed"
# Each checkpoint has the loss that its run had then: what is scored at all is the sum of each alone.
later="--hidden=5,5 --keep_every_epochs=1 --plot=false --validation_fraction=0 --progress=false --batch_size=16"
later+=" --precision=fp64 --lr_scheduler=constant --learning_rate=0.01 --output_dir=later"
succeeds $train $later --loss=mse --force_weight=0 --max_epochs=1 n.safetensors
$train $later --loss=mse --force_weight=0.3 --max_epochs=2 --resume n.safetensors > /dev/null 2> err &&
  fail "another loss without --override"
expect_line 'override=energy_weight,force_weight to go on' err
succeeds $train $later --loss=mse --force_weight=0.3 --max_epochs=2 --resume --override=energy_weight,force_weight \
  n.safetensors
succeeds $train $later --loss=huber --force_weight=0.3 --max_epochs=3 --resume --override=all n.safetensors
for epoch in 1 2 3; do
  ok "at$epoch.tsv" --train=n.safetensors --test=bad.extxyz --top_k=0 --verify=2 --rates=checkpoint \
    "later/checkpoints/epoch-0000$epoch.safetensors"
  expect_line 'verify: .*2 pairs agree' log
done
ok sum.tsv --train=n.safetensors --test=bad.extxyz --top_k=0 --rates=checkpoint later/checkpoints/epoch-*.safetensors
awk -F'\t' '
  FNR == 1 { ++file; next }
  file < 4 { sum[$1 " " $6] += $10; next }
  { d = sum[$1 " " $6] - $10; if (d < 0) d = -d; if (!(d <= 1e-6 * ($10 < 0 ? -$10 : $10) + 1e-12)) exit 1; ++n }
  END { exit n < 100 }' at1.tsv at2.tsv at3.tsv sum.tsv || fail "not each checkpoint's own loss"
# A checkpoint from within the epoch after the change does not know yet what errors count.
succeeds $train $later --loss=rmse --force_weight=0.3 --max_steps=14 --resume --override=all n.safetensors
refuses 'the first since its run went on with another loss' --train=n.safetensors --test=bad.extxyz \
  later/checkpoints/last.safetensors
succeeds $train --hidden=5,5 --loss=mse --max_epochs=2 --keep_every_epochs=1 --plot=false --validation_fraction=0 \
  --resume --override=all --config_weights="$type=2" --output_dir=plain f.safetensors
refuses "went on with --config_weights=$type=2" --self --train=f.safetensors plain/checkpoints/epoch-*.safetensors
# An averaged run is scored at the parameters of its checkpoints, which tracin says; its model file is the average.
first averaged --ema f.safetensors > /dev/null
expect_line 'averaged/checkpoints/epoch-00001.safetensors: its run averaged parameters (--ema)' log
ok average.tsv --self --top_k=0 --learning_rate=1 --term_weights=1 --train=f.safetensors averaged/best.safetensors
expect_no_line 'averaged parameters' log
expect_error 1 'energy_key has no effect on files that were made from structures' \
  $featurize --energy_key=REF_e --species=Ti,O --output=k.safetensors n.safetensors

# Many-body potentials of two layers, whose forces depend on what neighbors send. Either layer has networks.
layers="--potential=many-body --messages=2 --cutoff=4 --radial_functions=3 --max_l=1 --channels=3 --hidden=4"
succeeds ${train%% *} $layers --species=Ti,O --max_epochs=2 --keep_every_epochs=1 --plot=false --force_weight=0.1 \
  --output_dir=layers s.extxyz
ok layers.tsv --train=s.extxyz --test=bad.extxyz --verify=4 --blocks=layers layers/checkpoints/epoch-*.safetensors
[ "$(grep -c 'verify: .*4 pairs agree' log)" = 2 ] || fail "--verify of two layers: $(cat log)"
expect_line 'second.Ti.1' layers.tsv
ok layers.tsv --train=s.extxyz --test=bad.extxyz --precondition=gauss-newton layers/checkpoints/last.safetensors
ok force.tsv --train=s.extxyz --test=bad.extxyz --test_quantity=atom-force --test_atom=0 --verify=2 \
  layers/checkpoints/last.safetensors
expect_line 'verify: .*2 pairs agree' log

finish
