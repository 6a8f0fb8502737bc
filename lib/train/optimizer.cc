#include "lib/train/optimizer.h"

#include <memory>
#include <utility>
#include <vector>

#include "lib/base/logging.h"
#include "lib/train/adagrad.h"
#include "lib/train/adam.h"
#include "lib/train/rmsprop.h"
#include "lib/train/schedule_free.h"
#include "lib/train/sgd.h"

namespace rutile {

const std::vector<bool>& Optimizer::resting() const {
  static const auto* none = new std::vector<bool>();
  return *none;
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype,
                                         std::vector<ParameterRange> ranges) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64) << DTypeName(dtype);
  switch (options.kind) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return std::make_unique<Adam>(options, dtype, std::move(ranges));
    case OptimizerKind::kSgd:
      return std::make_unique<Sgd>(options, dtype, std::move(ranges));
    case OptimizerKind::kRmsprop:
      return std::make_unique<Rmsprop>(options, dtype, std::move(ranges));
    case OptimizerKind::kAdagrad:
      return std::make_unique<Adagrad>(options, dtype, std::move(ranges));
    case OptimizerKind::kScheduleFreeAdamW:
      return std::make_unique<ScheduleFreeAdamW>(options, dtype, std::move(ranges));
    case OptimizerKind::kLbfgs:
      break;
  }
  LOG(FATAL) << "L-BFGS is lib/train/lbfgs.h";
  return nullptr;
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype, int64_t num_parameters) {
  return MakeOptimizer(options, dtype, std::vector<ParameterRange>{{0, num_parameters, true}});
}

}  // namespace rutile
