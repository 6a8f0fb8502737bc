// Steps where a task's own kernels leave the gradient (lib/task/gradients/resident_gradients.h).

#ifndef RUTILE_LIB_TRAIN_STEP_RESIDENT_STEP_H_
#define RUTILE_LIB_TRAIN_STEP_RESIDENT_STEP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/gpu/device_parameters.h"
#include "lib/optimizer/optimizer.h"
#include "lib/task/gradients/resident_gradients.h"
#include "lib/task/loss_terms.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/device_step.h"

namespace rutile {

// Results are those of the host's optimizers to the bit where the CPU has fused multiply-adds; norms, and with them
// gradients that are clipped by norm, to the rounding of fp64.
class ResidentStep : public DeviceStep {
 public:
  // The task must have resident gradients, one term, and outlive this. Only one such object may be in use at a time: a
  // new one forgets what another has left on the device.
  explicit ResidentStep(Task* task);
  ~ResidentStep() override { device_.Forget(); }

  absl::Status Begin(const Tensor& parameters) override;
  absl::Status Add(const NamedTensors& batch, double scale, TermSums* sums) override;
  absl::Status FetchSums(TermSums* sums) override { return gradients_.FetchSums(sums); }
  absl::StatusOr<double> Combine(absl::Span<const double> weight) override;
  absl::Status Step(double learning_rate, double norm, const TrainerOptions& options, Optimizer* optimizer) override;
  absl::Status CopyBuffers(const Tensor& parameters, absl::Span<const ParameterSlice> slices) override;
  absl::Status UpdateAverage(int64_t step, Ema* ema) override;
  absl::Status Gather() override;
  void Forget() override { device_.Forget(); }

 private:
  ResidentGradients& gradients_;
  DeviceParameters& device_;
  bool added_ = false;  // the gradient of this step has a batch
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_RESIDENT_STEP_H_
