// Steps with LibTorch's operations, on the device that computes its gradients.

#ifndef RUTILE_LIB_TRAIN_STEP_TORCH_DEVICE_STEP_H_
#define RUTILE_LIB_TRAIN_STEP_TORCH_DEVICE_STEP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/eager_options.h"
#include "lib/task/loss_terms.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/device_step.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// Gradients are those of EagerGradients. All calls return INTERNAL with LibTorch's message if it throws.
class TorchDeviceStep : public DeviceStep {
 public:
  // `task` must outlive this, and CheckEager must have passed.
  TorchDeviceStep(const Task& task, const EagerOptions& options);
  ~TorchDeviceStep() override;

  absl::Status Begin(const Tensor& parameters) override;
  absl::Status Add(const NamedTensors& batch, double scale, TermSums* sums) override;
  absl::Status FetchSums(TermSums* sums) override;
  absl::StatusOr<double> Combine(absl::Span<const double> weight) override;
  absl::Status Step(double learning_rate, double norm, const TrainerOptions& options, Optimizer* optimizer) override;
  absl::Status CopyBuffers(const Tensor& parameters, absl::Span<const ParameterSlice> slices) override;
  absl::Status UpdateAverage(int64_t step, Ema* ema) override;
  absl::Status Gather() override;
  void Forget() override;

  // [T] of [P], what Combine will combine and reset; undefined: 0.
  std::vector<at::Tensor>* gradients();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

// A TorchDeviceStep, for callers that programs without LibTorch link as well.
std::unique_ptr<DeviceStep> MakeTorchDeviceStep(const Task& task, const EagerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_TORCH_DEVICE_STEP_H_
