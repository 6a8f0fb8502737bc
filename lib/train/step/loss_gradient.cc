#include "lib/train/step/loss_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/gradient_norm.h"
#include "lib/task/gradients/gradient_stream.h"
#include "lib/task/precision.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/train/step/gradient_step.h"

namespace rutile {
namespace {

std::unique_ptr<EagerGradients> MakeEager(const Task& task, CompileMode mode, EagerOptions eager,
                                          const Agreement* agreement) {
  if (mode == CompileMode::kCompile) return nullptr;
  eager.script = mode == CompileMode::kScript;
  DeviceSums* const processes = agreement == nullptr ? nullptr : agreement->devices();
  auto gradients = std::make_unique<EagerGradients>(task, eager, /*staged=*/processes != nullptr);
  if (processes != nullptr) gradients->SetProcesses(processes);
  return gradients;
}

}  // namespace

LossGradient::LossGradient(Task& task, CompileMode mode, const EagerOptions& eager, Agreement* agreement,
                           ModelShards* shards, DeviceStep* device, RowGradients* rows)
    : task_(task),
      eager_(device != nullptr ? nullptr : MakeEager(task, mode, eager, agreement)),
      reducer_(shards == nullptr ? agreement : nullptr, task),
      shards_(shards),
      device_(device),
      rows_(rows),
      sums_(static_cast<int>(task.terms().size())) {
  CHECK(device == nullptr || (shards == nullptr && (agreement == nullptr || agreement->alone())));
  CHECK(rows == nullptr || (device == nullptr && shards == nullptr && mode == CompileMode::kCompile &&
                            (agreement == nullptr || agreement->alone()) && sums_.sum.size() == 1));
  CHECK(task.stream() == nullptr || sums_.sum.size() == 1) << "gradients of several terms cannot be streamed";
  if (mode != CompileMode::kCompile && eager.precision == Precision::kFp16Mixed) scaler_.emplace();
  if (rows != nullptr) return;
  for (size_t t = 0; t < sums_.sum.size(); ++t) {
    gradients_.push_back(Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()}));
  }
  // A single term is combined in place, which saves memory and a pass over it.
  combined_ = gradients_.size() == 1 ? gradients_[0] : Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()});
}

// A later run on the same task must not find parameters frozen.
LossGradient::~LossGradient() {
  if (frozen_ != nullptr) task_.SetFrozen({});
}

void LossGradient::SetFrozen(const std::vector<bool>& slices) {
  if (&slices == frozen_) return;
  frozen_ = &slices;
  frozen_parts_.clear();
  task_.SetFrozen(slices);
  const std::vector<ParameterSlice> all = task_.parameter_slices();
  reducer_.SetFrozen(all, slices);
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!slices[s]) continue;
    for (const Tensor& gradient : gradients_) frozen_parts_.push_back(gradient.Slice(all[s].offset, all[s].shape));
  }
}

void LossGradient::Clear() {
  unset_ = eager_ == nullptr && device_ == nullptr && rows_ == nullptr && task_.stream() != nullptr;
  row_gradient_.ranges.clear();
  if (!unset_ && device_ == nullptr) SetToZero(absl::MakeSpan(gradients_));
  step_ = nullptr;
  std::fill(sums_.sum.begin(), sums_.sum.end(), 0.0);
  std::fill(sums_.count.begin(), sums_.count.end(), 0.0);
}

absl::Status LossGradient::Add(const Tensor& parameters, const NamedTensors& batch, bool last) {
  if (device_ != nullptr) {
    RETURN_IF_ERROR(device_->Add(batch, scaler_ ? scaler_->scale() : 1, &sums_));
    // Of several batches, the first whose loss is not finite must be known.
    return last ? absl::OkStatus() : device_->FetchSums(&sums_);
  }
  if (eager_ != nullptr) {
    return eager_->Add(parameters, batch, scaler_ ? scaler_->scale() : 1, absl::MakeSpan(gradients_), &sums_);
  }
  if (rows_ != nullptr) {
    CHECK(last && row_gradient_.ranges.empty()) << "several batches of a step";
    return rows_->ComputeRows(parameters, batch, &row_gradient_, &sums_);
  }
  GradientObserver* const observer = last ? reducer_.Watch(absl::MakeSpan(gradients_)) : nullptr;
  if (task_.stream() == nullptr) {  // the observer hears nothing, and all is summed at the end
    return task_.AccumulateGradients(parameters, batch, absl::MakeSpan(gradients_), &sums_);
  }
  return Stream(parameters, batch, unset_ ? GradientDelivery::Overwrite(observer) : GradientDelivery::Add(observer));
}

absl::Status LossGradient::AddStepping(const Tensor& parameters, const NamedTensors& batch, FusedStep* step) {
  CHECK(unset_);
  step_ = step;
  const absl::Status status = Stream(parameters, batch, GradientDelivery::Stream(step));
  if (!status.ok()) step_->Undo();
  return status;
}

absl::Status LossGradient::Stream(const Tensor& parameters, const NamedTensors& batch,
                                  const GradientDelivery& delivery) {
  unset_ = false;
  return task_.stream()->StreamGradients(parameters, batch, delivery, &gradients_[0], &sums_);
}

bool LossGradient::IsFinite() const {
  return std::all_of(sums_.sum.begin(), sums_.sum.end(), [](double sum) { return std::isfinite(sum); });
}

// The weights also remove the fp16 scale, and the norm reveals values that are not finite.
void LossGradient::Weigh(absl::Span<const double> weight) {
  weight_ = 1;
  if (step_ != nullptr) {
    CHECK_EQ(weight[0], step_->weight());
    weight_ = weight[0];
    norm_ = step_->Norm();
  } else if (leaves_weight_ && weight.size() == 1 && weight[0] != 0) {
    weight_ = weight[0];
    norm_ = std::sqrt(SumOfSquares(weight_, combined_, task_.Threads()));
  } else {
    norm_ = CombineGradients(weight, gradients_, &combined_);
  }
}

absl::Status LossGradient::WeighShards(double weight) {
  double squares = 0;
  if (step_ != nullptr) {
    squares = step_->Squares(shards_->owned());
  } else {
    for (const GradientRange& range : shards_->owned()) squares += SumOfSquares(weight, Part(range));
  }
  ASSIGN_OR_RETURN(norm_, shards_->Complete(weight, squares, &combined_));
  weight_ = step_ != nullptr || leaves_weight_ ? weight : 1;
  if (weight_ == weight) return absl::OkStatus();
  for (const GradientRange& range : shards_->updated()) {
    Tensor part = Part(range);
    CombineGradients({weight}, {part}, &part);
  }
  return absl::OkStatus();
}

absl::StatusOr<Loss> LossGradient::CombineOnDevice() {
  RETURN_IF_ERROR(device_->FetchSums(&sums_));
  Loss loss = task_.CombineTerms(sums_);
  for (double& weight : loss.weight) weight /= scaler_ ? scaler_->scale() : 1;
  ASSIGN_OR_RETURN(norm_, device_->Combine(loss.weight));
  return loss;
}

absl::StatusOr<Loss> LossGradient::CombineRows() {
  const Loss loss = task_.CombineTerms(sums_);
  Tensor& values = row_gradient_.values;
  const double weight = loss.weight[0];
  weight_ = leaves_weight_ && weight != 0 ? weight : 1;
  norm_ = weight_ == weight ? std::sqrt(SumOfSquares(weight, values, task_.Threads()))
                            : CombineGradients({weight}, {values}, &values);
  return loss;
}

absl::StatusOr<Loss> LossGradient::CombineOnHost() {
  if (rows_ != nullptr) return CombineRows();
  if (unset_) SetToZero(absl::MakeSpan(gradients_));  // nothing was added
  unset_ = false;
  if (eager_ != nullptr) RETURN_IF_ERROR(eager_->Fetch(absl::MakeSpan(gradients_), &sums_));
  RETURN_IF_ERROR(reducer_.ReduceTerms(&sums_, absl::MakeSpan(gradients_)));
  Loss loss = task_.CombineTerms(sums_);
  SetToZero(absl::MakeSpan(frozen_parts_));
  for (double& weight : loss.weight) weight /= scaler_ ? scaler_->scale() : 1;
  if (shards_ != nullptr) {
    RETURN_IF_ERROR(WeighShards(loss.weight[0]));
  } else {
    Weigh(loss.weight);
  }
  ASSIGN_OR_RETURN(const bool changed, reducer_.ReduceCombined(&combined_));
  if (changed) norm_ = CombineGradients({1.0}, {combined_}, &combined_);
  return loss;
}

absl::StatusOr<double> LossGradient::Combine(const Checkpoint& state, absl::Span<const int64_t> examples) {
  ASSIGN_OR_RETURN(const Loss loss, device_ != nullptr ? CombineOnDevice() : CombineOnHost());
  overflowed_ = false;
  if (scaler_ && std::isfinite(loss.value)) {
    scaler_->Update(std::isfinite(norm_));
    overflowed_ = !std::isfinite(norm_) && !scaler_->exhausted();
    if (overflowed_) return loss.value;
  }
  if (std::isfinite(loss.value) && std::isfinite(norm_)) return loss.value;
  if (step_ != nullptr) step_->Undo();
  return absl::OutOfRangeError(
      absl::StrCat(std::isfinite(loss.value) ? "the gradient" : "the loss", " is not finite in epoch ", state.epoch + 1,
                   ", step ", state.step + 1, " (loss ", loss.value, "; examples ",
                   absl::StrJoin(examples.subspan(0, 5), ", "), examples.size() > 5 ? ", ..." : "",
                   "): try a lower learning rate or clip the gradient, and check these examples"));
}

NamedTensors LossGradient::State() const { return scaler_ ? scaler_->State() : NamedTensors(); }

absl::Status LossGradient::SetState(const NamedTensors& state) {
  return scaler_ ? scaler_->SetState(state) : absl::OkStatus();
}

}  // namespace rutile
