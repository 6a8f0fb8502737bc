#!/usr/bin/env bash
# Damaged and odd inputs end evaluate in one line that names the file, at once and in little memory, or do not end it.
set -uo pipefail
evaluate=$PWD/tools/evaluate/evaluate
featurize=$PWD/tools/featurize/featurize
train="$PWD/tools/train/train --preset=aenet --check_gradient=false"
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
untrained=$PWD/lib/kge/model/untrained_model
family=$PWD/testdata/kg/family
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1
awk 'left == 0 && frames++ == 6 { exit } left == 0 { left = $1 + 2 } { print; --left }' "$tio2" > s.extxyz
$train --species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --rad_order=3 --ang_order=1 --hidden=3 --max_epochs=2 --plot=false \
  --output_dir=run s.extxyz > /dev/null 2> log || fail "train: $(cat log)"
model=run/best.safetensors

# edit FROM TO CODE: changes a tensor file by Python code, its metadata `m` and its tensors `t`,
# {name: (dtype, shape, bytes)}.
edit() {
  python3 - "$@" << 'PYTHON' || fail "edit $1"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
m = {k: v for k, v in header.pop("__metadata__", {}).items() if not k.startswith("crc32c.")}
t = {k: (v["dtype"], v["shape"], data[8 + length:][slice(*v["data_offsets"])]) for k, v in header.items()}
exec(sys.argv[3])
at, header, body = 0, {"__metadata__": m}, b""
for name, (dtype, shape, values) in sorted(t.items(), key=lambda item: -int(item[1][0][1:])):
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(values)]}
    at += len(values)
    body += values
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + body)
PYTHON
}

# Elements that do not exist.
succeeds $evaluate --output_dir=report $model s.extxyz
for element in 0 119 255; do
  edit report/predictions.safetensors bad.safetensors \
    "d, s, v = t['element']; t['element'] = (d, s, v[:3] + bytes([$element]) + v[4:])"
  makes_nothing out/report.html "bad.safetensors: tensor \"element\": atom 3 is element $element, expected 1 to 118" \
    $evaluate --output_dir=out $model bad.safetensors
done

# Numbers that are not finite.
for tensor in feature_mean feature_scale atomic_energy energy_shift; do
  for value in inf nan; do
    edit $model bad.safetensors \
      "d, s, v = t['$tensor']; t['$tensor'] = (d, s, struct.pack('<d', float('$value')) + v[8:])"
    expect_error 1 "bad.safetensors: tensor \"$tensor\" holds NaN or infinity" $evaluate bad.safetensors s.extxyz
    expect_error 1 "bad.safetensors: tensor \"$tensor\" holds NaN or infinity" \
      $evaluate --export_aenet=aenet bad.safetensors
  done
done

# Predictions that are not finite are left out of extended XYZ, of which readers could make nothing.
edit $model bad.safetensors \
  "d, s, v = t['atomic_energy']; t['atomic_energy'] = (d, s, struct.pack('<2d', 1.7e308, 1.7e308))"
succeeds $evaluate --output_xyz=inf.extxyz bad.safetensors s.extxyz
expect_line 'warning: inf.extxyz: 6 of 6 structures have predictions that are not finite (s.extxyz#0 is' log
expect_no_line ' energy=' inf.extxyz
expect_line ' REF_energy=' inf.extxyz
succeeds $evaluate $model inf.extxyz

# Sizes that the tensors do not have: no memory is taken for them.
edit $model bad.safetensors "m['hidden'] = ','.join(['4096'] * 16)"
(
  ulimit -v 4000000
  expect_error 1 'bad.safetensors: tensor "network.Ti.0.weight" is F32 \[3,.*\], expected F32 \[4096,' \
    $evaluate bad.safetensors s.extxyz
  [ $failures = 0 ]
) || fail "sizes of a huge model"

# An embedding without end.
$featurize --train="$family/train.txt" --test="$family/test.txt" --output=t.safetensors 2> /dev/null || fail "triples"
$untrained t.safetensors kge.safetensors conve dettmers 12 3 true 1-N > /dev/null 2> log ||
  fail "untrained model: $(cat log)"
for size in 1000000007 9223372036854775807; do
  edit kge.safetensors bad.safetensors "m['embedding_dim'] = '$size'"
  # A limit on processor time: the clock also counts what else the machine does.
  (
    ulimit -t 5
    expect_error 1 "bad.safetensors: metadata: embedding_dim is $size, expected 1 to" \
      $evaluate bad.safetensors t.safetensors
    expect_error 1 "embedding_dim is $size, expected 1 to" \
      $evaluate --export_embeddings=e.tsv bad.safetensors t.safetensors
    [ $failures = 0 ]
  ) || fail "an embedding_dim of $size"
done

# frames NAME ENERGY CONFIG_TYPE: the structures, with another energy and config type of the first.
frames() {
  awk -v energy="$2" -v type="$3" 'NR == 2 {
      sub(/energy=[^ ]*/, "energy=" energy)
      sub(/config_type=[^ ]*/, "config_type=" type)
    }
    { print }' s.extxyz > "$1"
}
# A label that no axis can hold.
for energy in 1e308 -1e308; do
  frames odd.extxyz $energy '"a"'
  succeeds $evaluate --output_dir=out $model odd.extxyz
  expect_line 'left out: not finite, or beyond 1e300' out/parity_energy.svg
done
# Names that end gnuplot's strings.
for type in "\"'t Hooft\"" "\"5''-end\"" "\"'\"" '"a`date`b"' '"$x{^2}"'; do
  frames odd.extxyz -100 "$type"
  succeeds $evaluate --output_dir=out $model odd.extxyz
  expect_line '<svg' out/report.html
done
# Control characters reach neither tables nor messages.
frames odd.extxyz -100 "\"$(printf '\033[31mred')\""
succeeds $evaluate --output_dir=out $model odd.extxyz
for file in stdout out/predictions.tsv out/metrics.tsv; do
  expect_text '\x1b[31mred' $file
  LC_ALL=C grep -q "$(printf '\033')" $file && fail "an escape character in $file"
done
# escapes COMMAND...: the command fails with one line that shows the control character.
escapes() {
  expect_error 1 'x1b\[31mX' "$@"
  LC_ALL=C grep -q "$(printf '\033')" err && fail "an escape character in the message of $*"
  [ "$(wc -c < err)" -lt 4200 ] || fail "a message of $(wc -c < err) bytes"
}
printf '\033[31mX\n' > odd.txt
escapes $evaluate $model list:odd.txt
escapes $evaluate --frames=odd.txt $model s.extxyz
escapes $evaluate --flagfile=odd.txt
escapes $evaluate $model "$(printf '\033[31mX.extxyz')"
escapes $featurize --fingerprints=odd.txt --output=o.safetensors s.extxyz
escapes $train --species=Ti,O --atomic_energies=odd.txt --output_dir=none s.extxyz
edit $model bad.safetensors "m['kind'] = '\\x1b[31mX' + 100000 * 'k' + '/1'"
escapes $evaluate bad.safetensors s.extxyz
edit $model bad.safetensors "m['crc32c.energy_shift'] = '\\x1b[31mX' + 100000 * 'k'"
escapes $evaluate bad.safetensors s.extxyz
edit $model bad.safetensors "d, s, v = t['energy_shift']; t['energy_shift'] = (d, [1] * 1000, v)"
expect_error 1 'bad.safetensors: tensor "energy_shift" is F64' $evaluate bad.safetensors s.extxyz
[ "$(wc -c < err)" -lt 1000 ] || fail "a message of $(wc -c < err) bytes about a shape"

# Files of other programs, which users of these take for models.
for name in Ti.10t-10t.nn Ti.10t-10t.nn.ascii TiO2.train fitted.mtp train.cfg tio2.model weights.022.data; do
  printf 'of another program\n' > $name
  expect_error 1 "$name: .* of .*expected a model of train" $evaluate $name s.extxyz
done
cp $model renamed.nn
succeeds $evaluate renamed.nn s.extxyz

# What is no model: arguments in another order, and a command that failed before it wrote one.
expect_error 1 's.extxyz: this is text.*the model comes first, as in evaluate MODEL DATA' $evaluate s.extxyz $model
mkdir -p team/member-00 && cp $model team/member-00
expect_error 1 "team: is the directory of a committee, expected its models, 'team/member-\\*/best.safetensors'" \
  $evaluate team s.extxyz
expect_error 1 "team: is the directory of a committee" $evaluate team t.safetensors
expect_error 1 'run: is the directory of a run, expected its model, run/best.safetensors' $evaluate run s.extxyz
expect_error 1 'the file is empty.*nothing came through this pipe, did its command fail' $evaluate <(false) s.extxyz
expect_error 1 'cut off' $evaluate <(head -c 500 $model) s.extxyz

# Without gnuplot there are tables and a report, and a warning.
rm -rf out
PATH=/nowhere $evaluate --output_dir=out $model s.extxyz > stdout 2> log || fail "without gnuplot: $(cat log)"
[ "$(grep -c 'warning: .*gnuplot is not installed' log)" = 1 ] || fail "without gnuplot: $(cat log)"
for file in report.html metrics.tsv predictions.tsv predictions.safetensors; do
  [ -s out/$file ] || fail "without gnuplot no $file"
done
expect_text 'parity_energy.svg was not drawn' out/report.html
[ ! -e out/parity_energy.svg ] || fail "a picture without gnuplot"
finish
