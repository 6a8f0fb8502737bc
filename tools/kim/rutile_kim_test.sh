#!/usr/bin/env bash
# rutile_kim_test.sh RUTILE_KIM EVALUATE: what the command makes, and what it refuses. kim_test.py runs the result in
# LAMMPS.
set -uo pipefail
source tools/common/tool_test.sh
kim=$PWD/$1 evaluate=$PWD/$2
model=$PWD/testdata/md/tio2.safetensors other=$PWD/testdata/compat/unreleased/forces/run/best.safetensors
cd "$TEST_TMPDIR" || exit 1

succeeds "$kim" --name=One "$model"
expect_text 'KIM_API_PORTABLE_MODELS_DIR' stdout
expect_line 'kim interactions Ti O' stdout
cmp "$model" One/model-1.safetensors || fail "another model"
[ -s One/libkim-api-portable-model.so ] || fail "no library"
succeeds "$kim" --name=Team --output_dir=models "$model" "$model"
[ -s models/Team/model-2.safetensors ] || fail "no second member"
# Networks of aenet, which are told by their content.
succeeds "$evaluate" --export_aenet=aenet "$other"
succeeds "$kim" --name=Aenet aenet/Ti.nn aenet/O.nn
expect_line 'kim interactions Ti O' stdout
cmp aenet/O.nn Aenet/model-2.safetensors || fail "another network"
# Potentials of two layers, which used to be refused.
succeeds "$kim" --name=Layers "$(dirname "$model")/tio2-two-layers.safetensors"
expect_line 'kim interactions Ti O' stdout
succeeds "$kim" --name=Vectors "$(dirname "$model")/tio2-vectors.safetensors"
expect_line 'kim interactions Ti O' stdout
# Models of mace-torch, which make no committee with models of train.
mace=$(dirname "$model")/../mace/two-layers.safetensors
succeeds "$kim" --name=Mace "$mace"
expect_line 'kim interactions H O' stdout
succeeds "$evaluate" --splines_output=splines.safetensors "$mace"
succeeds "$kim" --name=Splines splines.safetensors
cmp splines.safetensors Splines/model-1.safetensors || fail "other splines"
makes_nothing Both 'one kind' "$kim" --name=Both "$model" "$mace"
makes_nothing Half 'none of O' "$kim" --name=Half aenet/Ti.nn

refuses 'One exists.*--overwrite' "$kim" --name=One "$model"
succeeds "$kim" --name=One --overwrite "$model"
refuses '--name=' "$kim" "$model"
refuses '--name=a/b' "$kim" --name=a/b "$model"
refuses 'needs a model' "$kim" --name=Two
refuses '--nome' "$kim" --nome=Two "$model"
succeeds "$kim" --name=Driven --driver --output_dir=drivers "$model" "$model"
expect_line "kim-api-collections-management install user .*/drivers/rutile_driver" stdout
expect_text "$PWD/drivers/rutile_driver" drivers/rutile_driver/CMakeLists.txt
expect_text '"model-1.safetensors" "model-2.safetensors"' drivers/Driven/CMakeLists.txt
[ -s drivers/rutile_driver/librutile.so ] || fail "no library of the driver"
refuses 'rutile_driver' "$kim" --name=rutile_driver --driver "$model"
makes_nothing Two 'no/such' "$kim" --name=Two no/such
makes_nothing Two 'rutile_kim_test' "$kim" --name=Two "$OLDPWD/tools/kim/rutile_kim_test.sh"
makes_nothing Two 'descriptor' "$kim" --name=Two "$model" "$other"
finish
