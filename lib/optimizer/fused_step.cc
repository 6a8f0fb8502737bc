#include "lib/optimizer/fused_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/base/logging.h"
#include "lib/optimizer/gradient_norm.h"
#include "lib/trace/scope.h"

namespace rutile {

void FusedStep::Begin(Optimizer* optimizer, double learning_rate, double weight, Tensor* parameters, Tensor* gradient,
                      int64_t bytes, const std::vector<GradientRange>* parts) {
  CHECK_EQ(parameters->num_elements(), gradient->num_elements());
  optimizer_ = optimizer;
  weight_ = weight;
  parameters_ = parameters;
  gradient_ = gradient;
  bytes_ = bytes;
  parts_ = parts;
  all_ = {0, gradient->num_elements()};
  taken_.clear();
  optimizer_->BeginStep(learning_rate);
}

void FusedStep::Take(int64_t begin, const Tensor& values) {
  const ProfileScope scope(Stage::kOptimizer);
  const int64_t n = values.num_elements();
  scope.Add(Counter::kBytes, n * bytes_);
  Tensor kept = gradient_->Slice(begin, {n});
  const double squares = optimizer_->StepPartKeeping(begin, values, weight_, parameters_, &kept);
  const std::lock_guard<std::mutex> lock(mutex_);
  taken_.push_back({begin, begin + n, squares});
}

int64_t FusedStep::bytes() const {
  int64_t numbers = 0;
  for (const Taken& taken : taken_) numbers += taken.end - taken.begin;
  return numbers * bytes_;
}

absl::Span<const GradientRange> FusedStep::parts() const {
  return parts_ == nullptr ? absl::MakeConstSpan(&all_, 1) : absl::MakeConstSpan(*parts_);
}

template <class Body>
void FusedStep::ForRest(absl::Span<const GradientRange> parts, const Body& body) {
  // Sort, so that nothing depends on the order in which threads finished.
  std::sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
  auto taken = taken_.begin();
  for (const GradientRange& part : parts) {
    int64_t begin = part.begin;
    const auto rest = [&](int64_t end) {
      if (begin < end) body(gradient_->Slice(begin, {end - begin}), begin);
    };
    for (; taken != taken_.end() && taken->begin < part.end; ++taken) {
      CHECK_LE(begin, taken->begin) << "taken twice, or not of a part that moves";
      rest(taken->begin);
      begin = taken->end;
    }
    rest(part.end);
  }
}

double FusedStep::Squares(absl::Span<const GradientRange> parts) {
  double squares = 0;
  ForRest(parts, [&](const Tensor& part, int64_t) { squares += SumOfSquares(weight_, part, optimizer_->threads()); });
  for (const Taken& taken : taken_) squares += taken.squares;
  return squares;
}

double FusedStep::Norm() { return std::sqrt(Squares(parts())); }

void FusedStep::Finish() {
  ForRest(parts(),
          [&](const Tensor& part, int64_t begin) { optimizer_->StepLargePart(begin, part, weight_, parameters_); });
}

void FusedStep::Undo() {
  for (const Taken& taken : taken_) {
    const int64_t n = taken.end - taken.begin;
    Tensor moved = parameters_->Slice(taken.begin, {n});
    std::memcpy(moved.mutable_data(), gradient_->Slice(taken.begin, {n}).data(), moved.num_bytes());
  }
}

}  // namespace rutile
