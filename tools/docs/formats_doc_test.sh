#!/usr/bin/env bash
# formats_doc_test.sh PRINT_FORMATS FORMATS_MD: the page is what the schemas say.
set -euo pipefail
"$1" | diff "$2" - || { echo "run: bazel run //tools/docs:print_formats > docs/formats.md"; exit 1; }
