#!/usr/bin/env bash
# Probabilities that --calibrate gives a model of embeddings: fitted, kept in the model, used, shifted and reported.
set -uo pipefail
featurize=$PWD/tools/featurize/featurize
train="$PWD/tools/train/train --check_gradient=false"
evaluate=$PWD/tools/evaluate/evaluate
elements=$PWD/data/elements
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

succeeds "$featurize" --output=t.safetensors "$elements"/{train,valid,test}.txt
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=30 --plot=false --output_dir=run t.safetensors

# Fitted on the validation triples, probabilities tell more than the base rate does, of the test triples, too.
for method in platt isotonic; do
  succeeds "$evaluate" --calibrate=$method --output_model=$method.safetensors run/best.safetensors t.safetensors
  expect_line "wrote $method.safetensors: probabilities by $method at a base rate of 0.5 among all entities" log
  mv stdout $method.tsv
done
cmp platt.tsv isotonic.tsv || fail "both methods are measured whatever is written"
brier() { awk -F'\t' -v s="$1" -v p="$2" '$1 == s && $2 == p { print $5 }' platt.tsv; }
[ "$(brier test base_rate)" = 0.250000 ] || fail "the Brier score of the base rate: $(cat platt.tsv)"
for method in platt isotonic; do
  awk -v b="$(brier test $method)" 'BEGIN { exit !(b > 0 && b < 0.22) }' || fail "$method: $(cat platt.tsv)"
done

# Equal weights change nothing, others do, and triples of weight 0 are left out.
weigh() { # NAME AWK
  for split in train valid test; do
    awk -F'\t' -v OFS='\t' "{ print \$0, $2 }" "$elements/$split.txt" > w-$split.tsv
  done
  succeeds "$featurize" --output=$1.safetensors --weight_column=4 --train=w-train.tsv --valid=w-valid.tsv \
    --test=w-test.tsv
  succeeds "$evaluate" --calibrate=platt --output_model=$1-platt.safetensors run/best.safetensors $1.safetensors
  expect_line "$1.safetensors: answers weigh what their triples do" log
}
weigh equal 0.5
cmp stdout platt.tsv || fail "equal weights change something: $(cat stdout)"
weigh other '1 + 9 * (NR % 3 == 0)'
[ "$(cut -f 1-4 stdout)" = "$(cut -f 1-4 platt.tsv)" ] || fail "other answers: $(cat stdout)"
[ "$(cut -f 1-2,5 stdout | sed 2,3d)" != "$(cut -f 1-2,5 platt.tsv | sed 2,3d)" ] || fail "weights do not count"
weigh none 'NR % 3 == 0'
[ "$(awk '$1 == "valid" { print $3; exit }' stdout)" -lt "$(awk '$1 == "valid" { print $3; exit }' platt.tsv)" ] ||
  fail "triples of weight 0 count: $(cat stdout)"

# The model ranks as before, and says how good its probabilities are.
succeeds "$evaluate" run/best.safetensors t.safetensors
mv stdout ranks
succeeds "$evaluate" --output_dir=report platt.safetensors t.safetensors
cmp stdout ranks || fail "the model ranks otherwise"
expect_line "by platt, at a base rate of 0.5 among all entities: Brier score $(brier test platt | cut -c 1-5)" log
expect_text 'Probabilities' report/report.html
if command -v gnuplot > /dev/null; then expect_text '</svg>' report/reliability.svg; fi

# Answers have them. They fall with the score, and another base rate multiplies the odds.
head -1 "$elements/test.txt" | awk -F'\t' -v OFS='\t' '{ print $1, $2, "?"; print "?", $2, $3 }' > questions.txt
for method in platt isotonic; do
  succeeds "$evaluate" --queries=questions.txt --probabilities $method.safetensors t.safetensors
  expect_line "probabilities: by $method, at a base rate of 0.5" log
  awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    { p = $column["probability"]; if (!(p > 0 && p < 1) || ($1 == query && p > last)) exit 1
      last = p; query = $1 }' stdout ||
    fail "probabilities: $(cat stdout)"
  cut -f 8 stdout > half
  succeeds "$evaluate" --queries=questions.txt --probabilities --base_rate=0.1 $method.safetensors t.safetensors
  cut -f 8 stdout | paste half - | awk 'NR > 1 { a = $1 / (1 - $1) / 9; b = $2 / (1 - $2); d = a - b
    if (d > 1e-3 * a || d < -1e-3 * a) exit 1 }' || fail "a base rate of 0.1: $(paste half stdout)"
done

# Candidates: fitted among some, used among others.
succeeds "$evaluate" --calibrate=platt --candidates=seen --output_model=seen.safetensors run/best.safetensors \
  t.safetensors
succeeds "$evaluate" --queries=questions.txt --probabilities seen.safetensors t.safetensors
expect_line 'warning: probabilities were fitted to false answers among .*seen on that side.* among all entities' log
succeeds "$evaluate" --queries=questions.txt --probabilities --candidates=seen seen.safetensors t.safetensors
expect_no_line warning log

# One side's candidates are compared with those of that side.
head -1 "$elements/test.txt" | awk -F'\t' -v OFS='\t' '{ print $1, $2, "?" }' > tails.txt
succeeds "$evaluate" --queries=tails.txt --probabilities --tail_candidates=seen seen.safetensors t.safetensors
expect_no_line warning log
# Entities that are folded in later do not make candidates others, not even where a triple of theirs makes a known one
# (Ti) a candidate that training has not seen; nor do they hide which triples were fitted.
printf 'Xx\tin_period\tperiod_6\nXx\tin_period\tTi\n' > xx.txt
succeeds "$evaluate" --new_triples=xx.txt --output_model=grown.safetensors --output_triples=grown_t.safetensors \
  seen.safetensors t.safetensors
for graph in "--new_triples=xx.txt seen.safetensors t.safetensors" "grown.safetensors grown_t.safetensors"; do
  succeeds "$evaluate" --queries=questions.txt --probabilities --candidates=seen $graph
  expect_no_line warning log
  succeeds "$evaluate" --queries=questions.txt --probabilities $graph
  expect_line 'warning: probabilities were fitted to false answers among' log
  succeeds "$evaluate" --split=valid --candidates=seen $graph
  expect_line 'warning: the probabilities are measured on the triples that they were fitted to' log
done
# evaluate warns likewise, and where the fitted triples are measured.
succeeds "$evaluate" seen.safetensors t.safetensors
expect_line 'warning: probabilities were fitted to false answers among' log
succeeds "$evaluate" --split=valid platt.safetensors t.safetensors
expect_line 'warning: the probabilities are measured on the triples that they were fitted to' log
head -1 "$elements/test.txt" | cut -f 1 > one.txt
succeeds "$evaluate" --candidates=one.txt platt.safetensors t.safetensors
expect_no_line 'Brier' log
# Types of entities are beside probabilities in one file.
cut -f 1 "$elements/train.txt" | sort -u | awk -v OFS='\t' '{ print $1, NR % 2 ? "odd" : "even" }' > types.txt
succeeds "$featurize" --entity_types=types.txt --output=typed.safetensors "$elements"/{train,valid,test}.txt
succeeds $train --kge_model=distmult --embedding_dim=4 --max_epochs=1 --plot=false --output_dir=typed \
  typed.safetensors
succeeds "$evaluate" --calibrate=platt --output_model=typed-model.safetensors typed/best.safetensors typed.safetensors
succeeds "$evaluate" typed-model.safetensors typed.safetensors

# What cannot be, and what would have no effect.
makes_nothing none.safetensors 'expected a number above 0' "$evaluate" --calibrate=platt --base_rate=0 \
  --output_model=none.safetensors run/best.safetensors t.safetensors
makes_nothing none.safetensors 'the choices are platt, isotonic' "$evaluate" --calibrate=beta \
  --output_model=none.safetensors run/best.safetensors t.safetensors
expect_error 1 'needs --output_model' "$evaluate" --calibrate=platt run/best.safetensors t.safetensors
succeeds "$featurize" --train="$elements/train.txt" --output=alone.safetensors
makes_nothing none.safetensors 'has no validation triples' "$evaluate" --calibrate=platt \
  --output_model=none.safetensors run/best.safetensors alone.safetensors
refuses 'base_rate.*model has no probabilities' "$evaluate" --base_rate=0.2 run/best.safetensors t.safetensors
refuses 'split.*with --calibrate' "$evaluate" --calibrate=platt --split=test --output_model=none.safetensors \
  run/best.safetensors t.safetensors
refuses 'base_rate.*without --probabilities' "$evaluate" --queries=questions.txt --base_rate=0.2 platt.safetensors \
  t.safetensors

# A run that starts from such a model learns, so that the probabilities are no longer its own.
succeeds $train --kge_model=complex --embedding_dim=20 --max_epochs=1 --plot=false --init_from=platt.safetensors \
  --output_dir=next t.safetensors
refuses 'base_rate.*model has no probabilities' "$evaluate" --base_rate=0.2 next/best.safetensors t.safetensors
finish
