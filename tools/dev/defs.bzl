"""Rules of this repository: many tests, or many benchmarks, that share a list of dependencies; tests of tools."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_test")

def cc_tests(names, deps, medium = [], large = [], data = [], **kwargs):
    """One test for each source, NAME.cc, with one list of dependencies for all.

    A test sees the private headers of its own package, which clang's layering_check does not allow; so that check is off
    for tests, and tools/dev/build_deps.py checks their dependencies instead.

    Args:
      names: sources without ".cc". The name of a test is the last part of its path.
      deps: what any of the tests includes.
      medium: those of the tests that take more than a few seconds.
      large: those that take minutes.
      data: files that any of them reads.
      **kwargs: as of cc_test.
    """
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
      names: sources without ".cc".
      deps: what any of the programs includes.
      data: files that any of them reads.
      **kwargs: as of cc_binary.
    """
    for name in names:
        cc_binary(
            name = name,
            testonly = True,
            srcs = [name + ".cc"],
            data = data,
            deps = deps + ["@benchmark//:benchmark_main"],
            **kwargs
        )

def cc_fuzz_target(name, corpus, deps, **kwargs):
    """A fuzz target NAME.cc: NAME_test replays its corpus, NAME looks for more with libFuzzer (CONTRIBUTING.md says how).

    Args:
      name: source without ".cc".
      corpus: label of the files to replay, //testdata:FOLDER.
      deps: what the source includes.
      **kwargs: as of both rules.
    """
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + ".cc"],
        args = ["testdata/" + corpus.split(":")[1]],
        data = [corpus],
        features = ["-layering_check"],
        deps = deps + ["//lib/testing:fuzz_replay_main"],
        **kwargs
    )
    cc_binary(
        name = name,
        testonly = True,
        srcs = [name + ".cc"],
        copts = ["-fsanitize=fuzzer,address"],
        features = ["-layering_check"],
        linkopts = ["-fsanitize=fuzzer,address"],
        tags = ["manual"],
        deps = deps,
        **kwargs
    )

def tool_tests(small = {}, medium = {}, large = {}, long = [], folder = ""):
    """One shell test for each NAME.sh, which runs tools with the helpers of tools/common/tool_test.sh.

    Args:
      small: by name, the programs and files that a test of a few seconds uses.
      medium: the same for tests that take longer.
      large: the same for tests that take minutes.
      long: names of those that get a quarter of an hour, since they start tools many times.
      folder: where the scripts are, if not beside the BUILD file; "tests/" is.
    """
    for size, tests in [("small", small), ("medium", medium), ("large", large)]:
        for name, data in tests.items():
            native.sh_test(
                name = name,
                size = size,
                timeout = "long" if name in long else None,
                srcs = [folder + name + ".sh"],
                data = data + ["//tools/common:tool_test.sh"],
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
