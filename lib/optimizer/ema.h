// The exponential moving average of the parameters, on a flat tensor of its own: it is never swapped with the
// parameters that train. Who validates or predicts with it passes its tensor instead of theirs.

#ifndef RUTILE_LIB_OPTIMIZER_EMA_H_
#define RUTILE_LIB_OPTIMIZER_EMA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

enum class EmaDecay { kConstant, kThreshold, kExponential };

absl::string_view EmaDecayName(EmaDecay type);                   // "constant", "threshold", "exp"
absl::StatusOr<EmaDecay> ParseEmaDecay(absl::string_view name);  // INVALID_ARGUMENT naming the choices

// average <- d average + (1 - d) parameters, with `decay` D and
//   constant   d = D
//   threshold  d = min(D, (1 + t) / (10 + t)), t = updates done (the copy that starts the average is one)
//   exp        d = D (1 - exp(-beta s / S)),   s = optimizer steps done before this one, S = those of the whole run
// The last two are SuperGradients' (its s and t are equal, as it updates at every step from the first).
struct EmaOptions {
  EmaDecay type = EmaDecay::kThreshold;
  double decay = 0.999;
  double beta = 15;                  // exp
  int64_t start_step = 0;            // there is no average before this many optimizer steps are done
  int64_t update_every_n_steps = 1;  // counted from the first update
};

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckEmaOptions(const EmaOptions& options);

class Ema {
 public:
  // run_steps: S, needed by exp alone (CHECK-fails when it is below 1 there). dtype: F32 or F64 (CHECK-fails).
  Ema(const EmaOptions& options, DType dtype, int64_t num_parameters, int64_t run_steps);

  // Called after every optimizer step that changed the parameters (not after one that a gradient scaler skipped), with
  // the number of steps done, from 1. The first update copies. parameters: [P] of the type it was made for.
  void Update(const Tensor& parameters, int64_t step);

  // [P], or nullptr before the first update. Its memory stays where it is.
  const Tensor* parameters() const { return updates_ > 0 ? &average_ : nullptr; }

  // updates: i64 [] = updates done. The average itself is not among the state: the checkpoint keeps parameters() by
  // name, as it does the model's.
  NamedTensors State() const;
  // average: what parameters() was; nullptr where that was nullptr. Copies. INVALID_ARGUMENT when something is missing
  // or does not fit; then nothing has changed.
  absl::Status SetState(const NamedTensors& state, const Tensor* average);

 private:
  const EmaOptions options_;
  const int64_t run_steps_;
  Tensor average_;
  int64_t updates_ = 0;
};

// d of the formulas above.
double EmaDecayAt(const EmaOptions& options, int64_t updates, int64_t steps_before, int64_t run_steps);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_EMA_H_
