#include "lib/optimizer/methods/adagrad.h"

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/optimizer/optimizer_kernel.h"

namespace rutile {

Adagrad::Adagrad(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options), ranges_(std::move(ranges)), sums_(options, dtype, TotalSize(ranges_)) {}

template <typename T>
void Adagrad::Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  const auto g = gradient.values<T>();
  const auto s = sums_.mutable_sum()->mutable_values<T>(), p = parameters->mutable_values<T>();
  ForEachRange(ranges_, begin, begin + gradient.num_elements(), [&](const ParameterRange& range, int64_t at) {
    AdagradStep here = now_;
    here.scale = scale;
    if (!range.decays) here.l2 = 0;
    AdagradUpdate(here, g.subspan(range.begin - begin, range.size), s.subspan(at, range.size),
                  p.subspan(range.begin, range.size));
  });
}

void Adagrad::BeginStep(double learning_rate) {
  now_ = sums_.NextStep(options_, learning_rate);
  now_.l2 = options_.weight_decay;
}

void Adagrad::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  if (sums_.sum().dtype() == DType::kF32) {
    Update<float>(begin, gradient, scale, parameters);
  } else {
    Update<double>(begin, gradient, scale, parameters);
  }
}

}  // namespace rutile
