// Keeps gradients of fp16 in range: they are computed of scale times the loss, and the scale is found by trial.

#ifndef RUTILE_LIB_OPTIMIZER_GRAD_SCALER_H_
#define RUTILE_LIB_OPTIMIZER_GRAD_SCALER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The rule of torch.cuda.amp.GradScaler, with its constants: the scale starts at 65536, halves when a gradient is not
// finite (that step is not taken), and doubles after 2000 steps in a row that were.
class GradScaler {
 public:
  // What the loss is to be multiplied with before its gradient is taken. A power of 2: multiplying and dividing by it
  // rounds nothing away.
  double scale() const { return scale_; }

  // After each gradient: whether all of it was finite.
  void Update(bool finite);

  // Gradients have overflowed at any scale: it has come down to 2^-16, and the numbers themselves must be at fault.
  bool exhausted() const { return scale_ <= kLeast; }

  // grad_scaler: f64 [2] = scale, steps since it changed.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);  // INVALID_ARGUMENT: missing, another shape, or no scale

 private:
  static constexpr double kFirst = 65536, kGrowth = 2, kBackoff = 0.5, kLeast = 1 / kFirst;
  static constexpr int64_t kGrowthInterval = 2000;
  double scale_ = kFirst;
  int64_t good_steps_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GRAD_SCALER_H_
