#!/bin/bash
# check_style_test.sh: a repository with one violation of each rule of check_style.sh, and one with none.

set -u
script=$(realpath "$(dirname "$0")")/check_style.sh
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
  echo "FAILED: $*"
  failed=1
}

make_repository() {
  rm -rf "$dir/r" && mkdir -p "$dir/r/lib/x" "$dir/r/tools/t" && cd "$dir/r" && git init -q .
  printf 'BasedOnStyle: Google\nColumnLimit: 120\n' > .clang-format
}

# expect FILE:LINE: TEXT: one of the script's lines begins with this.
expect() { grep -qF -- "$1" "$dir/out" || fail "no \"$1\" in:"$'\n'"$(cat "$dir/out")"; }

make_repository
printf '#ifndef RUTILE_LIB_X_GOOD_H_\n#define RUTILE_LIB_X_GOOD_H_\n#include "ATen/core/Tensor.h"\n#endif\n' > lib/x/good.h
printf '#if defined(RUTILE_LIB_X_K_INL_H_) == defined(HWY_TARGET_TOGGLE)\n#endif\n' > lib/x/k-inl.h
printf '#include "lib/x/good.h"\n' | tee lib/x/good.cc lib/x/good_test.cc > lib/x/x_main.cc
printf 'load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")\n\ncc_library(\n)\n\ncc_test(\n)\n' > lib/x/BUILD
printf 'DEFINE_int32(n, 1, "");\n' > tools/t/t_main.cc
yes '' | head -40 > lib/x/README.md
touch tools/t/BUILD
printf '# t\n\n## SYNOPSIS\n%040d' 0 | sed 's/0/\n/g' > tools/t/README.md
touch lib/x/unit_{01..17}.py lib/x/unit_{01..17}_test.sh
git add -A
"$script" . > "$dir/out" || fail "a clean repository: $(cat "$dir/out")"

make_repository
printf '#ifndef WRONG_H\n#define WRONG_H\n#include <torch/torch.h>\n#include "lib/base/status_macros.h"\n#include "bad.h"\n#endif\n' > lib/x/bad.h
cat > lib/x/bad.cc << 'END'
#include <glog/logging.h>
#include <regex>
#include "absl/log/log.h"
DEFINE_int32(n, 1, "");
int n = FLAGS_n;
void f() { std::cout << "/home/me/x"; }  // TODO: more
int  g;
END
printf 'cc_library(\n    name = "bad",\n)\n' > lib/x/BUILD
yes '' | head -501 > lib/x/long.py
yes '// line' | head -151 > tools/t/t_main.cc
printf '#!/bin/sh\n%0121d\n%0120d\n' 0 0 > tools/t/wide.sh
printf '/root/x is tracked but not there\n' > gone.md
mkdir tools/u
yes '' | head -41 > tools/u/README.md
touch tools/u/BUILD tools/u/unit_{01..21}.cc
git add -A && rm gone.md
"$script" . > "$dir/out" && fail "violations, but exit status 0"
expect 'lib/x/bad.h:1: the include guard should be RUTILE_LIB_X_BAD_H_'
expect 'lib/x/bad.h:3: headers include ATen/core/Tensor.h at most'
expect 'lib/x/bad.h:4: status_macros.h is for .cc files'
expect 'lib/x/bad.h:5: includes give the full path'
expect 'lib/x/bad.cc:1: glog is included by'
expect 'lib/x/bad.cc:2: no std::regex'
expect 'lib/x/bad.cc:3: log through'
expect 'lib/x/bad.cc:4: flags belong to'
expect 'lib/x/bad.cc:5: flags belong to'
expect 'lib/x/bad.cc:6: libraries do not write'
expect 'lib/x/bad.cc:6: a path of somebody'
expect 'lib/x/bad.cc:6: finish it'
expect 'lib/x/bad.cc:7: clang-format-14 would change'
expect 'lib/x/BUILD:1: load cc_library from'
expect 'lib/x/long.py:501: more than 500 lines'
expect 'tools/t/t_main.cc:151: more than 150 lines'
expect 'lib/x/BUILD:1: no README.md'
expect 'tools/u/README.md:41: more than 40 lines'
expect 'tools/u:1: more than 20 units'
expect 'tools/t/wide.sh:2: more than 120 columns'
grep -q 'wide.sh:3' "$dir/out" && fail '120 columns are refused'

# Spelling; the list is the repository's own.
make_repository
mkdir .ci
cp "$(dirname "$script")/british_spelling.txt" .ci
cat > words.md << 'END'
An optimistic minimum of centralized specialists, cancelled by kCancelled.
The neighbours of NumCentres(optimised_, normalisation) analyse it.
"normalisation", lightgrey, grey; symmetric, parameters, concentrate, programmed.
END
echo neighbour > LICENSE
git add -A
"$script" . > "$dir/out" && fail "British spelling, but exit status 0"
expect 'words.md:1: American spelling: cancelled has "cancel-"'
expect 'words.md:2: American spelling: neighbours has "neighbor"'
expect 'words.md:2: American spelling: NumCentres has "center"'
expect 'words.md:2: American spelling: optimised_ has "optimiz-"'
expect 'words.md:2: American spelling: normalisation has "normaliz-"'
expect 'words.md:2: American spelling: analyse has "analyze"'
expect 'words.md:3: American spelling: normalisation has "normaliz-"'
expect 'words.md:3: American spelling: grey has "gray"'
[ "$(wc -l < "$dir/out")" = 8 ] || fail "other words than these: $(cat "$dir/out")"
mkdir docs
rm words.md
echo '"normalisation" is a key' > docs/formats.md
printf 'int normalisation;\n' > influence_description.cc
git add -A
"$script" . > "$dir/out" || fail "a key of files: $(cat "$dir/out")"

[ $failed = 0 ] && echo "check_style_test: passed"
exit $failed
