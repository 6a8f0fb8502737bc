#!/usr/bin/env bash
# install_test.sh: tools/install.sh lays out what has been built, in a folder with a space in its name; all of it works
# there and after the folder has been moved; an installation that fails changes nothing; uninstall.sh leaves nothing.
set -uo pipefail
source tools/common/tool_test.sh || exit 1
install=$PWD/tools/install.sh from=$PWD model=$PWD/testdata/md/tio2.safetensors
# The version is in one place; others repeat it.
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' lib/base/version.h)
expect_line "^version: $version\$" CITATION.cff
expect_line "^  version: \"$version\"\$" tools/packaging/conda/meta.yaml
expect_line "^  path: rutile-$version-linux" tools/packaging/conda/meta.yaml
cd "$TEST_TMPDIR" || exit 1
unset LIBTORCH

refuses 'needs --prefix' "$install" --from="$from"
refuses 'unknown argument --prefiks=x' "$install" --prefiks=x
mkdir empty
refuses 'empty/tools/cache-neighbors/cache-neighbors is missing' "$install" --from=empty --prefix="$PWD/made/inside"
[ ! -e made ] || fail "a failed installation leaves $(find made)"
mkdir -p linked/lib out
ln -s ../out linked/bin
refuses 'linked/bin is a link' "$install" --from="$from" --prefix="$PWD/linked"
[ -z "$(find linked out ! -type d ! -path linked/bin)" ] || fail "a refused installation leaves $(find linked out)"
mkdir -p 'first/a prefix/bin'
echo mine > 'first/a prefix/bin/mine'
umask 077
succeeds "$install" --from="$from" --prefix="$PWD/first/a prefix"
umask 022
private=$(find 'first/a prefix' ! -type l ! -perm -go+r ! -path '*/bin/mine')
[ -z "$private" ] || fail "not for everybody: $private"
[ -z "$(find 'first/a prefix' -name '.rutile-install*')" ] || fail "temporary files are left"
mv first/'a prefix' moved
rmdir first
mkdir links
ln -s ../moved/bin/rutile-train links/t
ln -s ../moved/bin/rutile links/rutile
rutile=$PWD/links/rutile

# Every installed file is on the list, and nothing else is there.
(cd moved && find . -type f -o -type l) | sed 's|^\./||' | grep -vx bin/mine | LC_ALL=C sort > found
diff moved/share/rutile/files.txt found || fail "files.txt is not what is installed"
find -L moved -type l | grep . && fail "links lead nowhere"

# Tools by either name, through links; one finds its neighbor, and profile the others.
succeeds "$rutile" --version
expect_line "^rutile $version\$" stdout
expect_line '^commit ' stdout
expect_line '^LibTorch [0-9].*; kernels for GPUs: .*; AMX: ' stdout
succeeds "$rutile" --help
for tool in cache-neighbors featurize train evaluate tracin profile info diff kim; do
  expect_line "^  $tool  " stdout
  [ -x "moved/bin/rutile-$tool" ] || fail "no rutile-$tool"
done
refuses 'nothing is no tool' "$rutile" nothing
refuses '../info is no tool' "$rutile" ../info
refuses 'short is no tool' "$rutile" short
"$rutile" nothing --version 2> /dev/null && fail "a tool that does not exist succeeds"
[ "$(links/t --version)" = "$("$rutile" train --version)" ] || fail "rutile train is another than rutile-train"
expect_error 1 '^train: needs structures' "$rutile" train
printf 'a\tr\tb\nb\tr\tc\nc\tr\ta\n' > train.txt
printf 'a\tr\tc\n' > valid.txt
succeeds "$rutile" featurize --output=t.safetensors --train=train.txt --valid=valid.txt
succeeds "$rutile" train --kge_model=distmult --embedding_dim=4 --max_epochs=1 --output_dir=run t.safetensors
printf 'a\tr\tb\n' > why.tsv
succeeds moved/bin/rutile-tracin --verify=1 --learning_rate=1 --train=t.safetensors --test=why.tsv run/best.safetensors
expect_line 'verify: .*: 1 pairs agree' log
succeeds "$rutile" profile -- train --kge_model=distmult --embedding_dim=4 --max_epochs=1 --output_dir=few t.safetensors
refuses 'no_such_flag' moved/bin/rutile-profile --tune -- moved/bin/rutile-train --no_such_flag=1 t.safetensors
succeeds "$rutile" info run/best.safetensors
short=$("$rutile" --path)
[ "$(PATH=$short:$PATH command -v train)" = "$short/train" ] || fail "no train in $short"
PATH=$short:$PATH succeeds train --version
# Nothing there hides a program of the system, as diff.
[ "$(ls "$short" | paste -sd' ')" = 'cache-neighbors evaluate featurize profile tracin train' ] ||
  fail "in $short: $(ls "$short")"

# The C library by pkg-config, the Python package, a model for LAMMPS.
if command -v pkg-config > /dev/null && command -v cc > /dev/null; then
  printf '#include <rutile.h>\nint main(void) { return rutile_abi_version() != RUTILE_ABI_VERSION; }\n' > abi.c
  mv moved moved-again
  read -ra words <<< "$(PKG_CONFIG_PATH=$PWD/moved-again/lib/pkgconfig pkg-config --cflags --libs rutile)"
  succeeds cc -o abi abi.c "${words[@]}"
  succeeds env LD_LIBRARY_PATH="$PWD/moved-again/lib" ./abi
  mv moved-again moved
fi
cat > use.py << 'END'
import sys
import rutile
print(len(rutile.Potential(sys.argv[1]).compute(["Ti", "O"], [[0, 0, 0], [1.9, 0, 0]])["forces"]))
END
succeeds env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PWD/moved/lib/rutile/python" python3 use.py "$model"
expect_line '^2$' stdout
succeeds "$rutile" kim --name=TiO2 --output_dir=kim "$model"
[ -s kim/TiO2/libkim-api-portable-model.so ] || fail "no model for LAMMPS"
succeeds moved/bin/rutile-kim --name=Driven --driver --output_dir=kim "$model"
grep -q 'lib/md/rutile.h' moved/share/rutile/tools/lammps/pair_rutile.h || fail "the plugin includes another header"
cmp moved/include/rutile.h moved/share/rutile/lib/md/rutile.h || fail "no header for the plugin"

# Manual pages that groff takes without a warning, and completion of tools and flags.
for page in moved/share/man/man1/*.1; do
  grep -q '^\.SH "\{0,1\}NAME' "$page" || fail "$page has no name"
  if command -v groff > /dev/null; then
    groff -man -Tutf8 -ww "$page" 2> warnings > /dev/null
    [ ! -s warnings ] || fail "$page: $(head -3 warnings)"
  fi
done
[ "$(find moved/share/man -name '*.1' | wc -l)" = 8 ] || fail "pages: $(ls moved/share/man/man1)"
completed=$(bash -c '
  compopt() { :; }
  . "$1"; COMP_WORDS=(rutile tr); COMP_CWORD=1; _rutile rutile; echo "${COMPREPLY[*]}"
  COMP_WORDS=(rutile train --overw); COMP_CWORD=2; _rutile rutile; echo "${COMPREPLY[*]}"
  COMP_WORDS=(rutile-train --overw); COMP_CWORD=1; _rutile rutile-train; echo "${COMPREPLY[*]}"' - \
  moved/share/bash-completion/completions/rutile)
[ "$completed" = $'train tracin\n--overwrite\n--overwrite' ] || fail "completed: $completed"

# Again, over itself: a file of the older version that this one has not goes. A failure leaves what is there.
echo old > moved/share/rutile/old
echo share/rutile/old >> moved/share/rutile/files.txt
succeeds "$install" --from="$from" --prefix="$PWD/moved"
[ ! -e moved/share/rutile/old ] || fail "a file of the older version is left"
diff found moved/share/rutile/files.txt || fail "another list after an update"
refuses 'is missing' "$install" --from=empty --prefix="$PWD/moved"
[ -x moved/bin/rutile ] || fail "a failure took away what was there"
# Neither does one that is seen when all is laid out: names where another kind of thing is, folders that are closed.
states() { (cd moved && find . -printf '%y %m %l %p\n' | sort && find . -type f -exec md5sum {} + | sort); }
rm moved/bin/rutile-kim
mkdir moved/bin/rutile-kim
echo share/rutile/gone/old >> moved/share/rutile/files.txt
mkdir moved/share/rutile/gone
echo old > moved/share/rutile/gone/old
rm -r moved/lib/rutile/kim
states > before
refuses 'rutile-kim is a folder where a file belongs; nothing' "$install" --from="$from" --prefix="$PWD/moved"
states > after
diff before after || fail "a failed update has changed what was there"
rmdir moved/bin/rutile-kim
echo mine > moved/lib/rutile/kim
states > before
refuses 'cannot make the folder .*/lib/rutile/kim; nothing' "$install" --from="$from" --prefix="$PWD/moved"
states > after
diff before after || fail "a failed update has changed what was there"
rm moved/lib/rutile/kim
if [ "$(id -u)" != 0 ]; then
  chmod a-w moved/share/rutile/gone
  states > before
  refuses 'cannot write into .*/gone; nothing' "$install" --from="$from" --prefix="$PWD/moved"
  states > after
  diff before after || fail "a failed update has changed what was there"
  chmod u+w moved/share/rutile/gone
fi
succeeds "$install" --from="$from" --prefix="$PWD/moved"
[ ! -e moved/share/rutile/gone ] || fail "a folder of the older version is left"
diff found moved/share/rutile/files.txt || fail "another list after failures"
succeeds "$install" --from="$from" --destdir="$PWD/package" --prefix=/opt/rutile
[ -x package/opt/rutile/bin/rutile ] || fail "no destdir"
refuses 'must begin with /' "$install" --from="$from" --destdir="$PWD/package" --prefix=opt

# Removal goes by the path that it is called by, and touches nothing where that is not the installation's.
mkdir -p elsewhere/bin
echo mine > elsewhere/bin/rutile
mv moved/share elsewhere/share
ln -s ../elsewhere/share moved/share
ln -s ../moved/share/rutile/uninstall.sh links/uninstall
refuses 'is not the folder share/rutile of an installation' elsewhere/share/rutile/uninstall.sh
refuses 'is not the folder share/rutile of an installation' links/uninstall
[ -x moved/bin/rutile ] || fail "a refusal has removed something"
succeeds moved/share/rutile/uninstall.sh
left=$(find moved ! -type d | LC_ALL=C sort | paste -sd' ')
[ "$left" = 'moved/bin/mine moved/share' ] || fail "left: $left"
[ "$(find elsewhere ! -type d)" = elsewhere/bin/rutile ] || fail "elsewhere: $(find elsewhere ! -type d)"

cp -a package/opt/rutile whole
mkdir -p whole/bin
echo mine > whole/bin/mine
succeeds whole/share/rutile/uninstall.sh
left=$(find whole | LC_ALL=C sort | paste -sd' ')
[ "$left" = 'whole whole/bin whole/bin/mine' ] || fail "left: $left"
finish
