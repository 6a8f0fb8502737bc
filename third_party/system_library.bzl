"""Libraries of the system, or of a prefix that PKG_CONFIG_PATH leads to, as Bazel repositories (docs/install.md).

pkg-config says how to link. Headers are found by the compiler, where it looks by itself; those of a prefix are linked
into the repository.
"""

_TARGET = """
cc_library(
    name = "{name}",
    hdrs = glob({hdrs}, allow_empty = True),
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
)
"""

def _pkg_config(ctx, module, what):
    result = ctx.execute(["pkg-config", what] + module.split(" "))
    if result.return_code != 0:
        fail("pkg-config knows no %s: install the Debian package %s (tools/bootstrap.sh installs all), " % (module, ctx.attr.package) +
             "or set PKG_CONFIG_PATH to the folder of its %s.pc (docs/install.md)" % module)
    return [flag for flag in result.stdout.strip().split(" ") if flag]

def _headers_of_prefix(ctx, module, linked):
    """Headers of a prefix, as (globs, include directories) in this repository; ([], []) where the compiler has them."""
    hdrs, includes = [], []
    for flag in _pkg_config(ctx, module, "--cflags-only-I"):
        directory = flag[len("-I"):]
        if not directory.startswith("/"):
            fail("pkg-config's directory of headers of %s is %s; expected an absolute one" % (module, directory))
        if directory not in linked:
            linked[directory] = "include_%d" % len(linked)
            for name in ctx.attr.headers:
                if ctx.path(directory).get_child(name).exists:
                    ctx.symlink(directory + "/" + name, linked[directory] + "/" + name)
        includes.append(linked[directory])
        hdrs += ["%s/%s" % (linked[directory], name + ("" if "." in name else "/**")) for name in ctx.attr.headers]
    return hdrs, includes

def _pkg_config_repository_impl(ctx):
    build = 'load("@rules_cc//cc:defs.bzl", "cc_library")\n\npackage(default_visibility = ["//visibility:public"])\n'
    linked = {}
    for name, module in ctx.attr.modules.items():
        hdrs, includes = _headers_of_prefix(ctx, module, linked)
        # Programs find the libraries of a prefix there: pkg-config names directories that the linker does not know.
        directories = [flag[len("-L"):] for flag in _pkg_config(ctx, module, "--libs-only-L")]
        build += _TARGET.format(
            name = name,
            # Definitions are of how the library of the prefix was built; those of Debian's packages change nothing here.
            defines = repr([f[len("-D"):] for f in _pkg_config(ctx, module, "--cflags-only-other") if f.startswith("-D")] if includes else []),
            hdrs = repr(hdrs),
            includes = repr(includes),
            linkopts = repr(["-Wl,-rpath," + d for d in directories] + _pkg_config(ctx, module, "--libs") + ctx.attr.extra_linkopts),
        )
    ctx.file("WORKSPACE", 'workspace(name = "%s")\n' % ctx.name)
    ctx.file("BUILD", build)

pkg_config_repository = repository_rule(
    implementation = _pkg_config_repository_impl,
    attrs = {
        "extra_linkopts": attr.string_list(),
        "headers": attr.string_list(doc = "what the library has in a directory of headers: directories, and files by their names"),
        "modules": attr.string_dict(doc = "Bazel target name -> pkg-config module, or several with blanks between", mandatory = True),
        "package": attr.string(doc = "Debian package that holds them, for the error message", mandatory = True),
    },
    environ = ["PKG_CONFIG_PATH"],
    local = True,
)
