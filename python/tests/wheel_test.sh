#!/usr/bin/env bash
# wheel_test.sh WHEEL: the wheel installs into a virtual environment, holds the libraries that Debian alone has, and shows
# no symbols but its own.
set -euo pipefail
wheel=$1
python=/usr/bin/python3
if ! $python -c 'import ensurepip, venv' 2> /dev/null; then
  echo "skipped: no venv (apt-get install python3-venv)"
  exit 0
fi
$python -m venv "$TEST_TMPDIR/venv"
"$TEST_TMPDIR/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
"$TEST_TMPDIR/venv/bin/python" - << 'END'
import rutile
result = rutile.Potential("testdata/md/tio2.safetensors").compute(["Ti", "O"], [[0, 0, 0], [1.9, 0, 0]])
assert len(result["forces"]) == 2 and result["energy"] < 0, result
END
package=$(echo "$TEST_TMPDIR"/venv/lib/python3*/site-packages/rutile)
# All that is not of any Linux is found beside the library.
strange=$(ldd "$package/librutile.so" | grep -vE "linux-vdso|ld-linux|lib(c|m|gcc_s|stdc\+\+|pthread)\.so" | grep -vF "$package/" || true)
[ -z "$strange" ] || { echo "not in the wheel: $strange"; exit 1; }
# Neither LibTorch nor OpenSSL.
heavy=$(ldd "$package/librutile.so" | grep -E '^[[:space:]]*lib(torch|c10|crypto|z)[^a-y]' || true)
[ -z "$heavy" ] || { echo "needed without reason: $heavy"; exit 1; }
symbols=$(nm -D --defined-only "$package/librutile.so" | awk '$2 ~ /[A-Z]/ { print $3 }' | grep -v '^rutile_' || true)
[ -z "$symbols" ] || { echo "symbols of others are visible: $symbols"; exit 1; }
[ -s "$package/libhwy.so.1" ] || { echo "Highway's library is not in the wheel"; exit 1; }
grep -qi copyright "$package"/../rutile-*.dist-info/licenses/libhwy1.txt || { echo "no license of Highway"; exit 1; }
