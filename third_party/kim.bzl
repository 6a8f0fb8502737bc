"""The KIM API as a Bazel repository: Debian's libkim-api-dev, whose header for models themselves lies apart from the others."""

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "kim",
    hdrs = glob(["include/*", "items/*.hpp"]),
    includes = ["include", "items"],
    linkopts = ["-lkim-api"],
)
"""

def _kim_repository_impl(ctx):
    result = ctx.execute(["pkg-config", "--variable=includedir", "libkim-api"])
    if result.return_code != 0:
        fail("pkg-config knows no libkim-api: install the Debian package libkim-api-dev (tools/bootstrap.sh test does)")
    include = ctx.path(result.stdout.strip()).realpath
    items = include.dirname.dirname.get_child("share").get_child("cmake").get_child("kim-api-items")
    if not items.get_child("KIM_SharedLibrarySchema.hpp").exists:
        fail("%s has no KIM_SharedLibrarySchema.hpp: install the Debian package libkim-api-dev" % items)
    ctx.symlink(include, "include")
    ctx.symlink(items, "items")
    ctx.file("WORKSPACE", 'workspace(name = "%s")\n' % ctx.name)
    ctx.file("BUILD", _BUILD)

kim_repository = repository_rule(
    implementation = _kim_repository_impl,
    local = True,
)
