#include "lib/optimizer/optimizer.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "lib/base/logging.h"
#include "lib/optimizer/gradient_norm.h"
#include "lib/optimizer/methods/adagrad.h"
#include "lib/optimizer/methods/adam.h"
#include "lib/optimizer/methods/rmsprop.h"
#include "lib/optimizer/methods/rowwise_adagrad.h"
#include "lib/optimizer/methods/schedule_free.h"
#include "lib/optimizer/methods/sgd.h"

namespace rutile {

void Optimizer::Step(double learning_rate, const Tensor& gradient, Tensor* parameters, double scale) {
  CHECK_EQ(gradient.num_elements(), parameters->num_elements());
  BeginStep(learning_rate);
  StepLargePart(0, gradient, scale, parameters);
}

void Optimizer::StepLargePart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  constexpr int64_t kGrain = 1 << 15;
  const int64_t n = gradient.num_elements();
  if (pool_ == nullptr || n <= kGrain) return StepPart(begin, gradient, scale, parameters);
  const auto cut = [&](int64_t at) { return at == 0 || at == n ? at : PartEnd(begin + at) - begin; };
  pool_->For(n, kGrain, [&](int64_t from, int64_t to, int) {
    const int64_t first = cut(from), size = cut(to) - first;
    if (size > 0) StepPart(begin + first, gradient.Slice(first, {size}), scale, parameters);
  });
}

void Optimizer::StepRows(double learning_rate, const RowGradient& gradient, double scale, Tensor* parameters) {
  constexpr int64_t kRanges = 128;
  BeginStep(learning_rate);
  const auto step = [&](int64_t first, int64_t end, int) {
    for (int64_t i = first; i < end; ++i) {
      const RowGradient::Range& range = gradient.ranges[i];
      StepPart(range.begin, gradient.values.Slice(range.at, {range.size}), scale, parameters);
    }
  };
  const auto n = static_cast<int64_t>(gradient.ranges.size());
  if (pool_ == nullptr || n <= kRanges) return step(0, n, 0);
  pool_->For(n, kRanges, step);
}

bool MovesOnlyRowsWithGradients(const OptimizerOptions& options) {
  switch (options.kind) {
    case OptimizerKind::kSgd:
      return options.momentum == 0 && options.weight_decay == 0;
    case OptimizerKind::kAdagrad:
    case OptimizerKind::kRowwiseAdagrad:
      // Without epsilon, the first step of a row without a gradient would divide 0 by 0.
      return options.weight_decay == 0 && (options.epsilon > 0 || options.initial_accumulator > 0);
    default:
      return false;
  }
}

double Optimizer::StepPartKeeping(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters,
                                  Tensor* kept) {
  const Tensor before = parameters->Slice(begin, {gradient.num_elements()});
  if (before.num_bytes() > 0) std::memcpy(kept->mutable_data(), before.data(), before.num_bytes());
  StepPart(begin, gradient, scale, parameters);
  return SumOfSquares(scale, gradient);
}

void Optimizer::VisitStep(StepVisitor* visitor) const { LOG(FATAL) << "this optimizer cannot describe its steps"; }

const std::vector<bool>& Optimizer::frozen() const {
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
    case OptimizerKind::kRowwiseAdagrad:
      return std::make_unique<RowwiseAdagrad>(options, dtype, std::move(ranges));
    case OptimizerKind::kScheduleFreeAdamW:
      return std::make_unique<ScheduleFreeAdamW>(options, dtype, std::move(ranges));
    case OptimizerKind::kLbfgs:
      break;
  }
  LOG(FATAL) << "L-BFGS is lib/optimizer/methods/lbfgs.h";
  return nullptr;
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype, int64_t num_parameters) {
  return MakeOptimizer(options, dtype, std::vector<ParameterRange>{{0, num_parameters, true}});
}

}  // namespace rutile
