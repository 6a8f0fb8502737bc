#!/usr/bin/env bash
# The report of a knowledge-graph model: its numbers are those of the tables, and its pictures show training and ranks.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
train="$PWD/tools/train/train --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

succeeds "$featurize" --output=t.safetensors "$elements"/{train,valid,test}.txt
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=6 --plot=true --log_interval=0.001s \
  --output_dir=run t.safetensors
# Lines of a log name the metric that chooses the model.
expect_line 'best val_mrr so far$' log
has_gnuplot=false
command -v gnuplot > /dev/null && has_gnuplot=true
if $has_gnuplot; then
  expect_text 'Validation MRR' run/learning_curve.svg
  expect_line 'kept: epoch [1-6]<' run/learning_curve.svg
fi

succeeds "$evaluate" --train_log=run/log.jsonl --output_dir=out run/best.safetensors t.safetensors
expect_no_line 'warning' log
for file in report.html metrics.tsv metrics_by_frequency.tsv ranks.tsv ranks.safetensors; do
  [ -s out/$file ] || fail "no out/$file"
done
if $has_gnuplot; then
  for picture in ranks_by_relation ranks_by_frequency learning_curve; do
    expect_text '</svg>' out/$picture.svg
  done
  expect_text 'Validation MRR' out/learning_curve.svg
  [ "$(grep -c '<figure>' out/report.html)" = 3 ] || fail "pictures of the report"
fi
expect_line 'The model is of epoch [1-6] of the 6 in the log: Validation MRR 0' out/report.html
[ "$(grep -c '>By relation<' out/report.html)" = 1 ] || fail "no relations"

# cell TABLE NAME DIRECTION COLUMN: a number of a table, with four digits. cells NAME: those of a row of the report.
cell() {
  awk -F'\t' -v n="$2" -v d="$3" -v c="$4" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i; next }
    $2 == n && $3 == d { printf(c == "count" ? "%d" : "%.4f", $at) }' "$1"
}
cells() {
  sed -n "s|^<tr><td class=\"text\">$1</td>\(.*\)</tr>$|\1|p" out/report.html | head -n 1 |
    sed 's|</*td>| |g; s|  *| |g'
}
for direction in both tail head; do
  row=" $(cells $direction)"
  for column in count mrr hits@1 hits@3 hits@10 mrr_optimistic mrr_pessimistic; do
    case $row in
      *" $(cell out/metrics.tsv '' $direction $column) "*) ;;
      *) fail "$direction $column: $row, $(cat out/metrics.tsv | head -n 4)" ;;
    esac
  done
done

# Relations: a row for each, the lowest MRR first; after ten the rest is folded, and printed whole.
awk -F'\t' '$1 == "relation" && $3 == "both" { print $6 "\t" $2 }' out/metrics.tsv | sort -n > by_mrr
worst=$(head -n 1 by_mrr | cut -f 2)
[ "$(wc -l < by_mrr)" -gt 10 ] || fail "too few relations for this test"
expect_text "$(($(wc -l < by_mrr) - 10)) more relations</label>" out/report.html
while IFS=$'\t' read -r mrr name; do
  case " $(cells "$name")" in
    *" $(printf '%.4f' "$mrr") $(cell out/metrics.tsv "$name" tail mrr) $(cell out/metrics.tsv "$name" head mrr) "*) ;;
    *) fail "relation $name: $(cells "$name"), $mrr" ;;
  esac
done < by_mrr
first=$(grep -n -m 1 "<td class=\"text\">$worst</td>" out/report.html | cut -d : -f 1)
fold=$(grep -n -m 1 'more relations</label>' out/report.html | cut -d : -f 1)
last=$(grep -n -m 1 "<td class=\"text\">$(tail -n 1 by_mrr | cut -f 2)</td>" out/report.html | cut -d : -f 1)
[ "$first" -lt "$fold" ] && [ "$fold" -lt "$last" ] || fail "order: $first $fold $last"

# Frequencies as they are defined: from the text of the training triples and the ranks of each triple.
# by_frequency TRAIN RANKS
by_frequency() {
  awk -F'\t' 'function group(n,  low) {
    if (n < 2) return n
    for (low = 1; 2 * low <= n; low *= 2);
    return low "-" 2 * low - 1
  }
  function add(direction, name, rank) { count[name "\t" direction]++; sum[name "\t" direction] += 1 / rank }
  NR == FNR { ++n[$1]; if ($3 != $1) ++n[$3]; next }
  FNR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
  { t = group(n[$3] + 0); h = group(n[$1] + 0)
    add("tail", t, $at["tail_rank"]); add("head", h, $at["head_rank"]) }
  END { for (g in sum) printf "%s\t%d\t%.6f\n", g, count[g], sum[g] / count[g] }' \
  "$1" "$2" | sort
}
by_frequency "$elements/train.txt" out/ranks.tsv > expected
awk -F'\t' 'NR > 1 && $3 != "both" { print $2 "\t" $3 "\t" $4 "\t" $6 }' out/metrics_by_frequency.tsv | sort > found
diff expected found || fail "ranks by frequency"
expect_line '^frequency	[0-9]*-[0-9]*	both	' out/metrics_by_frequency.tsv
expect_text 'number of training triples of t.safetensors that it is in, as head or tail' out/report.html
expect_no_line 'is not known' out/report.html
expect_no_line 'do not count' out/report.html
# Training learns nothing from triples of weight 0, which therefore do not count.
awk '{ print $0 "\t" (NR % 3 == 0 ? 0 : 1) }' "$elements/train.txt" > train-w.tsv
for split in valid test; do sed 's/$/\t1/' "$elements/$split.txt" > $split-w.tsv; done
succeeds "$featurize" --output=w.safetensors --weight_column=4 --train=train-w.tsv --valid=valid-w.tsv --test=test-w.tsv
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=1 --plot=false --output_dir=run-w w.safetensors
succeeds "$evaluate" --output_dir=out-w run-w/best.safetensors w.safetensors
awk -F'\t' '$4 > 0' train-w.tsv > counted.tsv
by_frequency counted.tsv out-w/ranks.tsv > expected
awk -F'\t' 'NR > 1 && $3 != "both" { print $2 "\t" $3 "\t" $4 "\t" $6 }' out-w/metrics_by_frequency.tsv | sort > found
diff expected found || fail "ranks by frequency with weights of 0"
all=$(wc -l < train-w.tsv)
expect_text "Of $all training triples in w.safetensors, $((all / 3)) do not count" out-w/report.html
relation=$(cut -f 2 counted.tsv | sort | uniq -c | sort -n | awk 'END { print $2 " " $1 }')
grep -q "^<tr><td class=\"text\">${relation% *}</td><td>${relation#* }</td>" out-w/report.html ||
  fail "training triples of a relation: $relation, $(grep ">${relation% *}<" out-w/report.html)"

# Both kinds of logs give the same picture; the log of another run is noticed.
succeeds "$evaluate" --train_log=run/log.tsv --output_dir=tsv run/best.safetensors t.safetensors
cmp tsv/metrics_by_frequency.tsv out/metrics_by_frequency.tsv || fail "the log changes ranks"
if $has_gnuplot; then cmp tsv/learning_curve.svg out/learning_curve.svg || fail "the two logs differ"; fi
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=6 --seed=2 --plot=false --output_dir=other \
  t.safetensors
succeeds "$evaluate" --train_log=other/log.jsonl --output_dir=out run/best.safetensors t.safetensors
expect_line 'warning: --train_log=other/log.jsonl: .*is it the log of another run' log
expect_text 'is it the log of another run' out/report.html
expect_no_line 'The model is of epoch' out/report.html
# Where a loss chose the model, its MRR is shown all the same.
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=3 --monitor=val_loss --plot=false \
  --output_dir=by_loss t.safetensors
succeeds "$evaluate" --train_log=by_loss/log.jsonl --output_dir=out by_loss/best.safetensors t.safetensors
expect_line 'The model is of epoch [1-3] of the 3 in the log: Validation MRR 0' out/report.html
head -n 1 run/log.tsv > short.tsv
sed -n 2p run/log.tsv | sed 's/^1	[0-9]*/99	9999/' >> short.tsv
succeeds "$evaluate" --train_log=short.tsv --output_dir=out run/best.safetensors t.safetensors
expect_line 'warning: --train_log=short.tsv: has no row of epoch [0-9]*, step [0-9]*, of which run/best.safetensors' log

# The last model of a run that stopped within an epoch has no row in the log, which is no sign of another run.
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=6 --plot=false --output_dir=whole t.safetensors
steps=$(awk -F'\t' '$1 == 1 { print $2 }' whole/log.tsv)
[ "$steps" -gt 1 ] || fail "epochs of one step: $(cat whole/log.tsv)"
succeeds $train --kge_model=complex --embedding_dim=20 --max_steps=$((2 * steps + 1)) --plot=false --output_dir=part \
  t.safetensors
# The row of the epoch that was not finished is left out, as in the log of a run that a signal stopped.
awk -F'\t' -v last=$((2 * steps + 1)) '$2 != last' part/log.tsv > part.tsv
succeeds "$evaluate" --train_log=part.tsv --output_dir=within part/last.safetensors t.safetensors
expect_line "part.tsv: has no row of step $((2 * steps + 1)), as part/last.safetensors was saved within an epoch" log
expect_text 'was saved within an epoch' within/report.html
expect_no_line 'another run' log
# A log whose epochs have other numbers of steps is that of another run.
awk -F'\t' -v OFS='\t' 'NR > 1 { $2 = 100 * $2 } { print }' part.tsv > other.tsv
succeeds "$evaluate" --train_log=other.tsv --output_dir=within part/last.safetensors t.safetensors
expect_line 'warning: --train_log=other.tsv: has no row of .* is it the log of another run' log

# Frequencies are of the file of triples; where the model learned from others, the report says so.
awk -F'\t' 'NR == FNR { ++n[$1]; ++n[$3]; next } !dropped && n[$1] > 5 && n[$3] > 5 { dropped = 1; next } { print }' \
  "$elements/train.txt" "$elements/train.txt" > train.txt
succeeds "$featurize" --vocabulary_order=name --output=named.safetensors "$elements"/{train,valid,test}.txt
succeeds "$featurize" --vocabulary_order=name --output=fewer.safetensors train.txt "$elements"/{valid,test}.txt
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=1 --plot=false --output_dir=named \
  named.safetensors
succeeds "$evaluate" --output_dir=less named/best.safetensors fewer.safetensors
expect_text 'named/best.safetensors learned from other training triples than those of fewer.safetensors' \
  less/report.html

# Without gnuplot: all tables, no picture, one warning.
PATH=/nowhere "$evaluate" --train_log=run/log.jsonl --output_dir=bare run/best.safetensors t.safetensors > stdout \
  2> log || fail "without gnuplot: $(cat log)"
[ "$(grep -c 'warning: .*gnuplot is not installed' log)" = 1 ] || fail "without gnuplot: $(cat log)"
expect_text 'ranks_by_relation.svg was not drawn: gnuplot' bare/report.html
expect_no_line '<svg' bare/report.html
[ ! -e bare/learning_curve.svg ] || fail "a picture without gnuplot"
cmp bare/metrics.tsv tsv/metrics.tsv || fail "metrics without gnuplot"

# Where nothing would show the log, it is refused.
refuses 'train_log.*output_dir' "$evaluate" --train_log=run/log.tsv run/best.safetensors t.safetensors
printf '?\tis_a\tmetal\n' > questions.tsv
refuses 'train_log has no effect with --queries' \
  "$evaluate" --train_log=run/log.tsv --queries=questions.tsv run/best.safetensors t.safetensors
refuses 'train_log has no effect with --shard' \
  "$evaluate" --train_log=run/log.tsv --shard=1/2 --output_dir=part run/best.safetensors t.safetensors
refuses 'train_log has no effect with several models' \
  "$evaluate" --train_log=run/log.tsv --output_dir=both run/best.safetensors,other/best.safetensors t.safetensors
refuses 'train_log has no effect with --calibrate' \
  "$evaluate" --train_log=run/log.tsv --calibrate=platt --output_model=c.safetensors run/best.safetensors t.safetensors
refuses 'train_log has no effect with --list_types' \
  "$evaluate" --train_log=run/log.tsv --list_types run/best.safetensors t.safetensors
refuses 'train_log has no effect where --new_triples writes' \
  "$evaluate" --train_log=run/log.tsv --new_triples=questions.tsv --output_model=n.safetensors run/best.safetensors \
  t.safetensors
refuses 'none.tsv: No such file' \
  "$evaluate" --train_log=none.tsv --output_dir=out run/best.safetensors t.safetensors
refuses 'questions.tsv:1: no column "epoch"; expected the log.tsv or log.jsonl' \
  "$evaluate" --train_log=questions.tsv --output_dir=out run/best.safetensors t.safetensors
printf 'epoch\tstep\tloss\n1\t1\t0.5\n1\t2\t0.4\n' > steps.tsv
refuses 'steps.tsv: has no train_loss; expected the log of epochs.* not that of steps' \
  "$evaluate" --train_log=steps.tsv --output_dir=out run/best.safetensors t.safetensors
finish
