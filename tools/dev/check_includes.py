#!/usr/bin/env python3
"""check_includes.py: does a source include what it uses of the headers that come precompiled?

gcc reads those of third_party/precompiled/for_library.cc before every source of a library, so that it accepts a source
that lacks one of them; clang does not. Prints "FILE:line: what is missing" and exits 1 if neither a source nor one of our
headers that it includes has the header of a name that it uses.
"""

import os
import re
import subprocess
import sys

PRECOMPILED = "third_party/precompiled/for_library.cc"
# Names by header: those that others of the list do not declare as well.
NAMES = {
    "absl/status/status.h": r"absl::(?:Status\b|OkStatus|\w+Error\()",
    "absl/status/statusor.h": r"absl::StatusOr\b",
    "absl/strings/str_cat.h": r"absl::Str(?:Cat|Append)\(",
    "absl/strings/str_format.h": r"absl::Str(?:Append)?Format\(",
    "absl/strings/str_join.h": r"absl::StrJoin\(",
    "absl/types/span.h": r"absl::(?:Span<|Make(?:Const)?Span\()",
    "algorithm": r"std::(?:(?:stable_|partial_|is_)?sort|(?:min|max)(?:_element)?|nth_element|find(?:_if)?|(?:any|all|none)_of|"
                 r"copy(?:_n|_if)?|fill(?:_n)?|count(?:_if)?|(?:lower|upper)_bound|equal(?:_range)?|unique|remove_if|reverse|"
                 r"transform|clamp|rotate|replace|binary_search|set_\w+|mismatch|for_each|generate|adjacent_find|search)\(",
    "array": r"std::array<",
    "cmath": r"std::(?:sqrt|exp|log|log2|log10|log1p|expm1|pow|fabs|is(?:finite|nan|inf)|floor|ceil|l?l?round|trunc|a?tanh?|"
             r"a?sinh?|a?cosh?|atan2|hypot|fma|cbrt|ldexp|frexp|fmod|erf|copysign|remainder|nearbyint)\(",
    "cstddef": r"std::(?:byte|max_align_t)\b",
    "cstdint": r"\bu?int(?:8|16|32|64|ptr)_t\b",
    "functional": r"std::(?:(?:function|greater|less|plus|hash|reference_wrapper)<|c?ref\()",
    "limits": r"std::numeric_limits\b",
    "map": r"std::(?:multi)?map<",
    "memory": r"std::(?:make_)?(?:unique|shared)(?:_ptr)?<|std::weak_ptr|std::align\(",
    "optional": r"std::(?:optional<|nullopt|make_optional)",
    "string": r"std::(?:string\b|to_string\()",
    "utility": r"std::(?:(?:move|forward|swap|exchange|make_pair)\(|pair<|index_sequence)",
    "vector": r"std::vector<",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
WITHOUT_PRECOMPILED = re.compile(r"_(test|testing|fuzz|main|benchmark)\.")  # as package_library leaves them out


def read(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"//[^\n]*", "", file.read())


def included(path, includes):
    """All headers that a file includes, itself or by headers of this repository."""
    found, rest = set(), [path]
    while rest:
        for header in includes.get(rest.pop(), []):
            if header not in found:
                found.add(header)
                rest.append(header)
    return found


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    tracked = subprocess.check_output(["git", "ls-files", "lib", "tools", ":!tools/lammps"], text=True).split("\n")
    texts = {f: read(f) for f in tracked if f.endswith((".cc", ".h")) and os.path.exists(f)}
    includes = {f: INCLUDE.findall(text) for f, text in texts.items()}
    problems = ["tools/dev/check_includes.py:1: NAMES lacks %s" % h for h in INCLUDE.findall(read(PRECOMPILED)) if h not in NAMES]
    for file, text in texts.items():
        if WITHOUT_PRECOMPILED.search(file):
            continue
        headers = included(file, includes)
        for header, names in NAMES.items():
            match = re.search(names, text)
            if match and header not in headers:
                line = text.count("\n", 0, match.start()) + 1
                problems.append("%s:%d: %s needs #include of %s" % (file, line, match.group(0).rstrip("(<"), header))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
