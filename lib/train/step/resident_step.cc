#include "lib/train/step/resident_step.h"

#include <optional>
#include <string>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/gpu/device_performer.h"

namespace rutile {
namespace {

absl::Status StatusOf(const std::string& error) {
  return error.empty() ? absl::OkStatus() : absl::InternalError(error);
}

}  // namespace

ResidentStep::ResidentStep(Task* task) : gradients_(*task->resident()), device_(*gradients_.parameters()) {
  CHECK_EQ(task->terms().size(), 1u);
  CHECK_EQ(device_.size(), task->num_parameters());
  CHECK_EQ(device_.value_bytes(), ByteSize(task->parameter_dtype()));
  device_.Forget();
}

absl::Status ResidentStep::Begin(const Tensor& parameters) {
  CHECK_EQ(parameters.num_elements(), device_.size());
  added_ = false;
  Tensor shared = parameters;  // has the same memory, which Gather writes to
  return StatusOf(device_.Begin(shared.mutable_data()));
}

absl::Status ResidentStep::Add(const NamedTensors& batch, double scale, TermSums* /*sums*/) {
  CHECK_EQ(scale, 1) << "gradients are scaled for LibTorch's fp16";
  RETURN_IF_ERROR(gradients_.AddOnDevice(batch, /*overwrite=*/!added_));
  added_ = true;
  return absl::OkStatus();
}

absl::StatusOr<double> ResidentStep::Combine(absl::Span<const double> weight) {
  CHECK_EQ(weight.size(), 1u);
  if (!added_) RETURN_IF_ERROR(StatusOf(device_.ClearGradient()));
  double norm = 0;
  RETURN_IF_ERROR(StatusOf(device_.Combine(weight[0], &norm)));
  return norm;
}

absl::Status ResidentStep::Step(double learning_rate, double norm, const TrainerOptions& options,
                                Optimizer* optimizer) {
  if (options.gradient_clip_algorithm == GradientClip::kNorm) {
    device_.ClipByNorm(norm, options.gradient_clip_val);
  } else {
    device_.ClipByValue(options.gradient_clip_val);
  }
  optimizer->BeginStep(learning_rate);
  return PerformStep(*optimizer, &device_);
}

absl::Status ResidentStep::CopyBuffers(const Tensor& parameters, absl::Span<const ParameterSlice> slices) {
  for (const ParameterSlice& slice : slices) {
    if (!slice.buffer) continue;
    RETURN_IF_ERROR(StatusOf(device_.CopyBuffer(parameters.data(), slice.offset, slice.num_elements())));
  }
  return absl::OkStatus();
}

absl::Status ResidentStep::UpdateAverage(int64_t step, Ema* ema) {
  const std::optional<double> share = ema->CountUpdate(step);
  if (!share) return absl::OkStatus();
  Tensor average = *ema->parameters();  // has the same memory
  return StatusOf(device_.UpdateAverage(*share, average.mutable_data()));
}

absl::Status ResidentStep::Gather() { return StatusOf(device_.Gather()); }

}  // namespace rutile
