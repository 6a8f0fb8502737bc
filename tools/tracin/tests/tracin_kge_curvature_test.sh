#!/usr/bin/env bash
# Influence on triples with the curvature of the loss, by single triples, of margins and differences, as users run it.
. tools/tracin/tests/kge_testing.sh
succeeds $train --kge_model=complex --kge_loss=KvsAll --embedding_dim=8 --max_epochs=4 --keep_every_epochs=2 \
  --plot=false --progress=false --output_dir=kvs g.safetensors
succeeds $train --kge_model=complex --kge_loss=1vsAll --optimizer=adagrad --learning_rate=0.1 --embedding_dim=8 \
  --max_epochs=4 --plot=false --progress=false --output_dir=ada g.safetensors
kvs="kvs/checkpoints/epoch-00002.safetensors kvs/checkpoints/epoch-00004.safetensors"
last=kvs/checkpoints/last.safetensors
gn="$data --precondition=gauss-newton"

# The curvature is of the run's triples in both directions; scores do not depend on processes, tests or blocks.
ok gn.tsv $gn --top_k=0 --output=gn.safetensors $last
expect_line 'last.safetensors: curvature of [0-9]* examples ([0-9]* queries, all scores): 2856 parameters in blocks' log
head -n 1 gn.tsv | grep -q '	score$' || fail "a score has no unit: $(head -n 1 gn.tsv)"
ok two.tsv $gn --top_k=0 --num_processes=2 $last
cmp -s gn.tsv two.tsv || fail "processes: $(diff gn.tsv two.tsv | head -n 3)"
ok one.tsv $gn --top_k=0 --test_indices=2 $last
awk -F'\t' '$1 == "test" || $1 == 2' gn.tsv > of_2.tsv
close of_2.tsv one.tsv || fail "a test by itself: $(close of_2.tsv one.tsv)"
ok blocks.tsv $gn --top_k=0 --blocks $last
column score blocks.tsv > sums
awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "entity" || $i == "relation") at[i] = 1; next }
  { s = 0; for (i in at) s += $i; print s }' blocks.tsv > added
paste sums added | awk '{ d = $1 - $2; if (d * d > 1e-10) { print; exit 1 } }' || fail "blocks do not add up"
ok all.tsv $gn --top_k=0 $kvs
close gn.tsv all.tsv > /dev/null && fail "a second checkpoint changes nothing"
ok self.tsv --self --train=g.safetensors --precondition=gauss-newton --top_k=5 $last
[ "$(column score self.tsv | awk '$1 > 0' | wc -l)" = 5 ] || fail "self-influence: $(cat self.tsv)"
ok probes.tsv $gn --probes=50 --top_k=0 $last
paste <(column score gn.tsv) <(column score probes.tsv) | awk '
  { xy += $1 * $2; xx += $1 * $1; yy += $2 * $2 } END { exit !(xy / sqrt(xx * yy) > 0.98) }' || fail "50 probes"
ok cosine.tsv $gn --normalize=cosine $last
column score cosine.tsv | awk '$1 > 1.000001 || $1 < -1.000001 { exit 1 }' || fail "cosines: $(cat cosine.tsv)"
ok conve.tsv $gn --probes=4 $saved
expect_line 'curvature of .* 4 probes of scores' log

# The damping: of the run, or of the trace where that is unknown.
ok ada.tsv $gn ada/checkpoints/last.safetensors
expect_line 'optimizer=adagrad.*: --damping=trace:1 is taken' log
ok model.tsv $gn kvs/last.safetensors
expect_line 'a model file does not say.*: --damping=trace:1 is taken' log
for damping in auto trace:0.001; do
  ok out $gn --damping=$damping --top_k=0 $last
  column score out | awk '{ s += $1 * $1 } END { print sqrt(s) }' > size.$damping
done
paste size.auto size.trace:0.001 | awk '{ exit !($2 > 2 * $1 && $1 > 0) }' || fail "damping: $(cat size.*)"

# Gradients by single triples, margins and differences are those of LibTorch.
some_test=$(head -n 1 t.tsv | cut -f 3)
for flags in "--loss=KvsAll --by_triple" "--loss=trained --test_quantity=margin" \
  "--loss=triple --test_quantity=margin" "--loss=1-N --by_triple --test_quantity=difference:Fe"; do
  ok out $data --precision=fp64 --verify=20 $flags $kvs
done
grep -q . <<< "$some_test" || fail "no test"
ok difference.tsv $data --loss=KvsAll --test_quantity=difference:"$some_test" --max_tests=1 $kvs
column score difference.tsv | awk '$1 != 0 { exit 1 }' || fail "to itself: $(cat difference.tsv)"

# One score of both examples of a triple is their sum.
ok apart.tsv $data --loss=KvsAll --by_triple --inverse_examples --top_k=0 $kvs
ok sum.tsv $data --loss=KvsAll --by_triple --sum_inverse --top_k=0 --output=sum.safetensors $kvs
n=$(awk -F'\t' '$1 == 0' sum.tsv | wc -l)
awk -F'\t' -v n="$n" 'FNR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
  NR == FNR { sum[$at["test"], $at["train"] % n] += $at["score"]; next }
  { d = sum[$at["test"], $at["train"]] - $at["score"]; if (d * d > 1e-12) { print $0, d; bad = 1; exit } }
  END { exit bad }' apart.tsv sum.tsv || fail "inverse examples do not add up"

# The judge computes margins and differences of retrained models, and takes scores of facts.
judge="--judge=judge --plan_subsets=4 --stratify_by=relation"
for quantity in margin difference:Fe; do
  ok gn.$quantity.tsv $gn --top_k=0 --sum_inverse --test_quantity=$quantity --output=gn.$quantity.safetensors $kvs
  ok lds $data $judge kvs gn.$quantity.safetensors
  [ "$(cut -f 1 lds | tr '\n' ',')" = "scores,gn.$quantity.safetensors,own loss,shared entity,random," ] ||
    fail "$quantity: $(cat lds)"
done
rm -rf judge
ok lds $data $judge --precondition=gauss-newton --sum_inverse kvs
expect_line 'judge/influence.safetensors' lds

refuses '--loss=triple: .* the run.s loss, KvsAll' $gn --loss=triple $last
refuses 'label_test_tails = true has no effect' $data --loss=KvsAll --test_quantity=margin --label_test_tails $last
refuses 'by_triple = true has no effect: with loss 1vsAll' $data --loss=1vsAll --by_triple $last
refuses 'difference:iron: no entity is called "iron"' $data --test_quantity=difference:iron $last
refuses 'expected loss, score, margin or difference:ENTITY' $data --test_quantity=odds $last
refuses '--inverse_examples has no effect with --sum_inverse' $data --sum_inverse --inverse_examples $last
refuses '--normalize has no effect with --sum_inverse' $data --sum_inverse --normalize=cosine $last
refuses '--verify has no effect with --sum_inverse' $data --sum_inverse --verify=2 $last
refuses '--sum_inverse has no effect with --mode=self' --train=g.safetensors --mode=self --sum_inverse $last
refuses '--damping has no effect without --precondition=gauss-newton' $data --damping=1 $last
refuses '--precondition=ek-fac: is for structures' $data --precondition=ek-fac $last
refuses '--verify has no effect with --precondition=gauss-newton' $gn --verify=3 $last
refuses '--mode=leave-one-out .* for structures' --train=g.safetensors --mode=leave-one-out $last
refuses 'curvature takes .* MB .* for each of 299 entities.* 0 MB are allowed' $gn --max_bytes=100000 $last
finish
