// Finds settings that make a run faster by short trials within a time budget.
//
// 1. Screening: each choice is tried once, with a trial of the run as it is (the baseline) after every third. A
// choice's
//    gain is its rate by the mean of the baselines before and after it: other work on the machine changes slowly, and
//    cancels.
// 2. Halving (Jamieson, Talwalkar, AISTATS 2016): the better half is tried again, longer, alternating with the
// baseline.
// 3. Combining: choices that are allowed and gain more than the noise, one of each dimension, are combined from the
// best
//    on; each stays if the combination is faster with it.
// 4. The combination and the baseline take turns, in pairs, in the remaining time. The combination is recommended if it
//    wins in every pair (of five and more, in all but one) by more than the pairs differ: short steps on several
//    threads can vary more from run to run than any choice gains.
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

using TuneFlags = std::vector<std::pair<std::string, std::string>>;  // name, value; the last one of a name counts

// A choice to try.
struct TuneChoice {
  std::string dimension;  // "batch_size": at most one choice of a dimension is recommended
  TuneFlags flags;        // {{"batch_size", "64"}}
  bool allowed = true;    // may be recommended; others are measured only for the table
  std::string note;       // "another course of training"
  bool thrifty = false;   // uses less of the machine: fewer threads
};

// The budget of the search, and how it reports.
struct TuneOptions {
  double budget_s = 120;    // seconds of all trials, overhead included
  double overhead_s = 0.3;  // seconds of a trial in addition to those that it measures
  double min_trial_s = 0.3;
  double max_trial_s = 20;
  double min_gain = 1.03;                       // a smaller gain is not worth a flag
  std::function<double()> now;                  // returns the seconds of any running clock
  std::function<void(std::string)> on_message;  // "12/40 s: batch_size=64: 1.31 times"; may be empty
};

// Measures examples per second for about `seconds` with these flags added to the run's. INVALID_ARGUMENT: they do not
// fit the run, and the message says why. CANCELLED: stop now. Other errors: this choice fails.
using TuneMeasure = std::function<absl::StatusOr<double>(const TuneFlags& flags, double seconds)>;

// The result of one choice.
struct TuneOutcome {
  enum class State { kNotTried, kMeasured, kRefused, kFailed };
  State state = State::kNotTried;
  std::string message;        // why, for kRefused and kFailed
  std::vector<double> gains;  // gain in each trial: 1.2 is 20 % faster
  double gain = 0;            // geometric mean of the gains
  double rate = 0;            // examples per second: gain times the baseline
};

// The result of a search.
struct TuneResult {
  std::vector<TuneOutcome> outcomes;  // [choices]
  std::vector<double> baseline;       // rates of all trials of the baseline
  double baseline_rate = 0;           // their median
  double noise = 0;                   // relative median deviation of the baseline from its median
  std::vector<int> recommended;       // choices, in the order of combination
  double recommended_gain = 1;        // gain in the last stage, or the best estimate if there was no time for it
  bool confirmed = false;             // whether recommended_gain was measured with all of `recommended`
  bool only_thrifty = false;          // `recommended` is no faster, but uses less of the machine
  std::vector<double> pairs;          // gains in the last stage, also without a recommendation
  std::string rejected;               // flags that seemed faster, but were not in `pairs`
  double best_gain = 1;               // highest gain of allowed choices and combinations
  bool interrupted = false;
};

// Runs the search. Errors are those of the first trial of the baseline.
absl::StatusOr<TuneResult> SearchTune(absl::Span<const TuneChoice> choices, const TuneMeasure& measure,
                                      const TuneOptions& options);

// Formats flags, "batch_size=64".
std::string TuneFlagsText(const TuneFlags& flags);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SEARCH_TUNE_SEARCH_H_
