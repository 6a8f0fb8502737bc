#include "tools/profile/search/tune_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

constexpr double kScreening = 0.4, kHalving = 0.2, kCombining = 0.1;  // shares of the budget; the rest is for the last
                                                                      // stage
constexpr int kBetweenBaselines = 3;
constexpr int kMostPairs = 7, kThriftyPairs = 3;
constexpr size_t kLeastPairs = 2;  // one pair says little

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Returns the relative median deviation from the median.
double Spread(const std::vector<double>& values) {
  const double median = Median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value / median - 1));
  return Median(deviations);
}

double LogMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

class Search {
 public:
  Search(absl::Span<const TuneChoice> choices, const TuneMeasure& measure, const TuneOptions& options)
      : choices_(choices),
        measure_(measure),
        options_(options),
        start_(options.now()),
        overhead_s_(options.overhead_s) {
    result_.outcomes.resize(choices.size());
  }

  absl::StatusOr<TuneResult> Run() {
    const absl::StatusOr<double> first = Baseline(std::max(options_.min_trial_s, options_.budget_s / 60));
    RETURN_IF_ERROR(first.status());
    const absl::Status status = RunStages();
    if (!status.ok()) result_.interrupted = true;  // CANCELLED alone comes here
    Conclude();
    return std::move(result_);
  }

 private:
  double Elapsed() const { return options_.now() - start_; }
  double Left() const { return options_.budget_s - Elapsed(); }
  bool HasTimeFor(double seconds) const { return Left() > seconds + overhead_s_; }

  // Measures, and updates the overhead of a trial, which changes as others use this machine.
  absl::StatusOr<double> Measure(const TuneFlags& flags, double seconds) {
    const double begin = options_.now();
    absl::StatusOr<double> rate = measure_(flags, seconds);
    if (rate.ok()) overhead_s_ = (overhead_s_ + std::max(0.0, options_.now() - begin - seconds)) / 2;
    return rate;
  }

  absl::StatusOr<double> Baseline(double seconds) {
    const absl::StatusOr<double> rate = Measure({}, seconds);
    if (rate.ok()) result_.baseline.push_back(*rate);
    return rate;
  }

  void Say(const std::string& what) const {
    if (options_.on_message) {
      options_.on_message(absl::StrFormat("%.0f/%.0f s: %s", Elapsed(), options_.budget_s, what));
    }
  }

  // Returns the seconds of each of `trials` that fit into `share_s`.
  double TrialSeconds(double share_s, double trials) const {
    return std::clamp(share_s / std::max(1.0, trials) - overhead_s_, options_.min_trial_s, options_.max_trial_s);
  }

  void Note(int c, double gain) {
    TuneOutcome& outcome = result_.outcomes[c];
    outcome.state = TuneOutcome::State::kMeasured;
    outcome.gains.push_back(gain);
    outcome.gain = LogMean(outcome.gains);
  }

  // Records an error of a choice. Only CANCELLED is an error of the search.
  absl::Status Refuse(int c, const absl::Status& status) {
    if (absl::IsCancelled(status)) return status;
    TuneOutcome& outcome = result_.outcomes[c];
    outcome.state = absl::IsInvalidArgument(status) ? TuneOutcome::State::kRefused : TuneOutcome::State::kFailed;
    outcome.message = std::string(status.message());
    return absl::OkStatus();
  }

  absl::Status RunStages() {
    RETURN_IF_ERROR(Screen());
    RETURN_IF_ERROR(Halve());
    RETURN_IF_ERROR(Combine());
    // What is recommended is measured as a whole, in the last stage, so that its gain is no product of estimates.
    if (!result_.recommended.empty()) {
      RETURN_IF_ERROR(AddThrift());
      RETURN_IF_ERROR(Confirm());
      if (result_.recommended.empty() && thrift_ >= 0 && faster_.size() > 0) {
        // The thrifty choice may have been one too many.
        result_.recommended = faster_;
        RETURN_IF_ERROR(Confirm());
      }
    }
    return result_.recommended.empty() ? ThriftAlone() : absl::OkStatus();
  }

  absl::Status Screen() {
    const auto n = static_cast<double>(choices_.size());
    const double seconds =
        TrialSeconds(kScreening * options_.budget_s - Elapsed(), n + std::ceil(n / kBetweenBaselines));
    // Time is left for the later stages, but no more than combining needs.
    const double reserve = std::min(0.25 * options_.budget_s, 4 * (seconds + overhead_s_));
    std::vector<std::pair<int, double>> waiting;  // for the baseline after them
    double before = result_.baseline.back();
    const auto settle = [&]() -> absl::Status {
      const absl::StatusOr<double> after = Baseline(seconds);
      if (absl::IsCancelled(after.status())) {
        for (const auto& [c, rate] : waiting) Note(c, rate / before);
        return after.status();
      }
      const double reference = after.ok() ? (before + *after) / 2 : before;
      if (after.ok()) before = *after;
      for (const auto& [c, rate] : waiting) {
        Note(c, rate / reference);
        Say(absl::StrFormat("%s: %.2f times", TuneFlagsText(choices_[c].flags), result_.outcomes[c].gain));
      }
      waiting.clear();
      return absl::OkStatus();
    };
    for (int c = 0; c < static_cast<int>(choices_.size()); ++c) {
      if (Left() < reserve + 2 * (seconds + overhead_s_)) break;
      const absl::StatusOr<double> rate = Measure(choices_[c].flags, seconds);
      if (rate.ok()) {
        waiting.emplace_back(c, *rate);
      } else {
        const absl::Status status = Refuse(c, rate.status());
        if (!status.ok()) {
          for (const auto& [w, its] : waiting) Note(w, its / before);
          return status;
        }
      }
      if (static_cast<int>(waiting.size()) == kBetweenBaselines) RETURN_IF_ERROR(settle());
    }
    return waiting.empty() ? absl::OkStatus() : settle();
  }

  // Returns measured choices by gain, the best first.
  std::vector<int> Ranked() const {
    std::vector<int> order;
    for (int c = 0; c < static_cast<int>(choices_.size()); ++c) {
      if (result_.outcomes[c].state == TuneOutcome::State::kMeasured) order.push_back(c);
    }
    std::stable_sort(order.begin(), order.end(),
                     [this](int a, int b) { return result_.outcomes[a].gain > result_.outcomes[b].gain; });
    return order;
  }

  absl::Status Halve() {
    std::vector<int> order = Ranked();
    order.resize((order.size() + 1) / 2);
    order.erase(std::remove_if(order.begin(), order.end(), [this](int c) { return result_.outcomes[c].gain < 1; }),
                order.end());
    const double share =
        std::min(kHalving * options_.budget_s, Left() - (1 - kScreening - kHalving) * options_.budget_s);
    const double seconds = TrialSeconds(share, 2.0 * static_cast<double>(order.size()));
    const double reserve =
        std::max(0.5 * (1 - kScreening - kHalving) * options_.budget_s, 2 * (options_.min_trial_s + overhead_s_));
    for (const int c : order) {
      if (Left() < reserve + 2 * (seconds + overhead_s_)) break;
      absl::StatusOr<double> gain = Compare(choices_[c].flags, {}, seconds);
      if (!gain.ok()) {
        RETURN_IF_ERROR(Refuse(c, gain.status()));
        continue;
      }
      Note(c, *gain);
      Say(absl::StrFormat("%s: %.2f times", TuneFlagsText(choices_[c].flags), result_.outcomes[c].gain));
    }
    return absl::OkStatus();
  }

  // Returns the rate of `flags` by that of `others`, measured one after the other.
  absl::StatusOr<double> Compare(const TuneFlags& flags, const TuneFlags& others, double seconds) {
    ASSIGN_OR_RETURN(const double theirs, others.empty() ? Baseline(seconds) : Measure(others, seconds));
    ASSIGN_OR_RETURN(const double ours, Measure(flags, seconds));
    return ours / theirs;
  }

  // Returns the gain below which choices are not distinguished from chance.
  double LeastGain() const { return std::max(options_.min_gain, 1 + 2 * Spread(result_.baseline)); }

  TuneFlags FlagsOf(absl::Span<const int> chosen) const {
    TuneFlags flags;
    for (const int c : chosen) flags.insert(flags.end(), choices_[c].flags.begin(), choices_[c].flags.end());
    return flags;
  }

  absl::Status Combine() {
    std::set<std::string> dimensions;
    std::vector<int>& chosen = result_.recommended;
    for (const int c : Ranked()) {
      const double gain = result_.outcomes[c].gain;
      if (!choices_[c].allowed || gain < LeastGain() || dimensions.count(choices_[c].dimension) > 0) continue;
      if (chosen.empty()) {
        chosen.push_back(c);
        result_.recommended_gain = gain;
        dimensions.insert(choices_[c].dimension);
        continue;
      }
      const double seconds = TrialSeconds(kCombining * options_.budget_s, 4);
      // The last stage needs a pair of trials, too.
      if (Left() < 2 * (seconds + overhead_s_) + 2 * (options_.min_trial_s + overhead_s_)) break;
      TuneFlags with = FlagsOf(chosen);
      with.insert(with.end(), choices_[c].flags.begin(), choices_[c].flags.end());
      const absl::StatusOr<double> more = Compare(with, FlagsOf(chosen), seconds);
      if (absl::IsCancelled(more.status())) return more.status();
      if (!more.ok() || *more < 1 + (options_.min_gain - 1) / 2) continue;  // they do not go together
      chosen.push_back(c);
      result_.recommended_gain *= *more;
      dimensions.insert(choices_[c].dimension);
      Say(absl::StrFormat("%s: %.2f times", TuneFlagsText(FlagsOf(chosen)), result_.recommended_gain));
    }
    return absl::OkStatus();
  }

  // Returns gains of `flags` over `others`, in pairs whose order changes, up to `most` in `share_s`. Its only error is
  // CANCELLED.
  absl::StatusOr<std::vector<double>> Pairs(const TuneFlags& flags, const TuneFlags& others, int most, double share_s) {
    std::vector<double> gains;
    const double end = Elapsed() + share_s;
    const double seconds = TrialSeconds(share_s, 2.0 * most);
    const auto rate = [&](const TuneFlags& which) {
      return which.empty() ? Baseline(seconds) : Measure(which, seconds);
    };
    while (static_cast<int>(gains.size()) < most && end - Elapsed() > 2 * (seconds + overhead_s_)) {
      const bool ours_first = gains.size() % 2 == 0;
      const absl::StatusOr<double> first = rate(ours_first ? flags : others);
      const absl::StatusOr<double> second = first.ok() ? rate(ours_first ? others : flags) : first;
      if (absl::IsCancelled(second.status())) return second.status();
      if (!second.ok()) break;
      gains.push_back(ours_first ? *first / *second : *second / *first);
      Say(absl::StrFormat("%s: %.2f times", TuneFlagsText(flags), gains.back()));
    }
    return gains;
  }

  // Returns the choice that may be recommended although it is not faster; -1 if there is none, or it is clearly slower.
  int Thrifty() const {
    for (size_t c = 0; c < choices_.size(); ++c) {
      const TuneOutcome& outcome = result_.outcomes[c];
      if (!choices_[c].thrifty || !choices_[c].allowed || outcome.state != TuneOutcome::State::kMeasured) continue;
      for (const int chosen : result_.recommended) {
        if (choices_[chosen].dimension == choices_[c].dimension) return -1;
      }
      // Beside faster settings it may be no slower, even if it is beside the given ones.
      return outcome.gain > 0.8 || !result_.recommended.empty() ? static_cast<int>(c) : -1;
    }
    return -1;
  }

  // True if the thrifty choice is no slower in pairs of runs.
  bool SavesForNothing(const std::vector<double>& gains) const {
    const bool wins_once = std::any_of(gains.begin(), gains.end(), [](double gain) { return gain >= 1; });
    return gains.size() >= kLeastPairs && wins_once && Median(gains) * options_.min_gain >= 1;
  }

  // Adds the thrifty choice to the recommended ones, if they are as fast with it.
  absl::Status AddThrift() {
    const int c = Thrifty();
    if (c < 0) return absl::OkStatus();
    const TuneFlags faster = FlagsOf(result_.recommended);
    TuneFlags with = faster;
    with.insert(with.end(), choices_[c].flags.begin(), choices_[c].flags.end());
    ASSIGN_OR_RETURN(const std::vector<double> gains, Pairs(with, faster, kThriftyPairs, 0.35 * Left()));
    if (!SavesForNothing(gains)) return absl::OkStatus();
    faster_ = result_.recommended;
    thrift_ = c;
    result_.recommended.push_back(c);
    result_.recommended_gain *= Median(gains);
    return absl::OkStatus();
  }

  // Recommends the thrifty choice alone, if it is as fast as the run as given.
  absl::Status ThriftAlone() {
    const int c = Thrifty();
    if (c < 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<double> gains, Pairs(choices_[c].flags, {}, kThriftyPairs, Left()));
    if (!SavesForNothing(gains)) return absl::OkStatus();
    result_.only_thrifty = result_.confirmed = true;
    result_.pairs = gains;
    result_.recommended = {c};
    result_.recommended_gain = Median(gains);
    return absl::OkStatus();
  }

  absl::Status Confirm() {
    std::vector<int>& chosen = result_.recommended;
    const TuneFlags flags = FlagsOf(chosen);
    // If it fails, something is left to try.
    ASSIGN_OR_RETURN(result_.pairs, Pairs(flags, {}, kMostPairs, (Thrifty() >= 0 || thrift_ >= 0 ? 0.65 : 1) * Left()));
    const std::vector<double>& gains = result_.pairs;
    if (gains.empty()) return absl::OkStatus();
    result_.confirmed = true;
    result_.recommended_gain = Median(gains);
    const auto lost = std::count_if(gains.begin(), gains.end(), [](double gain) { return gain <= 1; });
    if (lost > (gains.size() >= 5 ? 1 : 0) || result_.recommended_gain < 1 + Spread(gains)) {
      result_.rejected = TuneFlagsText(flags);
      chosen.clear();
      result_.recommended_gain = 1;
    }
    return absl::OkStatus();
  }

  void Conclude() {
    // If it was stopped before combining, the best measured choice is recommended.
    if (result_.interrupted && result_.recommended.empty()) {
      for (const int c : Ranked()) {
        if (!choices_[c].allowed || result_.outcomes[c].gain < LeastGain()) continue;
        result_.recommended = {c};
        result_.recommended_gain = result_.outcomes[c].gain;
        break;
      }
    }
    if (!result_.only_thrifty && result_.recommended_gain < 1 + (options_.min_gain - 1) / 2) {
      result_.recommended.clear();
      result_.recommended_gain = 1;
    }
    result_.baseline_rate = Median(result_.baseline);
    result_.noise = Spread(result_.baseline);
    result_.best_gain = result_.recommended_gain;
    for (size_t c = 0; c < choices_.size(); ++c) {
      TuneOutcome& outcome = result_.outcomes[c];
      outcome.rate = outcome.gain * result_.baseline_rate;
      if (choices_[c].allowed) result_.best_gain = std::max(result_.best_gain, outcome.gain);
    }
  }

  const absl::Span<const TuneChoice> choices_;
  const TuneMeasure& measure_;
  const TuneOptions& options_;
  const double start_;
  double overhead_s_;
  int thrift_ = -1;          // the thrifty choice that AddThrift added
  std::vector<int> faster_;  // what it was added to
  TuneResult result_;
};

}  // namespace

std::string TuneFlagsText(const TuneFlags& flags) {
  std::string text;
  for (const auto& [name, value] : flags) absl::StrAppend(&text, text.empty() ? "" : " ", name, "=", value);
  return text;
}

absl::StatusOr<TuneResult> SearchTune(absl::Span<const TuneChoice> choices, const TuneMeasure& measure,
                                      const TuneOptions& options) {
  return Search(choices, measure, options).Run();
}

}  // namespace rutile
