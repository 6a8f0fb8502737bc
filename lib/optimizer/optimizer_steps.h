// The numbers of one step of each optimizer, as the caller has worked them out, and what the step does with them.
//
// nvcc compiles this file, so it uses the standard library alone.

#ifndef RUTILE_LIB_OPTIMIZER_OPTIMIZER_STEPS_H_
#define RUTILE_LIB_OPTIMIZER_OPTIMIZER_STEPS_H_

namespace rutile {

// In all formulas g stands for `scale` times the gradient, which is rounded before anything else is done with it.

// One step of Adam:
//   p *= keep
//   g' = g + l2 * p
//   m  = beta1 m + (1 - beta1) g'
//   v  = beta2 v + (1 - beta2) g'^2
//   p -= step_size * m / (sqrt(v) / root_correction2 + epsilon)
// and with amsgrad, which remembers the largest v so far:
//   h  = max(h, v), which stands in the place of v in the last line
struct AdamStep {
  double scale = 1;
  double keep = 1;
  double l2 = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double step_size = 0;         // lr / (1 - beta1^t)
  double root_correction2 = 1;  // sqrt(1 - beta2^t)
};

// One step of SGD:
//   g' = g + l2 * p
//   without momentum:          p -= lr g'
//   b = momentum b + gain g',  p -= lr b, or lr (g' + momentum b) with nesterov
struct SgdStep {
  double scale = 1;
  double l2 = 0;
  double momentum = 0;
  double gain = 1;  // 1 - dampening; 1 in the first step, which starts from b = 0
  bool nesterov = false;
  double learning_rate = 0;
};

// One step of RMSprop:
//   g' = g + l2 * p
//   v  = alpha v + (1 - alpha) g'^2
//   d  = g' / (sqrt(v) + epsilon)
//   centered: m = alpha m + (1 - alpha) g', and v - m^2 (or 0, where rounding makes that less) instead of v in d
//   without momentum:        p -= lr d
//   b = momentum b + d,      p -= lr b
struct RmspropStep {
  double scale = 1;
  double l2 = 0;
  double alpha = 0;
  double epsilon = 0;
  double momentum = 0;
  double learning_rate = 0;
};

// One step of Adagrad:
//   g' = g + l2 * p
//   s += g'^2
//   p -= step_size * g' / (sqrt(s) + epsilon)
struct AdagradStep {
  double scale = 1;
  double l2 = 0;
  double epsilon = 0;
  double step_size = 0;  // lr / (1 + lr_decay t)
};

// One step of schedule-free AdamW; y is what gradients are taken at, z what moves, and their average x stays implicit
// (y = (1 - beta1) z + beta1 x):
//   v  = beta2 v + (1 - beta2) g^2
//   d  = g / (sqrt(v) / root_correction2 + epsilon) + decay * y
//   y += share * (z - y) - y_rate * d
//   z -= learning_rate * d
struct ScheduleFreeStep {
  double scale = 1;
  double beta2 = 0;
  double epsilon = 0;
  double decay = 0;
  double root_correction2 = 1;  // sqrt(1 - beta2^t)
  double share = 0;             // of this step's z in the new average
  double y_rate = 0;            // learning_rate * (1 - beta1 (1 - share))
  double learning_rate = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_OPTIMIZER_STEPS_H_
