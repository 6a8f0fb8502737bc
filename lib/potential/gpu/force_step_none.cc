// Takes the place of force_step_cuda.cu where there is no nvcc.

#include <memory>
#include <string>

#include "lib/potential/gpu/force_step.h"

namespace rutile {

bool HasCudaForceStep() { return false; }

int NumCudaGpus() { return 0; }

std::string WhyNotOnGpu(int /*device*/) {
  return "this program was built without kernels for GPUs: install CUDA's nvcc and build again (docs/gpu.md)";
}

template <typename T>
std::unique_ptr<ForceStep<T>> MakeCudaForceStep(const StepModel& /*model*/, int device, std::string* error) {
  *error = WhyNotOnGpu(device);
  return nullptr;
}

template std::unique_ptr<ForceStep<float>> MakeCudaForceStep(const StepModel&, int, std::string*);
template std::unique_ptr<ForceStep<double>> MakeCudaForceStep(const StepModel&, int, std::string*);

}  // namespace rutile
