"""Programs that leave LibTorch to another program, though libraries that they depend on name it."""

# c10 alone is not left out: where it has macros of its own (lib/base/logging.h), any object may refer to it.
_LIBRARIES = ["libtorch", "gloo", "nccl"]

def _without_libtorch_impl(ctx):
    linking = ctx.attr.dep[CcInfo].linking_context
    kept = [i for i in linking.linker_inputs.to_list() if i.owner.workspace_name != "libtorch" or i.owner.name not in _LIBRARIES]
    return [CcInfo(linking_context = cc_common.create_linking_context(linker_inputs = depset(kept, order = "topological")))]

without_libtorch = rule(
    implementation = _without_libtorch_impl,
    attrs = {"dep": attr.label(mandatory = True, providers = [CcInfo])},
    doc = "What is to be linked of a library and of all that it depends on, without LibTorch: a program of it links only if " +
          "nothing in it refers to LibTorch.",
)
