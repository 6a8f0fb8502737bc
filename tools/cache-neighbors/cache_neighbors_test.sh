#!/usr/bin/env bash
# cache-neighbors as users run it, and what featurize makes of its files; one clear line for each kind of bad input.
set -uo pipefail
cache=$PWD/$1
featurize=$PWD/$2
diff=$PWD/lib/tensorfile/diff
info=$PWD/lib/tensorfile/info
tio2=$PWD/data/tio2-pbe/tio2-pbe.extxyz
golden=$PWD/testdata/potential
. tools/common/tool_test.sh
cd "$TEST_TMPDIR" || exit 1

$cache --cutoff=6 --threads=1 --output=one.safetensors "$tio2" 2> log || fail "plain run: $(cat log)"
expect_line '403 structures, 2484 atoms, 215542 pairs within 6 Angstrom, 86.8 neighbors per atom; ' log
expect_line 'per atom; 403 with energy, 403 with forces, 403 with stress; ' log
expect_line ' 2.4 MB' log

# The data are the same for two threads, from standard input, through a pipe, and in shards.
$cache --cutoff=6 --threads=2 --output=two.safetensors "$tio2" 2> /dev/null || fail "two threads"
$diff one.safetensors two.safetensors || fail "two threads differ"
$cache --cutoff=6 --output=- - < "$tio2" 2> /dev/null > piped.safetensors || fail "pipe"
$diff one.safetensors piped.safetensors || fail "a pipe differs"
for i in 1 2; do $cache --cutoff=6 --shard=$i/2 --output=part.safetensors "$tio2" 2> /dev/null || fail "shard $i"; done
[ -e part-00002-of-00002.safetensors ] || fail "no second shard"

# Features made from neighbors equal those from structures, bit for bit, for every descriptor up to the cutoff.
for flags in "--species=Ti,O" "--species=O,Ti --rad_cutoff=5 --ang_cutoff=3 --precision=fp64" \
  "--species=Ti,O --rad_cutoff=4 --ang_cutoff=3 --angular=triplets --precision=fp64"; do
  $featurize $flags --output=raw.safetensors "$tio2" 2> /dev/null || fail "featurize $flags"
  $featurize $flags --output=cached.safetensors one.safetensors 2> /dev/null || fail "cached, $flags"
  $diff raw.safetensors cached.safetensors || fail "features of neighbors differ: $flags"
done
# Shards together equal the whole; structures and neighbors can be mixed.
$featurize --species=Ti,O --output=all.safetensors part-0000?-of-00002.safetensors 2> log || fail "shards: $(cat log)"
expect_line '403 structures, 2484 atoms, 86.8 neighbors' log
$featurize --species=Ti,O --output=mixed.safetensors one.safetensors "$tio2" 2> log || fail "mixed: $(cat log)"
expect_line '806 structures' log
# Cells thinner than the cutoff, atoms outside, no cell at all.
printf '3\n\nO 0 0 0\nH 0.9 0 0\nH 0 0.9 0\n' > water.xyz
$cache --cutoff=9 --output=small.safetensors "$golden"/*.xsf water.xyz 2> /dev/null || fail "small cells"
for precision in fp32 fp64; do
  flags="--species=Ti,O,H --rad_cutoff=9 --precision=$precision"
  $featurize $flags --output=raw.safetensors "$golden"/*.xsf water.xyz 2> /dev/null || fail "small cells, raw"
  $featurize $flags --output=cached.safetensors small.safetensors 2> /dev/null || fail "small cells, cached"
  $diff raw.safetensors cached.safetensors || fail "small cells differ"
done

# A recorded descriptor needs no flags, accepts flags that agree, and refuses others.
descriptor="--species=Ti,O --rad_order=8 --rad_cutoff=5 --ang_cutoff=3"
$cache $descriptor --triplets --vectors=fp64 --output=recorded.safetensors "$tio2" 2> log ||
  fail "descriptor: $(cat log)"
expect_line 'triplets within 3' log
$info recorded.safetensors | grep -q pair_vector || fail "no vectors"
$featurize $descriptor --output=raw.safetensors "$tio2" 2> /dev/null || fail "featurize $descriptor"
for flags in "" "--rad_cutoff=5" "$descriptor"; do
  $featurize $flags --output=cached.safetensors recorded.safetensors 2> log || fail "recorded, $flags: $(cat log)"
  $diff raw.safetensors cached.safetensors || fail "recorded, $flags: differs"
done
# The same holds for several angular cutoffs; triplets use the largest.
$cache --species=Ti,O --rad_cutoff=5 --ang_cutoff=3,2.2 --ang_order=3,2 --triplets --output=near.safetensors "$tio2" \
  2> log || fail "two angular cutoffs: $(cat log)"
expect_line 'triplets within 3' log
for flags in "" "--ang_cutoff=3.0,2.20" "--ang_order=3,2"; do
  $featurize $flags --output=cached.safetensors near.safetensors 2> log ||
    fail "two angular cutoffs, $flags: $(cat log)"
done
expect_error 1 '--ang_cutoff=3: near.safetensors was made for --ang_cutoff=3,2.2' \
  $featurize --output=x.safetensors --ang_cutoff=3 near.safetensors
# Other records are kept as well: groups, weights, atomic energies; filters work on them.
sed 's/^\(Lattice.*\)/\1 w=0.25/; s/^\(.*\) \(Lattice=.*\)/\1 w=0.25 \2/' "$tio2" > weighted.xyz
expect_line 'w=0.25' weighted.xyz
$cache --cutoff=5 --weight_key=w --atomic_energies=Ti=-1,O=-2 --output=w.safetensors weighted.xyz 2> /dev/null ||
  fail "weights"
$featurize --species=Ti,O --rad_cutoff=5 --output=wf.safetensors w.safetensors 2> log ||
  fail "recorded weights: $(cat log)"
$info wf.safetensors | grep -q '^  weight  *F64' || fail "no weights: $($info wf.safetensors)"
$info wf.safetensors | grep -q atomic_energies || fail "no atomic energies"
$featurize --species=Ti,O --rad_cutoff=5 --max_forces=5 --output=filtered.safetensors one.safetensors 2> log ||
  fail "filter: $(cat log)"
expect_no_line '; 0 left out' log

# Bad input: one line that holds the pattern, exit status 1, no output.
bad() {
  makes_nothing out.safetensors "$1" "$2" --output=out.safetensors "${@:3}"
}
bad 'needs --cutoff' $cache "$tio2"
bad 'cutoff' $cache --cutoff=0 "$tio2"
bad 'cutoff' $cache --cutoff=-1 "$tio2"
bad 'cutoff' $cache --cutoff=20.5 "$tio2"
bad 'cutoff' $cache --cutoff=nan "$tio2"
bad '--cutoff and --species' $cache --cutoff=6 --species=Ti,O "$tio2"
bad '--triplets needs --ang_cutoff' $cache --cutoff=6 --triplets "$tio2"
bad 'no --triplets' $cache --cutoff=6 --ang_cutoff=4 "$tio2"
bad 'listed within one cutoff' $cache --cutoff=6 --ang_cutoff=4,3 --triplets "$tio2"
bad 'at most --cutoff=6' $cache --cutoff=6 --ang_cutoff=7 --triplets "$tio2"
bad 'vectors' $cache --cutoff=6 --vectors=half "$tio2"
bad 'needs structures' $cache --cutoff=6
bad 'needs --species' $cache --rad_cutoff=5 "$tio2"
bad 'atom 1 is Ti' $cache --species=O "$tio2"
bad 'shard' $cache --cutoff=6 --shard=0/2 "$tio2"
bad 'neighbors already' $cache --cutoff=6 one.safetensors
bad 'no structure has mass' $cache --cutoff=6 --weight_key=mass "$tio2"
sed 's/w=0.25/w=-1/' weighted.xyz > negative.xyz
bad 'weight w is "-1"' $cache --cutoff=5 --weight_key=w negative.xyz
printf '2\n\nO 0 0 0\nO 0 0 0.05\n' > close.xyz
bad 'close.xyz: .*0.05' $cache --cutoff=5 close.xyz
bad 'none.xyz' $cache --cutoff=5 none.xyz
bad 'one.safetensors: holds neighbors up to 6 Angstrom, but the descriptor.s cutoff is 6.5' \
  $featurize --species=Ti,O --rad_cutoff=6.5 one.safetensors
bad '--rad_cutoff=4: recorded.safetensors was made for --rad_cutoff=5' $featurize --rad_cutoff=4 recorded.safetensors
bad '--species=O,Ti: recorded.safetensors was made for --species=Ti,O' $featurize --species=O,Ti recorded.safetensors
bad 'needs --species' $featurize one.safetensors
bad 'kind atomistic.features/1, expected atomistic.neighbors/1' $featurize --species=Ti,O raw.safetensors
bad 'config_key' $featurize --species=Ti,O --rad_cutoff=5 --config_key=index one.safetensors
bad 'made with no --weight_key' $featurize --species=Ti,O --rad_cutoff=5 --weight_key=w one.safetensors
for size in 1000 100000 2000000; do
  head -c $size one.safetensors > cut.safetensors
  bad 'cut.safetensors' $featurize --species=Ti,O cut.safetensors
done
finish
