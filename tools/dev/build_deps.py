#!/usr/bin/env python3
"""build_deps.py [--fix] [--layers]: do the deps of BUILD files say what the sources include?

gcc builds accept an include that the target does not name, and clang's layering_check finds it half an hour later. This
check takes a second. It prints "BUILD:line: what is wrong" and exits 1 if

  a target includes a header of a library that is not in its deps, or has a library in its deps that it does not include
  (tests leave out what the rest of their deps bring, but for libraries of their own package);
  a library includes a private header (one in srcs) of another library, or a test one of another package;
  a source or header of a package is in no target, or a source in two libraries;
  no test includes a header of a library of lib/ with sources;
  a program that must start fast (WITHOUT_LIBTORCH) reaches LibTorch through deps;
  nvcc reads a header that its cuda_library does not name, so that a change of the header would not compile it again;
  a list of a BUILD file has a line for each name though all fit one line;
  packages include each other in a circle, or one that they may not see (SEAM);
  the table of layers in docs/architecture.md lacks a package of lib/, or says another layer.

--fix     writes the deps and the lists instead of complaining about them.
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
    ("absl/", "@absl"),
    ("gflags/", "@gflags"), ("glog/", "@glog"), ("gmock/", "@googletest//:gmock"), ("gtest/", "@googletest//:gmock"),
    ("benchmark/", "@benchmark//:benchmark_main"), ("hwy/", "@highway//:hwy"), ("nlohmann/", "@nlohmann_json//:json"),
    ("c10/util/Logging", None),  # lib/base/logging.h includes it only for targets that have LibTorch anyway
    ("KIM_", "@kim"), ("openssl/", "@openssl//:crypto"), ("zlib.h", "@zlib"), ("gloo/", "@libtorch//:gloo"),
    ("torch/csrc/distributed/c10d/ProcessGroupGloo", "@libtorch//:gloo"),
    ("torch/csrc/distributed/c10d/ProcessGroupNCCL", "@libtorch//:nccl"), ("torch/csrc/cuda/nccl", "@libtorch//:nccl"),
    ("torch/", "@libtorch"), ("ATen/", "@libtorch"), ("c10/", "@libtorch"),
]  # yapf: disable
# Labels that the macros add by themselves.
IMPLIED = {"cc_tests": {"@googletest//:gtest_main", "@googletest//:gmock"}, "cc_benchmarks": {"@benchmark//:benchmark_main"}}
# The domains and the trainer meet in tools/ alone: none of these includes another.
SEAM = ["lib/potential", "lib/kge", "lib/train", "lib/influence"]
WITHOUT_LIBTORCH = ["cache-neighbors", "evaluate", "featurize", "profile", "tracin"]
TESTS = ["cc_tests", "cc_fuzz_target"]  # see private headers of their package
LIBRARIES = ["cc_library", "package_library", "cuda_library"]
RULES = TESTS + LIBRARIES + ["cc_binary", "cc_benchmarks"]
# What package_library leaves out by name (defs.bzl).
OF_OTHER_TARGETS = ["**/*_test.cc", "**/*_testing.cc", "**/*_testing.h", "**/*_fuzz.cc", "**/*_main.cc", "**/*_benchmark.cc"]
WIDTH = 120
# A list of texts alone, with one in a line: "    deps = [" and so on.
TALL_LIST = re.compile(r'^( +\w+ = \[)\n((?: +"[^"\n]*",\n)+) +(\],\n)', re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


class Target:
    """A cc_* rule of a BUILD file, or a call of one of our macros."""

    def __init__(self, package, rule, args, line, block, inside):
        """inside: names of the files of the package, also those in folders without a BUILD file."""
        self.package, self.rule, self.line, self.block = package, rule, line, block
        listed = args.get("medium", []) + args.get("large", [])
        if rule == "cc_tests" and "names" not in args:
            others = {n + ".cc" for n in args.get("exclude", []) + listed}
            args["names"] = [f[:-len(".cc")] for f in inside if f.endswith("_test.cc") and f not in others]
        if rule == "package_library":
            left_out = args.get("hdrs", []) + args.get("exclude", []) + OF_OTHER_TARGETS
            args["srcs"] = [f for f in inside if f.endswith((".h", ".cc")) and not any(matches(f, p) for p in left_out)]
        sources = [args["name"]] if rule == "cc_fuzz_target" else args.get("names", []) + listed
        self.name = args.get("name") or "%s(%s ...)" % (rule, sources[0])
        self.label = "//%s:%s" % (package, self.name)
        self.is_library = rule in LIBRARIES
        # lib/testing has default_testonly.
        self.is_for_tests = rule in TESTS or bool(args.get("testonly")) or package == "lib/testing"
        paths = lambda key: {os.path.join(package, f) for f in args.get(key, []) if not f.startswith((":", "//"))}
        self.public = paths("hdrs") | paths("textual_hdrs")
        self.files = sorted(self.public | paths("srcs") | paths("without") | {os.path.join(package, n + ".cc") for n in sources})
        self.deps = {normal(d, package) for d in args.get("deps", [])}
        self.keep = {normal(d, package) for d in re.findall(r'"([^"]+)",\s*# keep', block)}
        self.needed = set()  # found by find_needed
        self.cuda_srcs, self.cuda_headers = sorted(paths("cuda_srcs")), args.get("cuda_headers", [])
        self.problems = []

    def complain(self, message):
        self.problems.append("%s/BUILD:%d: %s: %s" % (self.package, self.line, self.name, message))


def matches(name, pattern):
    """Whether Bazel's glob of the pattern has this file."""
    regex = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.fullmatch(regex, name) is not None


def globbed(inside, patterns):
    return [f for f in inside if any(matches(f, p) for p in patterns)]


def files_of(labels, package, packages):
    """The files that these labels of a BUILD file stand for, those of filegroups among them."""
    files = set()
    for label in labels:
        home, _, name = (label[2:] if label.startswith("//") else "%s:%s" % (package, label.lstrip(":"))).partition(":")
        groups = {}
        for match in re.finditer(r"^filegroup\(\n(?:.*\n)*?\)\n", read(os.path.join(home, "BUILD")), re.M):
            args = eval(match.group(0), {"filegroup": dict, "glob": lambda p, **_: globbed(packages[home], p)})  # pylint: disable=eval-used,cell-var-from-loop
            groups[args["name"]] = args["srcs"]
        files |= files_of(groups[name], home, packages) if name in groups else {os.path.join(home, name)}
    return files


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


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_targets(package, inside):
    """The targets of a BUILD file. Each call of a rule is Python by itself."""
    text = read(os.path.join(package, "BUILD"))
    targets = []
    for match in re.finditer(r"^(%s)\(\n(?:.*\n)*?\)\n" % "|".join(RULES), text, re.M):
        args = eval(match.group(0), {match.group(1): dict, "select": lambda _: [], "glob": lambda p: globbed(inside, p)})  # pylint: disable=eval-used
        targets.append(Target(package, match.group(1), args, text.count("\n", 0, match.start()) + 1, match.group(0), inside))
    return targets


def find_needed(target, owners):
    """Sets target.needed from the includes of its files."""
    for file in target.files:
        for include in INCLUDE.findall(read(file)) if file.endswith((".h", ".cc")) and os.path.exists(file) else []:
            if include in target.files:
                continue
            homes = [o for o in owners[include] if o.is_library]
            if homes:
                # A header may be in two libraries.
                home = next((h for h in reversed(homes) if h.label in target.deps), homes[0])
                target.needed.add(home.label)
                check_may_see(target, file, include, home)
                continue
            external = next((e for e in EXTERNAL if include.startswith(e[0])), None)
            if external and external[1]:
                target.needed.add(external[1])
            elif not external and include.startswith(("lib/", "tools/", "benchmarks/")):
                target.complain("%s includes %s, which no library has" % (file, include))
    target.needed -= IMPLIED.get(target.rule, set())


def check_may_see(target, file, include, home):
    if include not in home.public and not (target.rule in TESTS and home.package == target.package):
        target.complain("%s includes %s, which is private to %s" % (file, include, home.label))
    side = lambda package: next((s for s in SEAM if package == s or package.startswith(s + "/")), None)
    if side(target.package) and side(home.package) and side(target.package) != side(home.package):
        target.complain("%s includes %s: the domains and the trainer meet in tools/ alone" % (file, include))


def brought(labels, by_label):
    """Labels of all that these use, directly or not."""
    seen, rest = set(), [d for label in labels if label in by_label for d in by_label[label].deps]
    while rest:
        label = rest.pop()
        if label not in seen:
            seen.add(label)
            rest += by_label[label].deps if label in by_label else []
    return seen


def wanted_deps(target, by_label):
    """What deps should name: what is included. layering_check is off in tests, so that theirs leave out what the rest
    brings, but for libraries of their own package, which they test."""
    if target.rule not in TESTS:
        return target.needed
    own = {label for label in target.needed if label.startswith("//%s:" % target.package)}
    return own | target.needed - brought(target.needed, by_label)


def check_deps(target, wanted):
    for label in sorted(wanted - target.deps):
        target.complain("deps lack %s" % short(label, target.package))
    for label in sorted(target.deps - wanted - target.keep):
        why = "which others of deps bring" if label in target.needed else "of which nothing is included"
        target.complain("deps name %s, %s" % (short(label, target.package), why))


def write_deps(target, wanted):
    """Writes what is wanted, and what is marked to be kept, into the BUILD file."""
    rank = lambda label: (0 if label.startswith(":") else 1 if label.startswith("//") else 2, label)
    keep = {short(label, target.package) for label in target.keep}
    labels = sorted({short(label, target.package) for label in wanted} | keep, key=rank)
    lines = "".join('        "%s",%s\n' % (label, "  # keep" if label in keep else "") for label in labels)
    written = "    deps = [\n%s    ],\n" % lines if labels else ""
    block, found = re.subn(r"^    deps = \[[^\]]*\],\n", lambda _: written, target.block, count=1, flags=re.M)
    if not found:
        block = block[:-2] + written + ")\n"
    path = os.path.join(target.package, "BUILD")
    text = read(path).replace(target.block, block)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def in_one_line(match):
    """A list of a BUILD file as it is to be: in one line where it fits, else as it is."""
    items = ", ".join(line.strip().rstrip(",") for line in match.group(2).splitlines())
    line = match.group(1) + items + match.group(3)
    return line if len(line) <= WIDTH + 1 else match.group(0)


def fold_lists(package, fix):
    """Writes short lists in one line, or returns what is wrong with them."""
    path = os.path.join(package, "BUILD")
    text = read(path)
    folded = TALL_LIST.sub(in_one_line, text)
    if fix and folded != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(folded)
    if fix:
        return []
    tall = [match for match in TALL_LIST.finditer(text) if in_one_line(match) != match.group(0)]
    return ["%s:%d: the list fits one line (--fix)" % (path, text.count("\n", 0, match.start()) + 1) for match in tall]


def check_cuda_headers(target, packages):
    named = files_of(target.cuda_headers, target.package, packages)
    seen, rest = set(), list(target.cuda_srcs)
    while rest:
        for header in INCLUDE.findall(read(rest.pop())):
            if header.startswith("lib/") and header not in seen:
                seen.add(header)
                rest.append(header)
    for header in sorted(seen - named):
        target.complain("cuda_headers lack %s" % header)


def check_tested(targets):
    named = set().union(*(t.needed | t.keep for t in targets if t.rule in TESTS))
    for target in targets:
        sources = any(f.endswith(".cc") for f in target.files)
        if target.is_library and target.package.startswith("lib/") and sources and not target.is_for_tests and target.label not in named:
            target.complain("no test includes a header of this library")


def check_without_libtorch(targets):
    by_label = {t.label: t for t in targets}
    for tool in WITHOUT_LIBTORCH:
        program = by_label["//tools/%s:%s" % (tool, tool)]
        seen, paths = set(), [(program.label,)]
        while paths:
            path = paths.pop()
            if path[-1].startswith("@libtorch"):
                program.complain("links LibTorch: %s" % " -> ".join(path))
                break
            if path[-1] not in seen and path[-1] in by_label:
                paths += [path + (label,) for label in sorted(by_label[path[-1]].needed | by_label[path[-1]].keep)]
            seen.add(path[-1])


def layers(targets):
    """Layers of packages, the lowest first, from libraries that are not for tests alone; and a circle, if there is one."""
    uses = collections.defaultdict(set)
    for target in targets:
        if target.is_library and not target.is_for_tests:
            uses[target.package] |= {d[2:].split(":")[0] for d in target.needed if d.startswith("//")} - {target.package}
    rows, placed = [], set()
    while len(placed) < len(uses):
        row = sorted(p for p in uses if p not in placed and uses[p] & set(uses) <= placed)
        if not row:  # whoever is left uses another that is left: following them ends in a circle
            path = [min(set(uses) - placed)]
            while path[-1] not in path[:-1]:
                path.append(min(uses[path[-1]] & set(uses) - placed))
            return rows, path[path.index(path[-1]):]
        rows.append(row)
        placed |= set(row)
    return rows, []


def check_table(rows):
    """What is wrong with the rows "| 5-7 | lib/a, lib/b/{c, d} | ... |" of docs/architecture.md."""
    path = "docs/architecture.md"
    layer = {package: number for number, row in enumerate(rows) for package in row if package.startswith("lib/")}
    problems, listed = [], set()
    for line, text in enumerate(read(path).split("\n"), 1):
        match = re.match(r"\| (\d+)(?:-(\d+))? \| (lib/[^|]*) \|", text)
        names = re.findall(r"(lib/[\w/]*)(?:\{([^}]*)\})?", match.group(3)) if match else []
        for package in [stem + end for stem, ends in names for end in ends.split(", ")]:
            listed.add(package)
            if package not in layer:
                problems.append("%s:%d: no package %s" % (path, line, package))
            elif not int(match.group(1)) <= layer[package] <= int(match.group(2) or match.group(1)):
                problems.append("%s:%d: %s is in layer %d (--layers)" % (path, line, package, layer[package]))
    return problems + ["%s:1: the table of layers lacks %s" % (path, package) for package in sorted(set(layer) - listed)]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    # The plugin of LAMMPS is built by CMake, with headers that are not here.
    tracked = subprocess.check_output(["git", "ls-files", "lib", "tools", "benchmarks", ":!tools/lammps"], text=True).split("\n")
    tracked = [f for f in tracked if f and os.path.exists(f)]
    packages = {os.path.dirname(f): [] for f in tracked if os.path.basename(f) == "BUILD"}
    for file in tracked:
        package = os.path.dirname(file)
        while package and package not in packages:
            package = os.path.dirname(package)
        if package:
            packages[package].append(os.path.relpath(file, package))
    targets = [t for package, inside in packages.items() for t in read_targets(package, inside)]
    owners = collections.defaultdict(list)
    for target in targets:
        for file in target.files:
            owners[file].append(target)
    for target in targets:
        find_needed(target, owners)
    fix = "--fix" in sys.argv[1:]
    # What a test may leave out depends on the deps of libraries, which are therefore mended first.
    by_label = {target.label: target for target in targets}
    for target in sorted(targets, key=lambda t: t.rule in TESTS):
        wanted = wanted_deps(target, by_label)
        if fix and wanted | target.keep != target.deps:
            write_deps(target, wanted)
            target.deps = wanted | target.keep
        else:
            check_deps(target, wanted)
    for target in targets:
        check_cuda_headers(target, packages)
    check_tested(targets)
    check_without_libtorch(targets)
    rows, circle = layers(targets)
    problems = ["%s:1: is in no target of its package's BUILD file" % f for f in tracked if f.endswith((".h", ".cc")) and not owners[f]]
    for package in packages:
        problems += fold_lists(package, fix)
    for file in tracked:
        homes = [o.label for o in owners[file] if o.is_library]
        if len(homes) > 1 and file.endswith(".cc"):
            problems.append("%s:1: is in %s: one of them must exclude it" % (file, " and ".join(homes)))
    if circle:
        problems.append("%s/BUILD:1: packages include each other: %s" % (circle[0], " -> ".join(circle)))
    if not circle:
        problems += check_table(rows)
    for target in targets:
        problems += target.problems
    if "--layers" in sys.argv[1:]:
        for number, row in enumerate(rows):
            print("%d  %s" % (number, "  ".join(row)))
    for problem in problems:
        print(problem)
    if problems:
        print("mend deps with tools/dev/build_deps.py --fix; the rest by hand")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
