#!/usr/bin/env bash
# featurize as users run it: inputs of every form, threads, pipes, and one clear line for each kind of bad input.
set -uo pipefail
featurize=$PWD/$1
diff=$PWD/lib/tensorfile/diff
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
golden=$PWD/testdata/potential
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

flags="--species=Ti,O --rad_order=8 --rad_cutoff=5 --ang_order=3 --ang_cutoff=3"
$featurize $flags --threads=1 --output=one.safetensors "$tio2" 2> log || fail "plain run: $(cat log)"
expect_line '403 structures, 2484 atoms' log

# The data bytes are the same for two threads, from standard input and through a pipe.
$featurize $flags --threads=2 --output=two.safetensors "$tio2" 2> /dev/null || fail "two threads"
$diff one.safetensors two.safetensors || fail "two threads differ"
$featurize $flags --output=- - < "$tio2" 2> /dev/null > piped.safetensors || fail "pipe"
$diff one.safetensors piped.safetensors || fail "a pipe differs"
gzip -c "$tio2" > tio2.gz
$featurize $flags --output=gz.safetensors tio2.gz 2> /dev/null || fail "gzip"
$diff one.safetensors gz.safetensors || fail "gzip differs"
# Moments and triplets agree to rounding.
$featurize $flags --precision=fp64 --output=m.safetensors "$tio2" 2> /dev/null || fail "fp64"
$featurize $flags --precision=fp64 --angular=triplets --output=t.safetensors "$tio2" 2> /dev/null || fail "triplets"
$diff --rtol=1e-11 --atol=1e-10 m.safetensors t.safetensors || fail "triplets differ"
$diff --rtol=2e-4 --atol=2e-4 one.safetensors m.safetensors > /dev/null; [ $? -le 1 ] || fail "diff of two precisions"

# Several angular cutoffs: smaller ones add columns at the end; moments and triplets agree; files of neighbors work too.
near="--species=Ti,O --rad_order=8 --rad_cutoff=5 --ang_order=3,2 --ang_cutoff=3,2.2 --precision=fp64"
$featurize $near --output=near.safetensors "$tio2" 2> /dev/null || fail "two angular cutoffs"
$featurize $near --angular=triplets --output=neart.safetensors "$tio2" 2> /dev/null ||
  fail "two angular cutoffs, triplets"
$diff --rtol=1e-11 --atol=1e-10 near.safetensors neart.safetensors || fail "two angular cutoffs: triplets differ"
grep -aq '\\"nearer\\":\[{\\"ang_order\\":2,\\"ang_cutoff\\":2.2}\]' near.safetensors || fail "nearer is not recorded"

# Globs, directories and lists name the same files.
mkdir -p xsf && cp "$golden"/*.xsf xsf
$featurize $flags --output=dir.safetensors xsf 2> /dev/null || fail "directory"
$featurize $flags --output=glob.safetensors 'xsf/*.xsf' 2> /dev/null || fail "glob"
ls xsf/*.xsf > list
$featurize $flags --output=list.safetensors list:list 2> /dev/null || fail "list"
$diff dir.safetensors glob.safetensors || fail "inputs of three forms differ"
$diff dir.safetensors list.safetensors || fail "inputs of three forms differ"

# Bad input: one line that holds the pattern, exit status 1, no output.
bad() {
  makes_nothing out.safetensors "$1" "$featurize" "${@:2}"
}
out="--output=out.safetensors"
f="--species=Ti,O"
xyz() { printf "$1" > bad.xyz; }
bad 'none.xyz.*No such file' $f $out none.xyz
printf '1\ngroup=a energy=-1\nO 0 0 0\n' > group.xyz
$featurize $f $out --config_key=group group.xyz 2> log || fail "--config_key: $(cat log)"
expect_no_line 'config_key' log
$featurize $f $out --config_key=grp group.xyz 2> log || fail "--config_key: $(cat log)"
expect_line 'warning: --config_key=grp: no structure has a value of that name' log
# Of two energies the one that says "reference" is taken, with a warning; a chosen one is taken without.
for n in 1 2; do printf '1\nenergy=-1 REF_energy=-2 n=%s\nO 0 0 0\n' $n; done > twice.xyz
$featurize $f $out twice.xyz 2> log || fail "two energies: $(cat log)"
expect_text 'featurize: warning: twice.xyz:2: REF_energy=-2, but energy=-1, in 2 of 2 frames, this first; ' log
expect_text 'this first; the former is used, --energy_key=energy chooses the latter' log
[ "$(grep -c 'REF_energy' log)" = 1 ] || fail "two energies, more than once: $(cat log)"
$featurize $f $out --energy_key=energy twice.xyz 2> log || fail "--energy_key: $(cat log)"
expect_no_line ', but ' log
: > empty.xyz
bad 'empty.xyz' $f $out empty.xyz
xyz '2\n\nO 0 0 0\nO 1 1\n'; bad 'bad.xyz:4' $f $out bad.xyz
xyz '2\n\nO 0 0 0\n'; bad 'bad.xyz' $f $out bad.xyz
xyz '1\n\nO 0 0 x\n'; bad 'bad.xyz:3' $f $out bad.xyz
xyz '1\n\nO 0 0 nan\n'; bad 'bad.xyz:3' $f $out bad.xyz
xyz '1\n\nO 0 0 inf\n'; bad 'bad.xyz:3' $f $out bad.xyz
xyz '1\n\nXx 0 0 0\n'; bad 'Xx' $f $out bad.xyz
xyz '1\n\nFe 0 0 0\n'; bad '--species=Ti,O,Fe' $f $out bad.xyz
xyz '1\nLattice="1 0 0 2 0 0 0 0 1"\nO 0 0 0\n'; bad 'bad.xyz' $f $out bad.xyz
xyz '2\n\nO 0 0 0\nO 0 0 0.05\n'; bad '0.05' $f $out bad.xyz
bad 'rad_cutoff' $f --rad_cutoff=0 $out "$tio2"
bad 'rad_cutoff' $f --rad_cutoff=-1 $out "$tio2"
bad 'rad_cutoff' $f --rad_cutoff=1000 $out "$tio2"
bad 'ang_cutoff' $f --ang_cutoff=50 $out "$tio2"
bad 'ang_order=4,4 and --ang_cutoff=5,4,3: 2 and 3 values' $f --ang_cutoff=5,4,3 $out "$tio2"
bad 'largest first' $f --ang_cutoff=3,4 --ang_order=3,3 $out "$tio2"
bad 'ang_cutoff=4,near: "near" is no number' $f --ang_cutoff=4,near --ang_order=3,3 $out "$tio2"
bad 'ang_order=3.5: "3.5" is no number' $f --ang_order=3.5 $out "$tio2"
bad 'needs --species for structures' $out "$tio2"
bad '--output' $f "$tio2"
bad 'structures' $f $out
bad 'shard' $f --shard=3/2 $out "$tio2"
bad 'Ti x' $f --atomic_energies=Ti=x $out "$tio2"
bad 'expected' $f $out one.safetensors
head -c 1000 one.safetensors > cut.safetensors
bad 'cut.safetensors' $f $out cut.safetensors
bad 'no/such/dir' $f --output=no/such/dir/out.safetensors "$tio2"
# On a full device there is an error, and the existing file stays.
if [ -w /dev/full ]; then
  $featurize $f --output=/dev/full "$tio2" 2> err && fail "a full device"
  expect_line 'No space left' err
fi
# Unused species and unknown keys are warnings; labels are counted.
xyz '1\nenergy=-1\nO 0 0 0\n'
$featurize --species=Ti,O --force_key=dft_forces $out bad.xyz 2> err || fail "labels: $(cat err)"
for words in 'force_key=dft_forces: no structure has forces' 'no atom is Ti' \
  '; 1 with energy, 0 with forces, 0 with stress;'; do
  expect_line "$words" err
done
# Atoms nearer than min_cutoff are a warning.
xyz '2\n\nO 0 0 0\nO 0 0 0.3\n'
$featurize $f $out bad.xyz 2> err || fail "near atoms: $(cat err)"
expect_line 'warning: 1 structures have atoms nearer' err
finish
