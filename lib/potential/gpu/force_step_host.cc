#include <memory>

#include "lib/gpu/host_backend-inl.h"
#include "lib/potential/gpu/force_step-inl.h"
#include "lib/potential/gpu/force_step_testing.h"

namespace rutile {

template <typename T>
std::unique_ptr<ForceStep<T>> MakeHostForceStep(const StepModel& model) {
  return std::make_unique<ForceStepOn<T, HostBackend>>(model, std::make_unique<HostBackend>());
}

template std::unique_ptr<ForceStep<float>> MakeHostForceStep(const StepModel&);
template std::unique_ptr<ForceStep<double>> MakeHostForceStep(const StepModel&);

}  // namespace rutile
