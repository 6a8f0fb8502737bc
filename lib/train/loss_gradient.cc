#include "lib/train/loss_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/task/reference_gradients.h"
#include "lib/train/gradient_step.h"

namespace rutile {

LossGradient::LossGradient(Task& task, CompileMode mode)
    : task_(task),
      mode_(mode),
      combined_(Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()})),
      sums_(static_cast<int>(task.terms().size())) {
  for (size_t t = 0; t < sums_.sum.size(); ++t) {
    gradients_.push_back(Tensor::Zeros(combined_.dtype(), combined_.shape()));
  }
}

// Another run on the task moves everything again.
LossGradient::~LossGradient() {
  if (resting_ != nullptr) task_.SetResting({});
}

void LossGradient::SetResting(const std::vector<bool>& slices) {
  if (&slices == resting_) return;
  resting_ = &slices;
  resting_parts_.clear();
  task_.SetResting(slices);
  const std::vector<ParameterSlice> all = task_.parameter_slices();
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!slices[s]) continue;
    for (const Tensor& gradient : gradients_) resting_parts_.push_back(gradient.Slice(all[s].offset, all[s].shape));
  }
}

void LossGradient::Clear() {
  SetToZero(absl::MakeSpan(gradients_));
  std::fill(sums_.sum.begin(), sums_.sum.end(), 0.0);
  std::fill(sums_.count.begin(), sums_.count.end(), 0.0);
}

absl::Status LossGradient::Add(const Tensor& parameters, const NamedTensors& batch) {
  return mode_ == CompileMode::kCompile
             ? task_.AccumulateGradients(parameters, batch, absl::MakeSpan(gradients_), &sums_)
             : ReferenceGradients(task_, parameters, batch, absl::MakeSpan(gradients_), &sums_);
}

bool LossGradient::IsFinite() const {
  return std::all_of(sums_.sum.begin(), sums_.sum.end(), [](double sum) { return std::isfinite(sum); });
}

absl::StatusOr<double> LossGradient::Combine(const Checkpoint& state, absl::Span<const int64_t> examples) {
  const Loss loss = task_.CombineTerms(sums_);
  SetToZero(absl::MakeSpan(resting_parts_));
  norm_ = CombineGradients(loss.weight, gradients_, &combined_);
  if (std::isfinite(loss.value) && std::isfinite(norm_)) return loss.value;
  return absl::OutOfRangeError(
      absl::StrCat(std::isfinite(loss.value) ? "the gradient" : "the loss", " is not finite in epoch ", state.epoch + 1,
                   ", step ", state.step + 1, " (loss ", loss.value, "; examples ",
                   absl::StrJoin(examples.subspan(0, 5), ", "), examples.size() > 5 ? ", ..." : "",
                   "): try a lower learning rate or clip the gradient, and check these examples"));
}

}  // namespace rutile
