// Steps an optimizer where gradients are made, on a GPU: parameters, the optimizer's averages and the moving average of
// the parameters stay there, and the host's tensors are out of date until Gather.
//
// Results are those of the host's optimizers, to rounding. The tensors are copied exactly, so that a run that goes on
// from what Gather has fetched equals one that was not interrupted, to the bit.

#ifndef RUTILE_LIB_TRAIN_STEP_DEVICE_STEP_H_
#define RUTILE_LIB_TRAIN_STEP_DEVICE_STEP_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/loss_terms.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Says why a run cannot step on its device, so that gradients are fetched and the host steps; "" if it can.
// alone: no other process trains with this one.
std::string WhyHostSteps(const TrainerOptions& options, const Task& task, bool alone);

// The parts of a step, in the order in which they are called. Errors are INTERNAL, with the device's message (a GPU out
// of memory), and those of the task.
class DeviceStep {
 public:
  virtual ~DeviceStep() = default;

  // Begins a step with a gradient of 0. parameters: [P], always in the same memory; they are copied to the device the
  // first time, and again after Forget.
  virtual absl::Status Begin(const Tensor& parameters) = 0;
  // Adds `scale` times the gradients of the batch's terms. Their sums, which are not scaled, and their counts come to
  // `sums` with FetchSums at the latest.
  virtual absl::Status Add(const NamedTensors& batch, double scale, TermSums* sums) = 0;
  // Waits for the device and adds what Add has not yet added to `sums`.
  virtual absl::Status FetchSums(TermSums* sums) = 0;
  // Forms the gradient of the step as CombineGradients does and returns its norm. weight: [T].
  virtual absl::StatusOr<double> Combine(absl::Span<const double> weight) = 0;
  // Clips that gradient, of Euclidean norm `norm`, as the options say, and performs the optimizer's next step with it.
  virtual absl::Status Step(double learning_rate, double norm, const TrainerOptions& options, Optimizer* optimizer) = 0;
  // Copies the buffers among the slices, which the task sets on the host, to the device.
  virtual absl::Status CopyBuffers(const Tensor& parameters, absl::Span<const ParameterSlice> slices) = 0;
  // Does what Ema::Update does.
  virtual absl::Status UpdateAverage(int64_t step, Ema* ema) = 0;

  // Copies everything back to the tensors that it came from. The copies on the device remain valid.
  virtual absl::Status Gather() = 0;
  // Must be called after the host's tensors have changed, but for buffers: they are copied anew when they are needed.
  virtual void Forget() = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_DEVICE_STEP_H_
