"""Rules of this repository: many tests, or many benchmarks, that share a list of dependencies; tests that are scripts."""

load("//third_party/precompiled:precompiled.bzl", "with_precompiled")
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

# Sources that belong to targets of their own, by their names.
_OF_OTHER_TARGETS = ["**/*_test.cc", "**/*_testing.cc", "**/*_testing.h", "**/*_fuzz.cc", "**/*_main.cc", "**/*_benchmark.cc"]

def package_library(name, hdrs = [], exclude = [], deps = [], copts = [], **kwargs):
    """The library of a package: hdrs are its interface, and all other sources in the folder and in its rooms are srcs.

    Left out are tests, *_testing, *_fuzz.cc, *_main.cc and *_benchmark.cc. A folder with a BUILD file is another package.

    Args:
      name: of the library.
      hdrs: what other packages may include.
      exclude: sources that belong to other targets; * matches within a name, **/ any folders.
      deps: as of cc_library.
      copts: as of cc_library.
      **kwargs: as of cc_library.
    """
    more_deps, more_copts = with_precompiled("for_library", copts)
    cc_library(
        name = name,
        srcs = native.glob(["**/*.cc", "**/*.h"], exclude = hdrs + exclude + _OF_OTHER_TARGETS),
        hdrs = hdrs,
        copts = copts + more_copts,
        deps = deps + more_deps,
        **kwargs
    )

def cc_tests(deps, names = None, exclude = [], medium = [], large = [], data = [], **kwargs):
    """One test for each source, NAME.cc, with one list of dependencies for all.

    A test sees the private headers of its own package, which clang's layering_check does not allow; so that check is off
    for tests, and tools/dev/build_deps.py checks their dependencies instead.

    Args:
      deps: what any of the tests includes.
      names: sources without ".cc". The name of a test is the last part of its path. Without this list, all tests of the
        package that exclude, medium and large do not name.
      exclude: tests that other calls name, without ".cc", when names is not given.
      medium: those of the tests that take more than a few seconds.
      large: those that take minutes.
      data: files that any of them reads.
      **kwargs: as of cc_test.
    """
    if names == None:
        others = [name + ".cc" for name in exclude + medium + large]
        names = [source[:-len(".cc")] for source in native.glob(["**/*_test.cc"], exclude = others)]
    for name in names + medium + large:
        cc_test(
            name = name.split("/")[-1],
            size = "medium" if name in medium else "large" if name in large else "small",
            srcs = [name + ".cc"],
            data = data,
            features = ["-layering_check"],
            deps = deps + ["@googletest//:gtest_main"],
            **kwargs
        )

def cc_benchmarks(names, deps, data = [], **kwargs):
    """One Google Benchmark program for each source, NAME.cc, with one list of dependencies for all.

    Args:
      names: sources without ".cc". The name of a program is the last part of its path.
      deps: what any of the programs includes.
      data: files that any of them reads.
      **kwargs: as of cc_binary.
    """
    for name in names:
        cc_binary(
            name = name.split("/")[-1],
            testonly = True,
            srcs = [name + ".cc"],
            data = data,
            deps = deps + ["@benchmark//:benchmark_main"],
            **kwargs
        )

def cc_fuzz_target(name, corpus, deps, **kwargs):
    """A fuzz target NAME.cc: NAME_test replays its corpus, NAME looks for more with libFuzzer (CONTRIBUTING.md says how).

    Args:
      name: source without ".cc". The name of the target is the last part of its path.
      corpus: label of the files to replay, //testdata:FOLDER.
      deps: what the source includes.
      **kwargs: as of both rules.
    """
    cc_test(
        name = name.split("/")[-1] + "_test",
        size = "small",
        srcs = [name + ".cc"],
        args = ["testdata/" + corpus.split(":")[1]],
        data = [corpus],
        features = ["-layering_check"],
        deps = deps + ["//lib/testing:fuzz_replay_main"],
        **kwargs
    )
    cc_binary(
        name = name.split("/")[-1],
        testonly = True,
        srcs = [name + ".cc"],
        copts = ["-fsanitize=fuzzer,address"],
        features = ["-layering_check"],
        linkopts = ["-fsanitize=fuzzer,address"],
        tags = ["manual"],
        deps = deps,
        **kwargs
    )

def script_test(name, given = [], data = [], size = "small", script = None):
    """A shell test, by default of the script NAME.sh.

    Args:
      name: path of the script without ".sh". The name of the test is the last part of it.
      given: labels whose files the script gets as its arguments.
      data: what else it uses.
      size: as of sh_test.
      script: what runs, where several tests have one script.
    """
    native.sh_test(
        name = name.split("/")[-1],
        size = size,
        srcs = [script or name + ".sh"],
        args = ["$(locations %s)" % label for label in given],
        data = given + data,
    )

def tool_tests(small = {}, medium = {}, large = {}, long = [], data = [], folder = ""):
    """One shell test for each NAME.sh, which runs tools with the helpers of tools/common/tool_test.sh.

    Args:
      small: by NAME, the programs and files that a test of a few seconds uses. The name of a test is the last part of its
        path.
      medium: the same for tests that take longer.
      large: the same for tests that take minutes.
      data: what each of them uses.
      long: names of those that get a quarter of an hour, since they start tools many times.
      folder: where the scripts are, if not beside the BUILD file; "tests/" is.
    """
    for size, tests in [("small", small), ("medium", medium), ("large", large)]:
        for name, more in tests.items():
            native.sh_test(
                name = name.split("/")[-1],
                size = size,
                timeout = "long" if name in long else None,
                srcs = [folder + name + ".sh"],
                data = data + more + ["//tools/common:tool_test.sh"],
            )

def flags_doc_test(tool, readme = "all"):
    """Compares the flags in a tool's --help with those in README.md beside it.

    Args:
      tool: name of the program.
      readme: "all" if the README has every flag, "some" if it has those that matter.
    """
    native.sh_test(
        name = "flags_doc_test",
        size = "small",
        srcs = ["//tools/common:flags_doc_test.sh"],
        args = ["$(location :%s)" % tool, "$(location README.md)"] + (["some"] if readme == "some" else []),
        data = ["README.md", ":" + tool],
    )
