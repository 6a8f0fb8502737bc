// Does on a GPU what ConveKernel does on processors: losses of batches and their gradients, for KgeTask.

#ifndef RUTILE_LIB_KGE_TRAINING_DEVICE_KGE_KERNEL_H_
#define RUTILE_LIB_KGE_TRAINING_DEVICE_KGE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/kge/gpu/kge_step.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns what kernels of GPUs need to know of a model. factors: how they round factors of matrix products in training.
KgeStepShape MakeStepShape(const KgeShape& shape, FactorRounding factors = FactorRounding::kNone);

// One thread at a time may use an object. INTERNAL from any call if the device has failed.
class DeviceKgeKernel {
 public:
  // step: of MakeStepShape(shape), in the shape's precision.
  DeviceKgeKernel(const KgeShape& shape, std::unique_ptr<KgeStep> step);

  // The parameters and the gradient on the device.
  DeviceParameters* parameters() { return step_->parameters(); }

  // Computes the gradient of a training batch at parameters() and adds it to the gradient there, or overwrites that.
  // Does not wait.
  absl::Status Add(const KgeBatch& batch, bool overwrite);
  // Computes the loss of a batch at the parameters that were set last. Does not wait.
  absl::Status Evaluate(const KgeBatch& batch);
  // Waits for all batches since the last call. Adds their losses to loss_sum, as ConveKernel does, and the statistics
  // of their norms, in order, to `statistics`.
  absl::Status Fetch(double* loss_sum, std::vector<BatchStatistics>* statistics);

  // Overwrites gradient [P] with that of a training batch at `parameters` [P], which take the place of those of
  // SetEvaluated; parameters() stay as they are. Waits. What the batch adds to the sums is left to Fetch.
  absl::Status Gradient(const Tensor& parameters, const KgeBatch& batch, Tensor* gradient);

  // Sets the parameters [P] of Evaluate and Hidden, beside those of training.
  absl::Status SetEvaluated(const Tensor& parameters);
  // Does what ConveKernel::Hidden does, at these parameters.
  absl::Status Hidden(absl::Span<const int32_t> heads, absl::Span<const int32_t> relations, Tensor* hidden);

 private:
  // CHECK-fails unless they are [P] of the model's type.
  void CheckParameters(const Tensor& parameters) const;
  KgeStepBatch MakeStepBatch(const KgeBatch& batch) const;

  const KgeShape shape_;
  const KgeStepShape step_shape_;
  const std::unique_ptr<KgeStep> step_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_DEVICE_KGE_KERNEL_H_
