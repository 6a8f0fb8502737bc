#include <memory>
#include <string>

#include "lib/kge/gpu/kge_step.h"

namespace rutile {

bool HasCudaKgeStep() { return false; }

std::unique_ptr<KgeStep> MakeCudaKgeStep(const KgeStepShape&, bool, int, std::string* error) {
  *error = "this program was built without kernels for GPUs, because nvcc was not found (docs/gpu.md)";
  return nullptr;
}

}  // namespace rutile
