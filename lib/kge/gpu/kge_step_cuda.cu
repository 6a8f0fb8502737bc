#include <memory>
#include <string>
#include <utility>

#include "lib/gpu/cuda_backend-inl.h"
#include "lib/kge/gpu/kge_step-inl.h"

namespace rutile {

bool HasCudaKgeStep() { return true; }

namespace {

template <typename T>
std::unique_ptr<KgeStep> MakeStep(const KgeStepShape& shape, int device, std::string* error) {
  auto backend = std::make_unique<CudaBackend>(device);
  *error = backend->error();
  if (error->empty() && shape.conve) *error = WhyNoDeviceConve<T>(shape, backend->max_shared_bytes());
  if (!error->empty()) return nullptr;
  auto step = std::make_unique<KgeStepOn<T, CudaBackend>>(shape, std::move(backend));
  *error = step->error();
  if (!error->empty()) return nullptr;
  return step;
}

}  // namespace

std::unique_ptr<KgeStep> MakeCudaKgeStep(const KgeStepShape& shape, bool fp64, int device, std::string* error) {
  *error = WhyNoCudaDevice(device);
  if (!error->empty()) return nullptr;
  return fp64 ? MakeStep<double>(shape, device, error) : MakeStep<float>(shape, device, error);
}

}  // namespace rutile
