"""LibTorch: Debian's package, or the directory that the environment variable LIBTORCH names.

LIBTORCH is laid out as pytorch.org's zip (include/, lib/) or as the directory torch/ that pip installs.
"""

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "libtorch",
    hdrs = glob({hdrs}),
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
)
"""

def _exists(ctx, path):
    return ctx.path(path).exists

def _libtorch_repository_impl(ctx):
    root = ctx.os.environ.get("LIBTORCH", "")
    if root:
        if not _exists(ctx, root + "/include/torch/csrc/api/include/torch/torch.h"):
            fail("LIBTORCH=%s has no include/torch/csrc/api/include/torch/torch.h: name the unpacked libtorch/ or site-packages/torch/" % root)
        ctx.symlink(root + "/include", "include")
        lib = root + "/lib"
        linkopts = ["-L" + lib, "-Wl,-rpath," + lib, "-Wl,--no-as-needed", "-ltorch_cpu", "-Wl,--as-needed", "-lc10"]

        # A CUDA build registers its backend when the library is loaded: nothing refers to it by name.
        if _exists(ctx, lib + "/libtorch_cuda.so"):
            linkopts += ["-Wl,--no-as-needed", "-ltorch_cuda", "-lc10_cuda", "-Wl,--as-needed"]

        # The NVIDIA wheels lie beside torch/ in site-packages; libtorch_cpu.so of a CUDA wheel needs their libcudart.
        for found in ctx.execute(["sh", "-c", "ls -d '%s'/../nvidia/*/lib 2>/dev/null" % root]).stdout.strip().splitlines():
            linkopts += ["-Wl,-rpath," + found, "-Wl,-rpath-link," + found]

        # Wheels before 2.6 and the "pre-cxx11" zips use the old std::string, which Debian's glog, gflags and Abseil do not.
        abi = ctx.execute(["sh", "-c", "nm -D --defined-only '%s/libc10.so' | grep -c 'Error.*cxx11.*basic_string'" % lib])
        if abi.stdout.strip() == "0":
            fail("LIBTORCH=%s was built with the old C++ ABI: take the cxx11-abi zip or a wheel of 2.6 or later" % root)
        build = _BUILD.format(
            hdrs = '["include/**/*.h"]',
            defines = "[]",
            includes = '["include", "include/torch/csrc/api/include"]',
            linkopts = repr(linkopts),
        )
    else:
        if not _exists(ctx, "/usr/include/torch/csrc/api/include/torch/torch.h"):
            fail("no LibTorch: install the Debian package libtorch-dev (tools/bootstrap.sh does), or set LIBTORCH to your own")
        ctx.symlink("/usr/include/torch/csrc/api/include", "include")
        build = _BUILD.format(
            hdrs = '["include/**/*.h"]',
            defines = "[]",
            includes = '["include"]',
            linkopts = '["-ltorch", "-ltorch_cpu", "-lc10"]',
        )
    ctx.file("WORKSPACE", 'workspace(name = "libtorch")\n')
    ctx.file("BUILD", build)

libtorch_repository = repository_rule(
    implementation = _libtorch_repository_impl,
    environ = ["LIBTORCH"],
    local = True,
)
