"""A shared library for programs that are not built here, from targets that are otherwise linked statically."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

# .bazelrc turns these off, as programs need no objects compiled with -fPIC.
_OF_PROGRAMS = ["-supports_pic", "-supports_dynamic_linker"]

def _pic_impl(settings, attr):
    return {
        "//command_line_option:features": [f for f in settings["//command_line_option:features"] if f not in _OF_PROGRAMS],
        "//command_line_option:force_pic": True,
    }

_pic = transition(
    implementation = _pic_impl,
    inputs = ["//command_line_option:features"],
    outputs = [
        "//command_line_option:features",
        "//command_line_option:force_pic",
    ],
)

def _pic_binary_impl(ctx):
    output = ctx.actions.declare_file(ctx.label.name)
    linked = [f for f in ctx.attr.binary[0][DefaultInfo].files.to_list() if f.basename.endswith(".so")]
    if len(linked) != 1:
        fail("%s: expected a cc_binary with linkshared = True, whose name ends with .so" % ctx.attr.binary[0].label)
    ctx.actions.symlink(output = output, target_file = linked[0])
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles([output]))]

_pic_binary = rule(
    implementation = _pic_binary_impl,
    attrs = {
        "binary": attr.label(cfg = _pic, mandatory = True, doc = "a cc_binary with linkshared = True; its name ends with .so"),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
    doc = "Builds a cc_binary and all that it depends on of objects compiled with -fPIC, and names the result NAME.",
)

def shared_library(name, version_script, deps, visibility = None):
    """A shared library of our own code, which needs those of Debian that it uses, and no others.

    Args:
      name: lib....so.
      version_script: says which symbols others see.
      deps: cc_library targets with alwayslink = True.
      visibility: of the library.
    """
    linked = name[:-len(".so")] + "_linked.so"
    cc_binary(
        name = linked,
        linkopts = [
            "-Wl,--as-needed,--gc-sections",
            "-Wl,--version-script=$(location %s)" % version_script,
            "-Wl,--no-undefined",
            "-Wl,-soname," + name,
            # Debian's archives of Abseil, gflags and libunwind are for programs: their code is not position-independent.
            # Their shared libraries may lie beside this one, on a machine without them, and find each other there: that
            # takes an rpath, as a runpath would not hold for what they need in turn.
            "-Wl,-rpath,'$$ORIGIN',--disable-new-dtags",
        ],
        linkshared = True,
        tags = ["manual"],
        visibility = ["//visibility:private"],
        deps = deps + [version_script],
    )
    _pic_binary(
        name = name,
        binary = ":" + linked,
        visibility = visibility,
    )
