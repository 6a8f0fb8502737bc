#!/bin/bash
# check_style.sh [DIRECTORY]: the rules of CONTRIBUTING.md that a grep can check, over the files that git tracks.
#
# Prints "file:line: rule" for each violation and exits 1 if there is any, 2 if it cannot check. Takes a few seconds.
# To let one line pass where a rule is wrong, make the rule right here, with the reason.

set -u -o pipefail
export LC_ALL=C
cd "${1:-$(dirname "$0")/..}" || exit 2
readonly SELF='.ci/check_style*.sh'  # these name what they forbid
readonly BRITISH=.ci/british_spelling.txt

git rev-parse --is-inside-work-tree > /dev/null || exit 2
command -v clang-format-14 > /dev/null || { echo 'check_style.sh: clang-format-14 is missing: apt-get install clang-format-14' >&2; exit 2; }

violations=$(mktemp) && trap 'rm -f "$violations" "$violations.deps" "$violations.includes"' EXIT

# Tracked files that match any of the patterns (git's, where * also matches /) and are still there.
files() {
  git ls-files -z -- "$@" ':!third_party' | while IFS= read -r -d '' file; do [ -f "$file" ] && printf '%s\0' "$file"; done
}

# forbid RULE REGEX PATTERN...: a violation for each line of those files that matches.
forbid() {
  local rule=$1 regex=$2
  shift 2
  files "$@" | xargs -0 -r grep -HnIE -e "$regex" -- /dev/null | awk -F: -v rule="$rule" '{ print $1 ":" $2 ": " rule }' >> "$violations"
}

# limit_lines N PATTERN...
limit_lines() {
  local limit=$1
  shift
  files "$@" | xargs -0 -r awk -v limit="$limit" 'FNR == limit + 1 { print FILENAME ":" FNR ": more than " limit " lines" }' >> "$violations"
}

# Rooms: x.h, x.cc and x_test.cc are one unit, and a folder has at most 20. A package of lib/ or tools/ has a README.md of
# at most 40 lines, a program's manual (with a SYNOPSIS) as many as it needs.
files '*.h' '*.cc' '*.cu' '*.sh' '*.py' | tr '\0' '\n' | awk '{
    folder = unit = $0
    sub(/\/[^\/]*$/, "", folder)
    sub(/\.[a-z]+$/, "", unit)
    sub(/(-inl|_test|_benchmark)$/, "", unit)
    if (!seen[unit]++ && ++units[folder] == 21) print folder ":1: more than 20 units: divide it into rooms, by role"
  }' >> "$violations"
files 'lib/*BUILD' 'tools/*BUILD' | while IFS= read -r -d '' file; do
  readme=${file%BUILD}README.md
  if [ ! -f "$readme" ]; then
    echo "$file:1: no README.md: what for, a picture of the units, where to start, an example"
  elif [ "$(wc -l < "$readme")" -gt 40 ] && ! grep -qx '## SYNOPSIS' "$readme"; then
    echo "$readme:41: more than 40 lines"
  fi
done >> "$violations"

INCLUDE='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]'

forbid 'headers include ATen/core/Tensor.h at most: the rest of LibTorch costs every includer 5 to 20 s' \
  "$INCLUDE(torch/|ATen/ATen\.h)" '*.h'
forbid 'glog is included by lib/base/logging.h alone' "${INCLUDE}glog/" '*.h' '*.cc' ':!lib/base/logging.h'
forbid 'flags belong to tools/ and benchmarks/: lib/ takes an options struct' \
  '(^|[^A-Za-z_])(FLAGS_[a-z]|(DEFINE|DECLARE)_(bool|string|double|int32|int64|uint32|uint64)\()' 'lib/*.h' 'lib/*.cc' ':!lib/*_main.cc'
forbid 'log through lib/base/logging.h' "${INCLUDE}absl/log/" '*.h' '*.cc'
forbid 'no std::regex: it is slow and overflows the stack on long input' "std::regex|${INCLUDE}regex>" '*.h' '*.cc'
forbid 'libraries do not write to standard output' 'std::cout' 'lib/*.h' 'lib/*.cc' ':!lib/*_main.cc' ':!lib/*_test.cc' \
  ':!lib/tensorfile/torch_compat.h'
forbid 'status_macros.h is for .cc files' "${INCLUDE}lib/base/status_macros\.h" '*.h'
forbid 'includes give the full path from the root' "^[[:space:]]*#[[:space:]]*include[[:space:]]*\"[^/\"]*\"" '*.h' '*.cc'
forbid 'finish it or open an issue' '(^|[^A-Za-z])(TODO|FIXME)([^A-Za-z]|$)' ':!'"$SELF" '*'
forbid 'a path of somebody'"'"'s machine' '(^|[^A-Za-z0-9_.~-])/(root|home|work)/' ':!'"$SELF" '*'
forbid 'more than 120 columns' '^.{121}' 'tools/*.sh'
limit_lines 500 '*.h' '*.cc' '*.py' '*.sh' '*.bzl' '.ci/run'
limit_lines 150 'tools/*_main.cc'

# American spelling, in code, comments, messages and documents. Inputs of tests, data and figures are as they are.
if [ -f "$BRITISH" ]; then
  # What any rule might match, then word by word: a $ of the list is the end of a word.
  any=$(awk '!/^(#|allow|$)/ { gsub(/[$]/, "", $1); printf "%s%s", separator, $1; separator = "|" }' "$BRITISH") ||
    exit 2
  files '*' ':!LICENSE' ':!tools/lammps/LICENSE' ':!*.svg' ':!testdata/*.json' ':!testdata/*.txt' ':!testdata/*.stp' ":!$BRITISH" ":!$SELF" |
    xargs -0 -r grep -HnoIiE "[a-z_]*($any)[a-z_]*" -- /dev/null |
    awk -F: -v list="$BRITISH" '
      BEGIN {
        while ((getline line < list) > 0) {
          fields = split(line, field, / +/)
          if (fields < 2 || line ~ /^#/) continue
          if (field[1] == "allow") { path[++allowed] = field[2]; word[allowed] = "^(" field[3] ")$" }
          else { british[++rules] = field[1]; american[rules] = field[2] }
        }
      }
      {
        for (i = 1; i <= allowed; ++i) if ($1 ~ path[i] && $3 ~ word[i]) next
        for (i = 1; i <= rules; ++i) {
          if (tolower($3) !~ british[i]) continue
          print $1 ":" $2 ": American spelling: " $3 " has \"" american[i] "\""
          next
        }
      }' >> "$violations"
fi

# Include guards follow from the path: lib/file/file.h has RUTILE_LIB_FILE_FILE_H_. Highway reads x-inl.h once for each
# instruction set, so those define and undefine theirs in turn.
files '*.h' | while IFS= read -r -d '' file; do
  guard=$(printf 'RUTILE_%s_' "$file" | tr 'a-z/.-' 'A-Z___')
  [[ "$file" == *-inl.h ]] && grep -qx "#if defined($guard) == defined(HWY_TARGET_TOGGLE)" "$file" && continue
  [ "$(grep -m1 '^#ifndef' "$file")" = "#ifndef $guard" ] && grep -qx "#define $guard" "$file" && continue
  echo "$file:$(grep -n -m1 '^#ifndef' "$file" | cut -d: -f1 | grep . || echo 1): the include guard should be $guard"
done >> "$violations"

# BUILD files load the rules that they use.
files BUILD '*/BUILD' | while IFS= read -r -d '' file; do
  grep -nE '^cc_(library|binary|test)\(' "$file" | sed 's/^\([0-9]*\):\([a-z_]*\)(.*/\1 \2/' | while read -r line rule; do
    grep -qE "^load\(\"@rules_cc//cc:defs\.bzl\",.*\"$rule\"" "$file" || echo "$file:$line: load $rule from @rules_cc//cc:defs.bzl"
  done
done >> "$violations"

# Dependencies of BUILD files say what the sources include.
if [ -f tools/dev/build_deps.py ] && ! python3 tools/dev/build_deps.py > "$violations.deps" 2>&1; then
  cat "$violations.deps" >> "$violations"
fi

# Sources include what they use of the headers that come precompiled.
if [ -f tools/dev/check_includes.py ] && ! python3 tools/dev/check_includes.py > "$violations.includes" 2>&1; then
  cat "$violations.includes" >> "$violations"
fi

# clang-format says "file:line:column: error: code should be clang-formatted".
files '*.h' '*.cc' | xargs -0 -r -n 16 -P "$(nproc)" clang-format-14 --dry-run -Werror 2>&1 |
  sed -n 's/^\([^ :]*:[0-9]*\):[0-9]*: error:.*/\1: clang-format-14 would change this/p' >> "$violations"

sort -t: -k1,1 -k2,2n "$violations" | uniq
[ ! -s "$violations" ]
