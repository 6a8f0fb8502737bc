// A capability of tasks with one term and a large gradient: they finish it part by part, and can overwrite it.

#ifndef RUTILE_LIB_TASK_GRADIENTS_GRADIENT_STREAM_H_
#define RUTILE_LIB_TASK_GRADIENTS_GRADIENT_STREAM_H_

#include <vector>

#include "absl/status/status.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/loss_terms.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Task::stream() returns it. Only tasks of one term have it, whose weight Task::CombineTerms computes from the count
// alone, not from the sum: who takes parts of a gradient must know the weight before the gradient is complete.
class GradientStream {
 public:
  virtual ~GradientStream() = default;

  // Returns the parts of the gradient that StreamGradients announces to an observer, in the order in which it finishes
  // them, which is the same for every batch and in every process. A batch may announce only the first of them, or none.
  virtual std::vector<GradientRange> EarlyGradients() const = 0;

  // Does what Task::AccumulateGradients does, but leaves the gradient of the only term where `delivery` says.
  // gradient: flat, the parameters' type. Task::AccumulateGradients is this with GradientDelivery::Add().
  virtual absl::Status StreamGradients(const Tensor& parameters, const NamedTensors& batch,
                                       const GradientDelivery& delivery, Tensor* gradient, TermSums* sums) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENTS_GRADIENT_STREAM_H_
