"""CUDA's compiler, where the machine has one: CUDA_HOME, or /usr/local/cuda. Without it everything builds, without kernels
for GPUs (cuda_library in @cuda//:defs.bzl, docs/gpu.md)."""

# Machine code of Ampere, which Ada runs as well, and of Hopper, and PTX that drivers compile for what is newer. One front
# end for all: kernels use nothing that Ampere lacks.
_TARGETS = ["-gencode=arch=compute_80,code=[sm_80,sm_90,compute_80]"]

# RUTILE_GPU_KERNELS is for what programs say of themselves: kernels are chosen by cuda_library.
_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "facts",
    defines = {defines},
    visibility = ["//visibility:public"],
)
"""

_DEFS = """load("@rules_cc//cc:defs.bzl", "cc_library")

HAS_NVCC = {has_nvcc}

def cuda_library(name, cuda_srcs, cuda_headers, without, deps, **kwargs):
    \"\"\"A library with kernels for GPUs where nvcc is found, and with sources that say so where it is not.

    Args:
      name: of the library.
      cuda_srcs: sources for nvcc, NAME.cu; its compiler sees no headers but those in cuda_headers and CUDA's.
      cuda_headers: files that cuda_srcs include, directly or not.
      without: C++ sources that define the same functions where there is no nvcc.
      deps: libraries that either needs.
      **kwargs: as of cc_library.
    \"\"\"
    if not HAS_NVCC:
        cc_library(name = name, srcs = without, deps = deps, **kwargs)
        return
    for source in cuda_srcs:
        native.genrule(
            name = source[:-3] + "_object",
            srcs = [source] + cuda_headers,
            outs = [source[:-3] + ".o"],
            cmd = "{nvcc} -std=c++17 -O3 {targets} -Xcompiler=-Wall,-Wextra -Werror=all-warnings -I. -c $(location %s) -o $@" % source,
            message = "Compiling for GPUs",
        )
    cc_library(
        name = name,
        srcs = [source[:-3] + ".o" for source in cuda_srcs],
        linkopts = {linkopts},
        deps = deps,
        **kwargs
    )
"""

def _cuda_repository_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME", "")
    if home and not ctx.path(home + "/bin/nvcc").exists:
        fail("CUDA_HOME=%s has no bin/nvcc: name the directory of a CUDA toolkit, or leave CUDA_HOME unset" % home)
    homes = [path for path in [home, "/usr/local/cuda"] if path and ctx.path(path + "/bin/nvcc").exists]
    nvcc = homes[0] + "/bin/nvcc" if homes else ""
    lib = [homes[0] + part for part in ["/lib64", "/lib"] if ctx.path(homes[0] + part + "/libcudart_static.a").exists] if homes else []
    if homes and not lib:
        fail("%s has nvcc, but no libcudart_static.a: install the toolkit's runtime, too, or set CUDA_HOME to another" % homes[0])
    ctx.file("WORKSPACE", 'workspace(name = "cuda")\n')
    ctx.file("BUILD", _BUILD.format(defines = '["RUTILE_GPU_KERNELS"]' if homes else "[]"))
    ctx.file("defs.bzl", _DEFS.format(
        has_nvcc = bool(homes),
        nvcc = nvcc,
        targets = " ".join(_TARGETS),
        # The runtime is linked in, and looks for the driver when it is first used.
        linkopts = repr(["-L" + lib[0], "-lcudart_static", "-lrt", "-ldl", "-lpthread"] if lib else []),
    ))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    environ = ["CUDA_HOME"],
    local = True,
)
