// The inner loops of the optimisers: one pass over parameters, gradient and state, on the widest vectors of the
// machine.

#ifndef RUTILE_LIB_TRAIN_OPTIMIZER_KERNEL_H_
#define RUTILE_LIB_TRAIN_OPTIMIZER_KERNEL_H_

#include "absl/types/span.h"

namespace rutile {

// One step of Adam with the numbers of this step worked out by the caller:
//   p *= keep
//   g' = g + l2 * p
//   m  = beta1 m + (1 - beta1) g'
//   v  = beta2 v + (1 - beta2) g'^2
//   p -= step_size * m / (sqrt(v) / root_correction2 + epsilon)
struct AdamStep {
  double keep = 1;
  double l2 = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double step_size = 0;         // lr / (1 - beta1^t)
  double root_correction2 = 1;  // sqrt(1 - beta2^t)
};

// All spans have one length (CHECK-fails otherwise).
void AdamUpdate(const AdamStep& step, absl::Span<const float> g, absl::Span<float> m, absl::Span<float> v,
                absl::Span<float> p);
void AdamUpdate(const AdamStep& step, absl::Span<const double> g, absl::Span<double> m, absl::Span<double> v,
                absl::Span<double> p);

// One step of SGD:
//   g' = g + l2 * p
//   without momentum:          p -= lr g'
//   b = momentum b + gain g',  p -= lr b, or lr (g' + momentum b) with nesterov
struct SgdStep {
  double l2 = 0;
  double momentum = 0;
  double gain = 1;  // 1 - dampening; 1 in the first step, which starts from b = 0
  bool nesterov = false;
  double learning_rate = 0;
};

// `b` is empty when momentum is 0.
void SgdUpdate(const SgdStep& step, absl::Span<const float> g, absl::Span<float> b, absl::Span<float> p);
void SgdUpdate(const SgdStep& step, absl::Span<const double> g, absl::Span<double> b, absl::Span<double> p);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIMIZER_KERNEL_H_
