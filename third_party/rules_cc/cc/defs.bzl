"""The part of rules_cc that we use, as Bazel 4.2.3 has it built in (Debian's own rules_cc needs a newer Bazel)."""

load("@rutile//third_party/precompiled:precompiled.bzl", "with_precompiled")

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_toolchain_alias = native.cc_toolchain_alias
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_library = native.objc_library

def cc_test(name, copts = [], deps = [], **kwargs):
    """native.cc_test, to whose sources googletest's headers come precompiled: half of the time to compile a test.

    Args:
      name: as of native.cc_test.
      copts: as of native.cc_test.
      deps: as of native.cc_test; a list in which a label of @googletest asks for it (Bazel's own tests have a select).
      **kwargs: as of native.cc_test.
    """
    if type(deps) == "list" and [dep for dep in deps if dep.startswith("@googletest//")]:
        more_deps, more_copts = with_precompiled("for_test", copts)
        deps = deps + more_deps
        copts = copts + more_copts
    native.cc_test(name = name, copts = copts, deps = deps, **kwargs)
