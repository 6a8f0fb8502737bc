// The step of GPUs on the host, for tests.

#ifndef RUTILE_LIB_KGE_GPU_KGE_STEP_TESTING_H_
#define RUTILE_LIB_KGE_GPU_KGE_STEP_TESTING_H_

#include <memory>

#include "lib/kge/gpu/kge_step.h"

namespace rutile {

std::unique_ptr<KgeStep> MakeHostKgeStep(const KgeStepShape& shape, bool fp64);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_KGE_STEP_TESTING_H_
