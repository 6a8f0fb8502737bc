// Keeps fp16 gradients in range by multiplying the loss with a scale that is found by trial.

#ifndef RUTILE_LIB_OPTIMIZER_GRAD_SCALER_H_
#define RUTILE_LIB_OPTIMIZER_GRAD_SCALER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Follows torch.cuda.amp.GradScaler and its constants: the scale starts at 65536, halves when a gradient is not finite
// (that step is skipped), and doubles after 2000 steps in a row without such a gradient.
class GradScaler {
 public:
  // The factor for the loss, before its gradient is taken. It is a power of 2, so multiplying and dividing by it is
  // exact.
  double scale() const { return scale_; }

  // Must be called after each gradient; `finite` says whether all of it was finite.
  void Update(bool finite);

  // True if the scale has come down to 2^-16 because gradients overflow at any scale: the values themselves are at
  // fault.
  bool exhausted() const { return scale_ <= kLeast; }

  // grad_scaler: f64 [2] = scale, steps since it changed.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);  // INVALID_ARGUMENT: missing, another shape, or no valid scale

 private:
  static constexpr double kFirst = 65536, kGrowth = 2, kBackoff = 0.5, kLeast = 1 / kFirst;
  static constexpr int64_t kGrowthInterval = 2000;
  double scale_ = kFirst;
  int64_t good_steps_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GRAD_SCALER_H_
