// What Adagrad and its form by rows remember: sums of squares, and the number of steps, by which the rate falls.

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_SUMS_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_SUMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Its state consists of sum [size] of the parameters' type and step i64 [].
class AdagradSums {
 public:
  // Each sum begins with options.initial_accumulator.
  AdagradSums(const OptimizerOptions& options, DType dtype, int64_t size);

  // Counts a step, and returns its numbers but for the weight decay and the gradient's scale.
  AdagradStep NextStep(const OptimizerOptions& options, double learning_rate);

  const Tensor& sum() const { return sum_; }
  Tensor* mutable_sum() { return &sum_; }

  NamedTensors State() const;
  // INVALID_ARGUMENT if a tensor is missing or has another type or shape; nothing is changed then.
  absl::Status SetState(const NamedTensors& state);

 private:
  int64_t step_ = 0;
  Tensor sum_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_SUMS_H_
