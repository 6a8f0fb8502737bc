#include "lib/optimizer/early_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/base/logging.h"
#include "lib/optimizer/gradient_norm.h"
#include "lib/profile/scope.h"

namespace rutile {

void EarlyStep::Begin(Optimizer* optimizer, double learning_rate, double weight, Tensor* parameters, Tensor* gradient,
                      int64_t bytes, const std::vector<GradientRange>* parts) {
  CHECK_EQ(parameters->num_elements(), gradient->num_elements());
  optimizer_ = optimizer;
  weight_ = weight;
  parameters_ = parameters;
  gradient_ = gradient;
  bytes_ = bytes;
  parts_ = parts;
  all_ = {0, gradient->num_elements()};
  squares_ = 0;
  num_taken_ = 0;
  taken_.clear();
  optimizer_->BeginStep(learning_rate);
}

void EarlyStep::Take(int64_t begin, const Tensor& values) {
  const ProfileScope scope(Stage::kOptimizer);
  const int64_t n = values.num_elements();
  scope.Add(Counter::kBytes, n * bytes_);
  num_taken_ += n;
  taken_.emplace_back(begin, begin + n);
  Tensor kept = gradient_->Slice(begin, {n});
  squares_ += optimizer_->StepPartKeeping(begin, values, weight_, parameters_, &kept);
}

absl::Span<const GradientRange> EarlyStep::parts() const {
  return parts_ == nullptr ? absl::MakeConstSpan(&all_, 1) : absl::MakeConstSpan(*parts_);
}

template <class Body>
void EarlyStep::ForRest(absl::Span<const GradientRange> parts, const Body& body) {
  std::sort(taken_.begin(), taken_.end());
  auto taken = taken_.begin();
  for (const GradientRange& part : parts) {
    int64_t begin = part.begin;
    const auto rest = [&](int64_t end) {
      if (begin < end) body(gradient_->Slice(begin, {end - begin}), begin);
    };
    for (; taken != taken_.end() && taken->first < part.end; ++taken) {
      CHECK_LE(begin, taken->first) << "taken twice, or not of a part that moves";
      rest(taken->first);
      begin = taken->second;
    }
    rest(part.end);
  }
}

double EarlyStep::Squares(absl::Span<const GradientRange> parts) {
  double squares = squares_;
  ForRest(parts, [&](const Tensor& part, int64_t) { squares += SumOfSquares(weight_, part); });
  return squares;
}

double EarlyStep::Norm() { return std::sqrt(Squares(parts())); }

void EarlyStep::Finish() {
  ForRest(parts(), [&](const Tensor& part, int64_t begin) { optimizer_->StepPart(begin, part, weight_, parameters_); });
}

void EarlyStep::Undo() {
  for (const auto& [begin, end] : taken_) {
    Tensor moved = parameters_->Slice(begin, {end - begin});
    std::memcpy(moved.mutable_data(), gradient_->Slice(begin, {end - begin}).data(), moved.num_bytes());
  }
}

}  // namespace rutile
