// The exponential moving average of the parameters, in a flat tensor of its own. It is never swapped with the trained
// parameters: code that validates or predicts with the average passes its tensor instead.

#ifndef RUTILE_LIB_OPTIMIZER_AVERAGES_EMA_H_
#define RUTILE_LIB_OPTIMIZER_AVERAGES_EMA_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"
#include "lib/base/settings.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

enum class EmaDecay { kConstant, kThreshold, kExponential };

inline constexpr absl::string_view kEmaDecayWords[] = {"constant", "threshold", "exp"};
inline constexpr EnumNames<EmaDecay> kEmaDecayNames("no EMA decay", kEmaDecayWords);

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

// One row for each option: its flag, range, and what resuming demands.
absl::Span<const Setting<EmaOptions>> EmaSettings();

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckEmaOptions(const EmaOptions& options);

// Maintains the average over a run. The trainer calls Update after each optimizer step.
class Ema {
 public:
  // run_steps: S, used by `exp` alone, for which it must be at least 1. dtype: F32 or F64. CHECK-fails otherwise.
  Ema(const EmaOptions& options, DType dtype, int64_t num_parameters, int64_t run_steps);

  // Must be called after every optimizer step that changed the parameters (not after one that a gradient scaler
  // skipped), with the number of steps done, from 1. The first update copies. parameters: [P] of type dtype.
  void Update(const Tensor& parameters, int64_t step);
  // Counts the update that is due after so many steps, for a caller who keeps the average elsewhere and copies it to
  // parameters() before it is read. Returns the parameters' share of the new average, 1 in the first update, or nullopt
  // if none is due.
  std::optional<double> CountUpdate(int64_t step);

  // The average [P], or nullptr before the first update. Its memory never moves.
  const Tensor* parameters() const { return updates_ > 0 ? &average_ : nullptr; }

  // updates: i64 [] = updates done. The average itself is not part of the state: checkpoints store parameters() by
  // name, like the model's parameters.
  NamedTensors State() const;
  // Copies the state. average: the saved parameters(), which may be nullptr. INVALID_ARGUMENT, and no change, if a
  // tensor is missing or does not fit.
  absl::Status SetState(const NamedTensors& state, const Tensor* average);

 private:
  const EmaOptions options_;
  const int64_t run_steps_;
  Tensor average_;
  int64_t updates_ = 0;
};

// Returns d of the formulas at EmaOptions.
double EmaDecayAt(const EmaOptions& options, int64_t updates, int64_t steps_before, int64_t run_steps);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_AVERAGES_EMA_H_
