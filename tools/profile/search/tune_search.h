// Which settings make a run faster, found by short trials within a time budget.
//
// 1. Screening: each choice once, with a trial of the run as it is (the baseline) after every third. A choice's gain is
//    its rate by the mean of the baselines before and after it: what else the machine does moves slowly, and cancels.
// 2. Halving (Jamieson, Talwalkar, AISTATS 2016): the better half again, longer, alternating with the baseline.
// 3. Combining: choices that are allowed and gain more than the noise, one of each dimension, are put together from the
//    best on; each stays if the combination is faster with it.
// 4. The combination and the baseline take turns, in pairs, in the time that is left. It is recommended if it wins in
//    every pair (of five and more, in all but one) by more than the pairs differ: short steps on several threads can
//    vary more from run to run than anything gains.
// 5. A thrifty choice, which leaves more of the machine to others, is recommended unless it loses in every pair or is
//    slower by more than min_gain.

#ifndef RUTILE_TOOLS_PROFILE_SEARCH_TUNE_SEARCH_H_
#define RUTILE_TOOLS_PROFILE_SEARCH_TUNE_SEARCH_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

using TuneFlags = std::vector<std::pair<std::string, std::string>>;  // name, value; of a name the last one counts

struct TuneChoice {
  std::string dimension;  // "batch_size": one of a dimension is recommended at most
  TuneFlags flags;        // {{"batch_size", "64"}}
  bool allowed = true;    // may be recommended; others are measured, for the table
  std::string note;       // "another course of training"
  bool thrifty = false;   // takes less of the machine: fewer threads
};

struct TuneOptions {
  double budget_s = 120;    // of all trials, overhead included
  double overhead_s = 0.3;  // of a trial, beside the seconds that it measures
  double min_trial_s = 0.3;
  double max_trial_s = 20;
  double min_gain = 1.03;                       // less is not worth a flag
  std::function<double()> now;                  // seconds on any clock that runs
  std::function<void(std::string)> on_message;  // "12/40 s: batch_size=64: 1.31 times"; may be empty
};

// Examples per second with these flags beside those of the run, measured for about `seconds`. INVALID_ARGUMENT: they do
// not go with the run, and the message says why. CANCELLED: stop now. Other errors: this choice fails.
using TuneMeasure = std::function<absl::StatusOr<double>(const TuneFlags& flags, double seconds)>;

struct TuneOutcome {
  enum class State { kNotTried, kMeasured, kRefused, kFailed };
  State state = State::kNotTried;
  std::string message;        // of kRefused and kFailed
  std::vector<double> gains;  // of its trials: 1.2 is 20 % faster
  double gain = 0;            // their mean, by logarithm
  double rate = 0;            // examples per second: gain times the baseline
};

struct TuneResult {
  std::vector<TuneOutcome> outcomes;  // [choices]
  std::vector<double> baseline;       // rates of all its trials
  double baseline_rate = 0;           // their median
  double noise = 0;                   // relative: median deviation of baseline from its median
  std::vector<int> recommended;       // choices, in the order in which they were put together
  double recommended_gain = 1;        // of the last stage, or the product's best estimate when there was no time for it
  bool confirmed = false;             // recommended_gain was measured with all of `recommended`
  bool only_thrifty = false;          // `recommended` is no faster, but takes less of the machine
  std::vector<double> pairs;          // gains of the last stage, whether it led to a recommendation or not
  std::string rejected;               // flags that looked faster, and were not in `pairs`
  double best_gain = 1;               // the highest of allowed choices and combinations
  bool interrupted = false;
};

// Errors: of the first trial of the baseline.
absl::StatusOr<TuneResult> SearchTune(absl::Span<const TuneChoice> choices, const TuneMeasure& measure,
                                      const TuneOptions& options);

// "batch_size=64": of flags.
std::string TuneFlagsText(const TuneFlags& flags);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SEARCH_TUNE_SEARCH_H_
