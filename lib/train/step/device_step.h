// Steps an optimizer where gradients are made, on a GPU: parameters, the optimizer's averages and the moving average of
// the parameters stay there, and the host's tensors are out of date until Gather.
//
// Results are those of the host's optimizers, to rounding. The tensors are copied exactly, so that a run that goes on
// from what Gather has fetched equals one that was not interrupted, to the bit.

#ifndef RUTILE_LIB_TRAIN_STEP_DEVICE_STEP_H_
#define RUTILE_LIB_TRAIN_STEP_DEVICE_STEP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/optimizer/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/options/trainer_options.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// Says why a run cannot step on its device, so that gradients are fetched and the host steps; "" if it can.
// alone: no other process trains with this one.
std::string WhyHostSteps(const TrainerOptions& options, bool alone);

// All calls but the constructor return INTERNAL with LibTorch's message if it throws (a GPU out of memory).
class DeviceStep {
 public:
  explicit DeviceStep(const std::string& device);
  ~DeviceStep();

  // Must be called before each step. parameters: [P], always in the same memory; they are copied to the device the
  // first time, and again after Forget.
  absl::Status Begin(const Tensor& parameters);
  // The parameters on the device [P], since Begin.
  const at::Tensor& parameters() const;

  // Forms the gradient of the step as CombineGradients does and returns its norm. gradients: [T] of [P] on the device;
  // undefined: 0. They are reset.
  absl::StatusOr<double> Combine(absl::Span<const double> weight, std::vector<at::Tensor>* gradients);
  // Clips that gradient, of Euclidean norm `norm`, as the options say, and performs the optimizer's next step with it.
  absl::Status Step(double learning_rate, double norm, const TrainerOptions& options, Optimizer* optimizer);
  // Copies the buffers among the slices, which the task sets on the host, to the device.
  absl::Status CopyBuffers(const Tensor& parameters, absl::Span<const ParameterSlice> slices);
  // Does what Ema::Update does.
  absl::Status UpdateAverage(int64_t step, Ema* ema);

  // Copies everything back to the tensors that it came from. The copies on the device remain valid.
  absl::Status Gather();
  // Must be called after the host's tensors have changed, but for buffers: they are copied anew when they are needed.
  void Forget();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_DEVICE_STEP_H_
