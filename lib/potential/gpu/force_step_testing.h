// A step of force training on the host, by the kernels that run on GPUs.

#ifndef RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_TESTING_H_
#define RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_TESTING_H_

#include <memory>

#include "lib/potential/gpu/force_step.h"

namespace rutile {

// T is float or double. The step takes one thread and is not vectorized.
template <typename T>
std::unique_ptr<ForceStep<T>> MakeHostForceStep(const StepModel& model);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_TESTING_H_
