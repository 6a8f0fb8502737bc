#include <memory>
#include <string>

#include "lib/gpu/cuda_backend-inl.h"
#include "lib/potential/gpu/force_step-inl.h"

namespace rutile {

bool HasCudaForceStep() { return true; }

int NumCudaGpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string WhyNotOnGpu(int device) { return WhyNoCudaDevice(device); }

template <typename T>
std::unique_ptr<ForceStep<T>> MakeCudaForceStep(const StepModel& model, int device, std::string* error) {
  *error = WhyNotOnGpu(device);
  if (!error->empty()) return nullptr;
  auto backend = std::make_unique<CudaBackend>(device);
  *error = backend->error();
  if (!error->empty()) return nullptr;
  return std::make_unique<ForceStepOn<T, CudaBackend>>(model, std::move(backend));
}

template std::unique_ptr<ForceStep<float>> MakeCudaForceStep(const StepModel&, int, std::string*);
template std::unique_ptr<ForceStep<double>> MakeCudaForceStep(const StepModel&, int, std::string*);

}  // namespace rutile
