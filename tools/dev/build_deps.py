#!/usr/bin/env python3
"""build_deps.py [--fix] [--layers]: do the deps of BUILD files say what the sources include?

gcc builds accept an include that the target does not name, and clang's layering_check finds it half an hour later. This
check takes a second. It prints "BUILD:line: what is wrong" and exits 1 if

  a target includes a header of a library that is not in its deps, or has a library in its deps that it does not include;
  a library includes a private header (one in srcs) of another library, or a test one of another package;
  a source or header of a package is in no target;
  a program that must start fast (WITHOUT_LIBTORCH) reaches LibTorch through deps;
  libraries include each other in a circle, or a package one that it may not see (see SEAM below).

--fix     writes the deps instead of complaining about them.
--layers  prints the layers of packages that follow from deps: a package stands above all that it uses.

A dependency that is needed for linking alone gets the comment "# keep" behind it in the BUILD file.
"""

import collections
import os
import re
import subprocess
import sys

# Headers of other projects: prefix of the include, label. The first that fits counts.
EXTERNAL = [
    ("absl/base/", "@absl//:base"), ("absl/cleanup/", "@absl//:cleanup"), ("absl/container/flat_", "@absl//:flat_hash_map"),
    ("absl/container/inlined_vector", "@absl//:inlined_vector"), ("absl/hash/", "@absl//:flat_hash_map"),
    ("absl/status/statusor", "@absl//:statusor"), ("absl/status/", "@absl//:status"),
    ("absl/strings/str_format", "@absl//:str_format"), ("absl/strings/", "@absl//:strings"),
    ("absl/synchronization/", "@absl//:synchronization"), ("absl/time/", "@absl//:time"), ("absl/types/span", "@absl//:span"),
    ("gflags/", "@gflags"), ("glog/", "@glog"), ("gmock/", "@googletest//:gmock"), ("gtest/", "@googletest//:gmock"),
    ("benchmark/", "@benchmark//:benchmark_main"), ("hwy/", "@highway//:hwy"), ("nlohmann/", "@nlohmann_json//:json"),
    ("c10/util/Logging", None),  # lib/base/logging.h includes it only for targets that have LibTorch anyway
    ("openssl/", "@openssl//:crypto"), ("zlib.h", "@zlib"), ("gloo/", "@libtorch//:gloo"),
    ("torch/csrc/distributed/c10d/ProcessGroupGloo", "@libtorch//:gloo"),
    ("torch/csrc/distributed/c10d/ProcessGroupNCCL", "@libtorch//:nccl"), ("torch/csrc/cuda/nccl", "@libtorch//:nccl"),
    ("torch/", "@libtorch"), ("ATen/", "@libtorch"), ("c10/", "@libtorch"),
]  # yapf: disable
# Labels that the macros add by themselves.
IMPLIED = {"cc_tests": {"@googletest//:gtest_main", "@googletest//:gmock"}, "cc_benchmarks": {"@benchmark//:benchmark_main"},
           "cc_fuzz_target": set()}
# The domains and the trainer meet in tools/ alone: none of these includes another.
SEAM = ["lib/potential", "lib/kge", "lib/train", "lib/influence"]
WITHOUT_LIBTORCH = ["cache-neighbors", "evaluate", "featurize", "profile", "tracin"]
SEES_PRIVATE = ["cc_test", "cc_tests", "cc_fuzz_target"]  # their rules switch layering_check off
RULES = ["cc_library", "cc_binary", "cc_test", "cc_tests", "cc_benchmarks", "cc_fuzz_target"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


class Target:
    """A cc_* rule of a BUILD file, or a call of one of our macros."""

    def __init__(self, package, rule, args):
        self.package, self.rule, self.args = package, rule, args
        names = args.get("names", []) + args.get("medium", []) + args.get("large", [])
        self.name = args.get("name") or "%s(%s …)" % (rule, names[0])
        if rule == "cc_fuzz_target":
            names = [self.name]
        self.label = "//%s:%s" % (package, args["name"]) if "name" in args else None
        paths = lambda key: [os.path.normpath(os.path.join(package, f)) for f in args.get(key, []) if not f.startswith((":", "//"))]
        self.public = set(paths("hdrs") + paths("textual_hdrs"))
        self.files = sorted(self.public | set(paths("srcs")) | {os.path.join(package, n + ".cc") for n in names})
        self.is_test = rule != "cc_library"
        self.deps = {normal(d, package) for d in args.get("deps", []) if isinstance(d, str)}


def normal(label, package):
    """A label in its long form: //lib/base:base for //lib/base, @gflags for itself."""
    if label.startswith(":"):
        return "//%s%s" % (package, label)
    if label.startswith("//") and ":" not in label:
        return "%s:%s" % (label, label.rsplit("/", 1)[1])
    return label


def short(label, package):
    """A label as a BUILD file of that package writes it."""
    if label.startswith("//%s:" % package):
        return label[len(package) + 2:]
    path, _, name = label.partition(":")
    return path if name and path.rsplit("/", 1)[-1] == name and not label.startswith("@") else label


def glob(package):
    def expand(patterns, exclude=(), **_):
        import fnmatch
        found = []
        for directory, dirs, names in os.walk(package):
            dirs[:] = [d for d in dirs if not os.path.exists(os.path.join(directory, d, "BUILD"))]
            for name in names:
                path = os.path.relpath(os.path.join(directory, name), package)
                depth = lambda p: p.count("/")
                fits = lambda p: fnmatch.fnmatch(path, p) and ("**" in p or depth(path) == depth(p))
                if any(map(fits, patterns)) and not any(map(fits, exclude)):
                    found.append(path)
        return sorted(found)
    return expand


def read_targets(package):
    """The targets of a BUILD file, which is Python but for what it loads."""
    targets = []

    class Scope(dict):
        def __missing__(self, rule):
            def call(*_, **args):
                if rule in RULES:
                    targets.append(Target(package, rule, args))
            return call

    scope = Scope(load=lambda *_, **__: None, glob=glob(package), select=lambda _: [])
    path = os.path.join(package, "BUILD")
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), scope)  # pylint: disable=exec-used
    return targets


def deps_lines(label_list, keep, package):
    rank = lambda l: (0 if l.startswith(":") else 1 if l.startswith("//") else 2, l)
    lines = ['        "%s",%s' % (l, "  # keep" if l in keep else "") for l in sorted(label_list, key=rank)]
    return "    deps = [\n%s\n    ],\n" % "\n".join(lines)


def find_block(text, target):
    """Where the call of a target stands in a BUILD file."""
    first = (target.args.get("names") or target.args.get("medium") or target.args.get("large") or [target.name])[0]
    for match in re.finditer(r"^%s\(\n(?:.*\n)*?\)\n" % target.rule, text, re.M):
        if '"%s"' % first in match.group(0) and (target.label is None or 'name = "%s"' % first in match.group(0)):
            return match
    return None


def write_deps(target, needed):
    path = os.path.join(target.package, "BUILD")
    text = open(path, encoding="utf-8").read()
    match = find_block(text, target)
    block = match.group(0)
    keep = set(re.findall(r'"([^"]+)",\s*# keep', block))
    written = deps_lines({short(l, target.package) for l in needed} | keep, keep, target.package)
    old = re.compile(r"^    deps = \[[^\]]*\],\n", re.M)
    if old.search(block):
        block = old.sub(lambda _: written if needed or keep else "", block, count=1)
    elif needed:
        block = block[:-2] + written + ")\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:match.start()] + block + text[match.end():])


def layers(targets, needed):
    """Layers of packages, the lowest first; tests do not count."""
    uses = collections.defaultdict(set)
    for target in targets:
        if not target.is_test and not target.args.get("testonly"):
            uses[target.package] |= {d[2:].split(":")[0] for d in needed[target] if d.startswith("//")} - {target.package}
    level = {}

    def height(package, path=()):
        if package in path:
            raise SystemExit("packages in a circle: %s" % " -> ".join(path[path.index(package):] + (package,)))
        if package not in level:
            level[package] = max([height(p, path + (package,)) + 1 for p in uses.get(package, ())] or [0])
        return level[package]

    for package in list(uses):
        height(package)
    rows = collections.defaultdict(list)
    for package, number in level.items():
        rows[number].append(package)
    return [sorted(rows[n]) for n in sorted(rows)]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    fix = "--fix" in sys.argv[1:]
    tracked = [f for f in subprocess.check_output(["git", "ls-files", "lib", "tools", "benchmarks", "third_party"], text=True).split("\n")
               if f and os.path.exists(f)]
    packages = sorted(os.path.dirname(f) for f in tracked if os.path.basename(f) == "BUILD" and not f.startswith("third_party/"))
    targets = [t for p in packages for t in read_targets(p)]
    problems = []
    owners = collections.defaultdict(list)
    for target in targets:
        for file in target.files:
            owners[file].append(target)

    def complain(target, message):
        path = os.path.join(target.package, "BUILD")
        text = open(path, encoding="utf-8").read()
        match = find_block(text, target)
        line = text.count("\n", 0, match.start()) + 1 if match else 1
        problems.append("%s:%d: %s: %s" % (path, line, target.name, message))

    for file in tracked:
        if file.endswith((".h", ".cc")) and not file.startswith("third_party") and not owners[file]:
            problems.append("%s:1: is in no target of its package's BUILD file" % file)
    needed = {}
    for target in targets:
        needed[target] = set()
        for file in target.files:
            if not os.path.exists(file) or not file.endswith((".h", ".cc")):
                continue
            for include in INCLUDE.findall(open(file, encoding="utf-8").read()):
                if include in target.files:
                    continue
                homes = [o for o in owners.get(include, []) if o.rule == "cc_library"]
                if homes:
                    home = next((h for h in reversed(homes) if h.label in target.deps), homes[0])  # a header may be in two libraries
                    needed[target].add(home.label)
                    private = include not in home.public
                    if private and not (target.rule in SEES_PRIVATE and home.package == target.package):
                        complain(target, "%s includes %s, which is private to %s" % (file, include, home.label))
                    for a in SEAM:
                        if target.package.startswith(a) and any(home.package.startswith(b) for b in SEAM if b != a):
                            complain(target, "%s includes %s: the domains and the trainer meet in tools/ alone" % (file, include))
                    continue
                external = [label for prefix, label in EXTERNAL if include.startswith(prefix)]
                if external:
                    needed[target].update(external[:1] if external[0] else [])
                elif include.startswith(("lib/", "tools/", "benchmarks/")) and "precompiled.h" not in include:
                    complain(target, "%s includes %s, which no library has" % (file, include))
        needed[target] -= IMPLIED.get(target.rule, set())
        if target.rule == "cc_test" and "@googletest//:gtest_main" in target.deps:
            needed[target] = needed[target] - {"@googletest//:gmock"} | {"@googletest//:gtest_main"}
        text = open(os.path.join(target.package, "BUILD"), encoding="utf-8").read()
        match = find_block(text, target)
        keep = {normal(l, target.package) for l in re.findall(r'"([^"]+)",\s*# keep', match.group(0))} if match else set()
        if needed[target] | keep == target.deps:
            continue
        if fix:
            write_deps(target, needed[target] - keep)
            continue
        for label in sorted(needed[target] - target.deps):
            complain(target, "deps lack %s" % short(label, target.package))
        for label in sorted(target.deps - needed[target] - keep):
            complain(target, "deps name %s, of which nothing is included" % short(label, target.package))
    by_label = {t.label: t for t in targets if t.label}
    for tool in WITHOUT_LIBTORCH:
        seen, paths = set(), [("//tools/%s:%s" % (tool, tool),)]
        while paths:
            path = paths.pop()
            target = by_label.get(path[-1])
            if target is None or path[-1] in seen:
                continue
            seen.add(path[-1])
            for label in sorted(needed[target] | target.deps):
                if label.startswith("@libtorch"):
                    complain(by_label[path[0]], "links LibTorch: %s" % " -> ".join(path + (label,)))
                paths.append(path + (label,))
    rows = layers(targets, needed)
    if "--layers" in sys.argv[1:]:
        for number, row in enumerate(rows):
            print("%d  %s" % (number, "  ".join(row)))
    for problem in problems:
        print(problem)
    if problems and not fix:
        print("mend deps with tools/dev/build_deps.py --fix; the rest by hand")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
