"""Rules of this repository: many tests, or many benchmarks, that share a list of dependencies."""

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
