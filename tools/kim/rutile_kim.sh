#!/usr/bin/env bash
# rutile-kim --name=NAME [--output_dir=DIR] [--overwrite] [--driver] MODEL...: makes DIR/NAME, a portable model of the
# KIM API, from a potential that train wrote, or from several as a committee. With --driver, its sources, and
# DIR/rutile_driver, those of the model driver that it needs. README.md says how LAMMPS runs it.
set -euo pipefail

# Beside this file, or beside what the link in an installation's bin/ leads to.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -e "$here/libkim-api-portable-model.so" ] || here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
fail() {
  echo "rutile-kim: $*" >&2
  exit 1
}
# What the library needs comes along where it is not the system's: in an archive of tools/bundle.sh.
copy_libraries() {
  [ ! -d "$here/libraries" ] || cp -L "$here"/libraries/*.so.* "$1"
}
name= directory=. overwrite=no driver=no models=()
for argument in "$@"; do
  case $argument in
    --name=*) name=${argument#*=} ;;
    --output_dir=*) directory=${argument#*=} ;;
    --overwrite) overwrite=yes ;;
    --driver) driver=yes ;;
    --help)
      sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*) fail "unknown flag $argument; expected --name, --output_dir, --overwrite or --driver" ;;
    *) models+=("$argument") ;;
  esac
done
[[ $name =~ ^[A-Za-z][A-Za-z0-9_]*$ ]] ||
  fail "--name=$name: expected a name of letters, digits and underscores for the model, such as --name=TiO2_rutile"
[ ${#models[@]} -gt 0 ] || fail "needs a model of train, as run/best.safetensors, or several as a committee"
[ $driver = no ] || [ "$name" != rutile_driver ] ||
  fail "--name=rutile_driver is the name of the driver; choose another"
library=$here/libkim-api-portable-model.so
[ -e "$library" ] || fail "$library is missing; make it by bazel build //tools/kim:rutile-kim"
facts=$("$here/check_model" "${models[@]}") || exit 1
target=$directory/$name
[ ! -e "$target" ] || [ $overwrite = yes ] || fail "$target exists; choose another --name, or pass --overwrite"

mkdir -p "$directory"
directory=$(cd "$directory" && pwd) target=$directory/$name
new=$(mktemp -d "$directory/$name.tmp.XXXXXX")
trap 'rm -rf "$new"' EXIT
mkdir "$new/model"
number=0 files=
for model in "${models[@]}"; do
  number=$((number + 1))
  cp -L "$model" "$new/model/model-$number.safetensors"
  files+=" \"model-$number.safetensors\""
done
if [ $driver = yes ]; then
  cat > "$new/model/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.10)
list(APPEND CMAKE_PREFIX_PATH \$ENV{KIM_API_CMAKE_PREFIX_DIR})
find_package(KIM-API-ITEMS 2.2 REQUIRED CONFIG)
kim_api_items_setup_before_project(ITEM_TYPE "portableModel")
project($name)
kim_api_items_setup_after_project(ITEM_TYPE "portableModel")
add_kim_api_model_library(NAME "$name" DRIVER_NAME "rutile_driver" PARAMETER_FILES$files)
END
  # A driver that is there already serves all models; --overwrite renews it.
  if [ ! -e "$directory/rutile_driver" ] || [ $overwrite = yes ]; then
    cp -rL "$here/sources" "$new/driver"
    chmod -R u+w "$new/driver"
    awk -v dir="$directory/rutile_driver" '{ i = index($0, "@RUTILE_LIBRARY_DIR@") }
      i { $0 = substr($0, 1, i - 1) dir substr($0, i + 20) } { print }' \
      "$here/sources/CMakeLists.txt" > "$new/driver/CMakeLists.txt"
    copy_libraries "$new/driver"
    rm -rf "$directory/rutile_driver"
    mv "$new/driver" "$directory/rutile_driver"
  fi
else
  cp -L "$library" "$new/model/libkim-api-portable-model.so"
  copy_libraries "$new/model"
fi
chmod -R u+w "$new/model"
rm -rf "$target"
mv "$new/model" "$target"
read -ra words <<< "$facts"
species=${words[*]:0:${#words[@]}-1}
echo "wrote $target ($species, cutoff ${words[-1]} Å). To run it in LAMMPS:"
if [ $driver = yes ]; then
  echo "  kim-api-collections-management install user $directory/rutile_driver"
  echo "  kim-api-collections-management install user $target"
else
  echo "  export KIM_API_PORTABLE_MODELS_DIR=$directory"
fi
echo "  kim init $name metal            # in the input, before the box is made"
echo "  kim interactions $species       # one for each atom type, after that"
