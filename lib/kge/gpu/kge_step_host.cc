#include <memory>

#include "lib/gpu/host_backend-inl.h"
#include "lib/kge/gpu/kge_step-inl.h"
#include "lib/kge/gpu/kge_step_testing.h"

namespace rutile {

std::unique_ptr<KgeStep> MakeHostKgeStep(const KgeStepShape& shape, bool fp64) {
  auto backend = std::make_unique<HostBackend>();
  if (fp64) return std::make_unique<KgeStepOn<double, HostBackend>>(shape, std::move(backend));
  return std::make_unique<KgeStepOn<float, HostBackend>>(shape, std::move(backend));
}

}  // namespace rutile
