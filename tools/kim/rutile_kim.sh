#!/usr/bin/env bash
# rutile-kim --name=NAME [--output_dir=DIR] [--overwrite] MODEL...: makes DIR/NAME, a portable model of the KIM API,
# from a potential that train wrote, or from several as a committee. README.md says how LAMMPS runs it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() {
  echo "rutile-kim: $*" >&2
  exit 1
}
name= directory=. overwrite=no models=()
for argument in "$@"; do
  case $argument in
    --name=*) name=${argument#*=} ;;
    --output_dir=*) directory=${argument#*=} ;;
    --overwrite) overwrite=yes ;;
    --help)
      sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*) fail "unknown flag $argument; expected --name, --output_dir or --overwrite" ;;
    *) models+=("$argument") ;;
  esac
done
[[ $name =~ ^[A-Za-z][A-Za-z0-9_]*$ ]] ||
  fail "--name=$name: expected a name of letters, digits and underscores for the model, such as --name=TiO2_rutile"
[ ${#models[@]} -gt 0 ] || fail "needs a model of train, as run/best.safetensors, or several as a committee"
library=$here/libkim-api-portable-model.so
[ -e "$library" ] || fail "$library is missing; make it by bazel build //tools/kim:rutile-kim"
facts=$("$here/check_model" "${models[@]}") || exit 1
target=$directory/$name
[ ! -e "$target" ] || [ $overwrite = yes ] || fail "$target exists; choose another --name, or pass --overwrite"

mkdir -p "$directory"
new=$(mktemp -d "$directory/$name.tmp.XXXXXX")
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"
cp -L "$library" "$new/libkim-api-portable-model.so"
number=0
for model in "${models[@]}"; do
  number=$((number + 1))
  cp -L "$model" "$new/model-$number.safetensors"
done
chmod u+w "$new"/*
rm -rf "$target"
mv "$new" "$target"
read -ra words <<< "$facts"
species=${words[*]:0:${#words[@]}-1}
echo "wrote $target ($species, cutoff ${words[-1]} Å). To run it in LAMMPS:"
echo "  export KIM_API_PORTABLE_MODELS_DIR=$(cd "$directory" && pwd)"
echo "  kim init $name metal            # in the input, before the box is made"
echo "  kim interactions $species       # one for each atom type, after that"
