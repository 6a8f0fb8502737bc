"""LibTorch: Debian's package, or the directory that the environment variable LIBTORCH names (docs/libtorch.md).

LIBTORCH is laid out as pytorch.org's zip (include/, lib/) or as the directory torch/ that pip installs. Whether its CUDA
backend is linked follows from what the dynamic loader finds, so that the CPU side of a CUDA build is usable alone.
"""

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "libtorch",
    hdrs = glob({hdrs}),
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
    deps = [":c10"],
)

# The library that LibTorch's headers may refer to by themselves, for programs that include them and link nothing else of
# it (tools/dev/without_libtorch.bzl).
cc_library(
    name = "c10",
    linkopts = {c10_linkopts},
)

# c10d's process group over TCP. Its header needs Gloo's, which LibTorch's own packages leave out: there Debian's serve,
# for declarations alone, as Gloo itself is inside LibTorch; only what calls Gloo directly (RUTILE_GLOO_PAIRS) needs the
# library that the headers are of. Without any USE_C10D_GLOO is not defined, and lib/distributed/gloo_communicator.cc
# says so to whoever asks for several processes.
cc_library(
    name = "gloo",
    defines = {gloo_defines},
    linkopts = {gloo_linkopts},
    deps = [":libtorch"],
)

# c10d's process group of GPUs, whose header needs CUDA's: where LibTorch's CUDA backend is linked and they are found
# (CUDA_HOME, /usr/local/cuda, or pip's nvidia packages).
cc_library(
    name = "nccl",
    hdrs = glob({nccl_hdrs}, allow_empty = True),
    defines = {nccl_defines},
    includes = {nccl_includes},
    deps = [":libtorch"],
)
"""

_TORCH_H = "/torch/csrc/api/include/torch/torch.h"

def _missing_libraries(ctx, library):
    """Names of the shared libraries that the loader would not find for this one; fails when it is not of this machine."""
    result = ctx.execute(["ldd", library])
    if result.return_code != 0:
        fail("%s cannot be loaded on this machine: ldd says %s" % (library, (result.stderr + result.stdout).strip()))
    return [line.strip().split(" ")[0] for line in result.stdout.splitlines() if line.endswith("=> not found")]

def _check_layout(ctx, root):
    if not root.startswith("/") or " " in root or "$" in root:
        fail("LIBTORCH=%s: give an absolute path, without spaces or dollar signs" % root)
    for file in ["/include" + _TORCH_H, "/lib/libtorch_cpu.so", "/lib/libc10.so"]:
        if not ctx.path(root + file).exists:
            inner = [name for name in ["libtorch", "torch"] if ctx.path("%s/%s/include" % (root, name)).exists]
            right = root + "/" + inner[0] if inner else "libtorch/ of the unpacked zip, or torch/ in pip's site-packages"
            fail("LIBTORCH=%s has no %s: name the directory that holds include/ and lib/, that is %s" % (root, file[1:], right))

def _check_abi(ctx, root):
    # Error's constructors take std::string, and its name in the symbol tells which one.
    symbol = "_ZN3c105ErrorC[12][A-Za-z0-9_]*7__cxx11"
    if ctx.execute(["grep", "-aq", symbol, root + "/lib/libc10.so"]).return_code != 0:
        fail("LIBTORCH=%s was built with the old C++ ABI, which does not fit Debian's glog and Abseil: " % root +
             "take the cxx11-abi zip, or a pip wheel of 2.7 or later")

def _linkopts(ctx, root):
    lib = root + "/lib"
    missing = _missing_libraries(ctx, lib + "/libtorch_cpu.so")
    if missing:
        fail("LIBTORCH=%s: libtorch_cpu.so needs %s, which the loader does not find. " % (root, ", ".join(missing)) +
             "The pip wheel with CUDA needs nvidia-cuda-runtime and nvidia-cuda-cupti of its CUDA version beside it, " +
             "even to run on the CPU alone: docs/libtorch.md")

    # No --as-needed, which would go on to drop glog and others that only our own shared libraries refer to; and a backend
    # registers itself when its library is loaded: nothing refers to it by name.
    linkopts = ["-L" + lib, "-Wl,-rpath," + lib, "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10"]
    cuda = lib + "/libtorch_cuda.so"
    if ctx.path(cuda).exists:
        missing = _missing_libraries(ctx, cuda)
        if missing:
            # buildifier: disable=print
            print("LIBTORCH=%s is used without CUDA: libtorch_cuda.so needs %s" % (root, ", ".join(missing)))
        else:
            linkopts.append("-ltorch_cuda")

    # Some linkers follow the libraries' own search path to what they need in turn (libcudart.so), some do not.
    nvidia = ctx.path(root).realpath.dirname.get_child("nvidia")
    if nvidia.exists:
        for package in nvidia.readdir():
            if package.get_child("lib").exists:
                linkopts.append("-Wl,-rpath-link,%s/lib" % package)
    return linkopts

def _nccl_includes(ctx, root):
    """Directories of this repository, linked to those with the headers that ProcessGroupNCCL.hpp needs; [] without all."""
    if "-ltorch_cuda" not in _linkopts(ctx, root):
        return []
    nvidia = ctx.path(root).realpath.dirname.get_child("nvidia")
    packages = [package.get_child("include") for package in nvidia.readdir()] if nvidia.exists else []
    toolkits = [ctx.path(home + "/include") for home in [ctx.os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"] if home.startswith("/")]
    includes = []
    linked = {}
    for header in ["nccl.h", "cuda_runtime_api.h", "cublas_v2.h", "cusparse.h", "cusolverDn.h"]:
        # Those that came with the wheel first: a toolkit may be of another version, with other layouts.
        found = [path for path in packages + toolkits if path.get_child(header).exists]
        if not found:
            return []
        if str(found[0]) not in linked:
            linked[str(found[0])] = True
            includes.append("cuda_headers_%d" % len(includes))
            ctx.symlink(found[0], includes[-1])
    return includes

def _has_gloo_headers(ctx, root):
    return ctx.path(root + "/include/gloo/context.h").exists or ctx.path("/usr/include/gloo/context.h").exists

def _libtorch_repository_impl(ctx):
    root = ctx.os.environ.get("LIBTORCH", "")
    if root:
        root = root.rstrip("/")
        _check_layout(ctx, root)
        _check_abi(ctx, root)
        nccl_includes = _nccl_includes(ctx, root)
        ctx.symlink(root + "/include", "include")
        build = _BUILD.format(
            hdrs = '["include/**/*.h"]',
            # lib/base/logging.h: c10 has LOG and CHECK of its own, unless it was built with glog.
            defines = '["RUTILE_C10_HAS_OWN_LOG"]',
            includes = '["include", "include/torch/csrc/api/include"]',
            linkopts = repr(_linkopts(ctx, root)),
            c10_linkopts = repr([
                "-L%s/lib" % root,
                "-Wl,-rpath,%s/lib" % root,
                "-Wl,--push-state,--as-needed,-lc10,--pop-state",
            ]),
            gloo_defines = '["USE_C10D_GLOO"]' if _has_gloo_headers(ctx, root) else "[]",
            gloo_linkopts = "[]",
            nccl_hdrs = repr([name + "/**/*.h" for name in nccl_includes]),
            nccl_defines = '["USE_C10D_NCCL"]' if nccl_includes else "[]",
            nccl_includes = repr(nccl_includes),
        )
    else:
        if not ctx.path("/usr/include" + _TORCH_H).exists:
            fail("no LibTorch: install the Debian package libtorch-dev (tools/bootstrap.sh does), or set LIBTORCH to your own")
        ctx.symlink("/usr/include/torch/csrc/api/include", "include")
        build = _BUILD.format(
            hdrs = '["include/**/*.h"]',
            defines = "[]",
            includes = '["include"]',
            linkopts = '["-ltorch", "-ltorch_cpu", "-lc10"]',
            c10_linkopts = "[]",
            gloo_defines = '["USE_C10D_GLOO", "RUTILE_GLOO_PAIRS"]',
            gloo_linkopts = '["-lgloo"]',
            nccl_hdrs = "[]",
            nccl_defines = "[]",
            nccl_includes = "[]",
        )
    ctx.file("WORKSPACE", 'workspace(name = "libtorch")\n')
    ctx.file("BUILD", build)

libtorch_repository = repository_rule(
    implementation = _libtorch_repository_impl,
    environ = ["CUDA_HOME", "LIBTORCH"],
    local = True,
)
