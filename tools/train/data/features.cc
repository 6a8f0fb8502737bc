#include "tools/train/data/features.h"

#include <torch/version.h>

namespace rutile {

#if defined(RUTILE_GPU_KERNELS)
#define RUTILE_KERNELS "yes"
#else
#define RUTILE_KERNELS "no"
#endif
#if defined(__x86_64__)
#define RUTILE_AMX "used where the processor has it"
#else
#define RUTILE_AMX "no"
#endif

const char kTrainFeatures[] = "LibTorch " TORCH_VERSION "; kernels for GPUs: " RUTILE_KERNELS "; AMX: " RUTILE_AMX "\n";

}  // namespace rutile
