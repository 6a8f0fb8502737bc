#!/usr/bin/env bash
# install.sh --prefix=DIR: installs rutile's tools, C library, Python package, manual pages and bash completion into
# DIR, without root if DIR is yours. It builds them first. docs/install.md says what is where and how to remove it.
#
#   --prefix=DIR     where to, such as $HOME/.local or /opt/rutile
#   --destdir=DIR    put DIR before the prefix, to make a package: what is installed runs from the prefix
#   --from=DIR       programs that are built already, laid out as bazel-bin; nothing is built
#
# Everything is laid out in a temporary folder first, and that it can be moved into its places is checked: a run that is
# interrupted or fails until then has changed nothing.
set -euo pipefail
umask 022  # An installation is for all who may enter its folder.

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() {
  echo "install.sh: $*" >&2
  exit 1
}
prefix= destdir= from=
for argument in "$@"; do
  case $argument in
    --prefix=*) prefix=${argument#*=} ;;
    --destdir=*) destdir=${argument#*=} ;;
    --from=*) from=$(cd "${argument#*=}" && pwd) || fail "$argument: no such folder" ;;
    --help)
      sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) fail "unknown argument $argument; expected --prefix=DIR, --destdir=DIR or --from=DIR" ;;
  esac
done
[ -n "$prefix" ] || fail "needs --prefix=DIR, where to install, such as --prefix=${HOME-}/.local"
[ -z "$destdir" ] || [ "${prefix#/}" != "$prefix" ] || fail "--prefix=$prefix: with --destdir it must begin with /"
target=$destdir$prefix
[ "${target#/}" != "$target" ] || target=$PWD/$target

stage= made=()  # made: folders made here, inner ones first; those that are still empty at the end go again
clean_up() {
  [ -z "$stage" ] || rm -rf "$stage" "$stage".*
  [ ${#made[@]} = 0 ] || rmdir "${made[@]}" 2> /dev/null || true
}
trap clean_up EXIT
folder=$target
while [ ! -e "$folder" ]; do
  made+=("$folder")
  folder=$(dirname "$folder")
done
mkdir -p "$target" || fail "cannot make $target; choose another --prefix, or run this as one who may write there"
target=$(cd "$target" && pwd)
[ -w "$target" ] || fail "cannot write into $target; choose another --prefix, or run this as one who may"
# Programs, and links among them, lead to one another by "..", which would begin at the place that a link leads to.
for folder in bin lib lib/rutile lib/pkgconfig libexec libexec/rutile share share/rutile; do
  [ ! -L "$target/$folder" ] ||
    fail "$target/$folder is a link, from which the programs would not find one another; choose another --prefix"
done

if [ -z "$from" ]; then
  (
    cd "$source"
    tools/bootstrap.sh build
    bazel build --show_result=0 //:tools //lib/md:librutile.so //lib/tensorfile:diff //lib/tensorfile:info \
      //python:wheel //tools/kim:rutile-kim
  ) >&2 || fail "rutile could not be built; the messages above say why"
  from=$source/bazel-bin
fi
tools=(cache-neighbors featurize train evaluate tracin profile)
programs=()
for tool in "${tools[@]}"; do programs+=("tools/$tool/$tool"); done
programs+=(tools/train/train-libtorch tools/tracin/tracin-verify tools/kim/check_model lib/tensorfile/{info,diff})
for file in "${programs[@]}" {lib/md,tools/kim/sources}/librutile.so tools/kim/libkim-api-portable-model.so; do
  [ -e "$from/$file" ] || fail "$from/$file is missing; without --from=DIR this script builds all that it needs"
done
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' "$source/lib/base/version.h")
wheel=$(find -L "$from/python" -maxdepth 1 -name "rutile-$version-*.whl")
[ -f "$wheel" ] || fail "$from/python has no wheel of version $version"
# The commit is written here and compiled into nothing: a program is built anew when its sources change, and only then.
commit=$(git -C "$source" rev-parse --short=12 HEAD 2> /dev/null) || commit="not known (not a checkout of git)"
[ -z "$(git -C "$source" status --porcelain --untracked-files=no 2> /dev/null)" ] || commit+=" with changes"

# On the same file system, so that files are moved into their places whole.
stage=$(mktemp -d "$target/.rutile-install.XXXXXX")
put() {  # put MODE FILE NAME: a copy, whatever links lead to the file
  mkdir -p "$(dirname "$stage/$3")"
  cp -L "$2" "$stage/$3"
  chmod "$1" "$stage/$3"
}
link() {  # link TARGET NAME
  mkdir -p "$(dirname "$stage/$2")"
  ln -s "$1" "$stage/$2"
}
reference() { python3 "$source/tools/docs/reference.py" "$@"; }

# Programs. Short names such as train and profile clash with others in bin/, so there they begin with rutile-.
put 755 "$source/tools/packaging/rutile.sh" bin/rutile
for program in "${programs[@]}"; do put 755 "$from/$program" "libexec/rutile/${program##*/}"; done
# For PATH: a folder without names that systems have, such as info and diff.
for tool in "${tools[@]}"; do link "../$tool" "libexec/rutile/short/$tool"; done
put 755 "$source/tools/kim/rutile_kim.sh" lib/rutile/kim/rutile-kim
put 755 "$from/tools/kim/libkim-api-portable-model.so" lib/rutile/kim/libkim-api-portable-model.so
cp -rL "$from/tools/kim/sources" "$stage/lib/rutile/kim/sources"
chmod -R u+w "$stage/lib/rutile/kim/sources"
link ../../../libexec/rutile/check_model lib/rutile/kim/check_model
link ../../lib/rutile/kim/rutile-kim libexec/rutile/kim
for tool in "${tools[@]}" info diff kim; do link "../libexec/rutile/$tool" "bin/rutile-$tool"; done

# The C library; the plugin's sources, which include its header by the path that it has in the repository; Python.
put 755 "$from/lib/md/librutile.so" lib/librutile.so
put 644 "$source/lib/md/rutile.h" include/rutile.h
mkdir -p "$stage/lib/pkgconfig"
sed "s/@VERSION@/$version/" "$source/tools/packaging/rutile.pc.in" > "$stage/lib/pkgconfig/rutile.pc"
for file in CMakeLists.txt LICENSE README.md pair_rutile.cpp pair_rutile.h rutileplugin.cpp; do
  put 644 "$source/tools/lammps/$file" "share/rutile/tools/lammps/$file"
done
link ../../../../include/rutile.h share/rutile/lib/md/rutile.h
put 644 "$wheel" "share/rutile/${wheel##*/}"
python3 -m zipfile -e "$wheel" "$stage/lib/rutile/python"

# Manual pages and completion, from the programs themselves and their READMEs.
mkdir -p "$stage/share/man/man1" "$stage/share/bash-completion/completions"
for tool in "${tools[@]}"; do
  reference man "$from/tools/$tool/$tool" "$source/tools/$tool/README.md" "rutile-$tool" \
    > "$stage/share/man/man1/rutile-$tool.1"
done
reference text rutile-kim "$source/tools/kim/README.md" > "$stage/share/man/man1/rutile-kim.1"
reference text rutile "$source/tools/packaging/rutile.md" > "$stage/share/man/man1/rutile.1"
words=()
for tool in "${tools[@]}"; do words+=("$from/tools/$tool/$tool"); done
reference completion "${words[@]}" > "$stage/share/bash-completion/completions/rutile"
for tool in "${tools[@]}"; do link rutile "share/bash-completion/completions/rutile-$tool"; done

# Examples, with the paths that README.md has; licenses; what can be read without the repository.
for file in data/tio2-pbe/tio2-pbe.extxyz data/elements/{train,valid,test}.txt docs/tutorial-tio2/Makefile \
  docs/tutorial-elements/Makefile docs/tutorial-elements/questions.tsv; do
  put 644 "$source/$file" "share/rutile/examples/$file"
done
for file in README.md CHANGELOG.md CITATION.cff LICENSE docs/install.md; do
  put 644 "$source/$file" "share/doc/rutile/${file##*/}"
done
{
  echo "rutile $version"
  echo "commit $commit"
  "$from/tools/train/train" --version | tail -n +2
} > "$stage/share/rutile/version"

# Only names that the linker and the loader look at are needed.
if command -v strip > /dev/null; then
  strip --strip-unneeded "$stage"/libexec/rutile/{cache-neighbors,featurize,train,train-libtorch,evaluate,tracin} \
    "$stage"/libexec/rutile/{tracin-verify,profile,check_model,info,diff} "$stage/lib/librutile.so" \
    "$stage"/lib/rutile/kim/{libkim-api-portable-model.so,sources/librutile.so}
fi
chmod -R u+w,go-w,a+rX "$stage"

# The list of files: with an older version's, until all is in place.
list=share/rutile/files.txt
put 755 "$source/tools/packaging/uninstall.sh" share/rutile/uninstall.sh
export LC_ALL=C
(cd "$stage" && find . -type f -o -type l) | sed 's|^\./||' | sort > "$stage.new"
echo $list | sort - "$stage.new" > "$stage/$list"
: > "$stage.old"
if [ -f "$target/$list" ]; then sed -E '\%^/|(^|/)\.\.(/|$)%d' "$target/$list" | sort > "$stage.old"; fi
sort -u "$stage/$list" "$stage.old" > "$stage.both"
comm -13 "$stage/$list" "$stage.old" > "$stage.gone"
# folders FILE: those that the names in the file lie in, outer ones first.
folders() {
  awk -F/ '{ path = $1; for (i = 2; i <= NF; ++i) { print path; path = path "/" $i } }' "$1" | sort -u
}

# Nothing is moved unless all can be.
folders "$stage/$list" > "$stage.folders"
while IFS= read -r folder; do
  if [ ! -d "$target/$folder" ]; then
    mkdir "$target/$folder" || fail "cannot make the folder $target/$folder; nothing was installed"
    made=("$target/$folder" "${made[@]}")
  fi
done < "$stage.folders"
while IFS= read -r folder; do
  [ ! -d "$target/$folder" ] || [ -w "$target/$folder" ] ||
    fail "cannot write into $target/$folder; nothing was installed. Run this as one who may, or choose another --prefix"
done <<< "$(folders "$stage.both")"
while IFS= read -r file; do
  [ ! -d "$target/$file" ] || [ -L "$target/$file" ] ||
    fail "$target/$file is a folder where a file belongs; nothing was installed. Move it away, or change --prefix"
done < "$stage/$list"

# Into place; then what an older version had and this one has not goes.
trap '' INT TERM HUP
mv -fT "$stage.both" "$target/$list"
while IFS= read -r file; do
  mv -fT "$stage/$file" "$target/$file" || fail "$target has files of two versions until this has run without a fault"
done < "$stage.new"
while IFS= read -r file; do rm -f "$target/$file" || true; done < "$stage.gone"
folders "$stage.gone" | sort -r | while IFS= read -r folder; do rmdir "$target/$folder" 2> /dev/null || true; done
mv -fT "$stage/$list" "$target/$list"
