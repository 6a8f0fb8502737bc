"""Libraries that Debian installs, as Bazel repositories: headers from the system's include path, links from pkg-config."""

_TARGET = """
cc_library(
    name = "{name}",
    linkopts = {linkopts},
)
"""

def _pkg_config_repository_impl(ctx):
    build = 'load("@rules_cc//cc:defs.bzl", "cc_library")\n\npackage(default_visibility = ["//visibility:public"])\n'
    for name, module in ctx.attr.modules.items():
        result = ctx.execute(["pkg-config", "--libs", module])
        if result.return_code != 0:
            fail("pkg-config knows no %s: install the Debian package %s (tools/bootstrap.sh installs all)" % (module, ctx.attr.package))
        build += _TARGET.format(
            name = name,
            linkopts = repr([flag for flag in result.stdout.strip().split(" ") if flag] + ctx.attr.extra_linkopts),
        )
    ctx.file("WORKSPACE", 'workspace(name = "%s")\n' % ctx.name)
    ctx.file("BUILD", build)

pkg_config_repository = repository_rule(
    implementation = _pkg_config_repository_impl,
    attrs = {
        "extra_linkopts": attr.string_list(),
        "modules": attr.string_dict(doc = "Bazel target name -> pkg-config module", mandatory = True),
        "package": attr.string(doc = "Debian package that holds them, for the error message", mandatory = True),
    },
    local = True,
)
