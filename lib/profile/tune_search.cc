#include "lib/profile/tune_search.h"

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

constexpr double kScreening = 0.5, kHalving = 0.25, kCombining = 0.15;  // of the budget; the rest is for the last stage
constexpr int kBetweenBaselines = 3;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
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

  // Trials take as long as they do now, not as they did at first: others use this machine, too.
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

  // Seconds of each of `trials` that fit into `share_s`.
  double TrialSeconds(double share_s, double trials) const {
    return std::clamp(share_s / std::max(1.0, trials) - overhead_s_, options_.min_trial_s, options_.max_trial_s);
  }

  void Note(int c, double gain) {
    TuneOutcome& outcome = result_.outcomes[c];
    outcome.state = TuneOutcome::State::kMeasured;
    outcome.gains.push_back(gain);
    outcome.gain = LogMean(outcome.gains);
  }

  // CANCELLED alone is an error of the search; others are the choice's.
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
    return Confirm();
  }

  absl::Status Screen() {
    const auto n = static_cast<double>(choices_.size());
    const double seconds =
        TrialSeconds(kScreening * options_.budget_s - Elapsed(), n + std::ceil(n / kBetweenBaselines));
    // Not more than the combination needs is left over.
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

  // Measured choices by gain, the best first.
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

  // The rate of `flags` by that of `others`, one after the other.
  absl::StatusOr<double> Compare(const TuneFlags& flags, const TuneFlags& others, double seconds) {
    ASSIGN_OR_RETURN(const double theirs, others.empty() ? Baseline(seconds) : Measure(others, seconds));
    ASSIGN_OR_RETURN(const double ours, Measure(flags, seconds));
    return ours / theirs;
  }

  // Gains of less are no better than chance.
  double LeastGain() const {
    const double median = Median(result_.baseline);
    std::vector<double> deviations;
    for (const double rate : result_.baseline) deviations.push_back(std::abs(rate / median - 1));
    return std::max(options_.min_gain, 1 + 2 * Median(deviations));
  }

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

  absl::Status Confirm() {
    if (result_.recommended.empty()) return absl::OkStatus();
    const TuneFlags flags = FlagsOf(result_.recommended);
    std::vector<double> gains;
    // Up to three pairs in the time that is left.
    const double seconds = TrialSeconds(Left(), 6);
    while (gains.size() < 3 && HasTimeFor(2 * seconds + overhead_s_)) {
      const absl::StatusOr<double> gain = Compare(flags, {}, seconds);
      if (absl::IsCancelled(gain.status())) return gain.status();
      if (!gain.ok()) break;
      gains.push_back(*gain);
      result_.confirmed = true;
      result_.recommended_gain = LogMean(gains);
      Say(absl::StrFormat("%s: %.2f times, confirmed", TuneFlagsText(flags), *gain));
    }
    return absl::OkStatus();
  }

  void Conclude() {
    // Stopped before anything was put together: the best that was seen.
    if (result_.interrupted && result_.recommended.empty()) {
      for (const int c : Ranked()) {
        if (!choices_[c].allowed || result_.outcomes[c].gain < LeastGain()) continue;
        result_.recommended = {c};
        result_.recommended_gain = result_.outcomes[c].gain;
        break;
      }
    }
    if (result_.recommended_gain < 1 + (options_.min_gain - 1) / 2) {
      result_.recommended.clear();
      result_.recommended_gain = 1;
    }
    result_.baseline_rate = Median(result_.baseline);
    std::vector<double> deviations;
    for (const double rate : result_.baseline) deviations.push_back(std::abs(rate / result_.baseline_rate - 1));
    result_.noise = Median(deviations);
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
