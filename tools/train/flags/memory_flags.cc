#include "tools/train/flags/memory_flags.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

DEFINE_bool(gradient_checkpointing, false,
            "Recompute activations in the backward pass. This flag is refused, because it would save nothing.");
DEFINE_bool(memory_cleanup, false,
            "Release unused memory between epochs. Kernels do not need it: train says so and continues. LibTorch on "
            "CUDA refuses the flag.");

namespace rutile {

absl::StatusOr<std::vector<std::string>> MemoryMessagesFromFlags(ModelKind model, const TrainerOptions& options) {
  if (FLAGS_gradient_checkpointing && model == ModelKind::kEmbeddings) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--gradient_checkpointing saves nothing for embeddings: what is large is the scores, ",
        options.compile_mode == CompileMode::kCompile ? "and the kernel makes them in blocks; leave it out"
                                                      : "of which --compile_mode=compile keeps none; leave it out"));
  }
  if (FLAGS_gradient_checkpointing) {
    return absl::InvalidArgumentError(
        options.compile_mode == CompileMode::kCompile
            ? "--gradient_checkpointing saves nothing for potentials: their kernels build no graph, and memory does "
              "not "
              "grow with the batch; leave it out"
            : "--gradient_checkpointing saves nothing for potentials: with forces, autograd keeps as much of the "
              "second "
              "pass as it drops of the first; leave it out, or use --compile_mode=compile, which builds no graph");
  }
  std::vector<std::string> messages;
  if (!FLAGS_memory_cleanup) return messages;
  if (!options.eager.on_cpu()) {
    return absl::InvalidArgumentError(
        "--memory_cleanup cannot empty the cache of LibTorch on CUDA from here: leave it out, or set "
        "PYTORCH_CUDA_ALLOC_CONF, which LibTorch reads");
  }
  messages.push_back(
      "--memory_cleanup has nothing to do for kernels: memory is taken once, for the largest batch, and used again");
  return messages;
}

}  // namespace rutile
