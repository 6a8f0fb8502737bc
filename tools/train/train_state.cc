#include "tools/train/train_state.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/progress.h"

namespace rutile {
namespace {

constexpr double kLongEpoch = 2;  // s; in longer epochs the progress of batches is shown

double Seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Returns the number of epochs done, with a fraction.
double Position(const StepReport& report) {
  const double part = report.num_batches > 0 ? static_cast<double>(report.batch) / report.num_batches : 1;
  return static_cast<double>(report.epoch - 1) + part;
}

}  // namespace

std::string RateText(const TrainState& state, absl::string_view cost_unit) {
  if (state.cost_per_s <= 0) return "";
  const std::string per_s = FormatRate(state.cost_per_s);  // "123/s"
  return absl::StrCat(per_s.substr(0, per_s.size() - 2), " ", cost_unit, "/s");
}

std::string TimeLeftText(const TrainState& state) {
  if (state.seconds_left < 0) return "";
  return absl::StrCat(state.may_stop_early ? "at most " : "", FormatDuration(state.seconds_left), " left");
}

TrainTracker::TrainTracker(const StopOptions& limits, Clock::time_point start) : limits_(limits), start_(start) {
  state_.may_stop_early = limits.patience > 0;
  state_.max_epochs = limits.max_epochs;
}

void TrainTracker::OnStep(const StepReport& report, Clock::time_point now) {
  state_.step = report;
  if (report.epoch == epoch_first_.epoch) return;
  epoch_first_ = report;
  epoch_time_ = now;
  if (first_.epoch != 0) return;
  first_ = report;
  first_time_ = now;
}

void TrainTracker::OnEpoch(const EpochReport& report) {
  if (!std::isnan(report.validation_loss)) state_.validation_loss = report.validation_loss;
  if (!std::isnan(report.monitored)) state_.monitored = report.monitored;
  if (report.best) {
    state_.best = report.monitored;
    state_.best_epoch = report.epoch;
  }
  if (!state_.long_epoch) state_.cost_per_s = report.cost_per_s;
}

void TrainTracker::Update(Clock::time_point now) {
  const StepReport& report = state_.step;
  const double epoch_seconds = Seconds(now - epoch_time_);
  state_.long_epoch = epoch_seconds > kLongEpoch;
  if (state_.long_epoch || (state_.cost_per_s == 0 && report.step > epoch_first_.step)) {
    state_.cost_per_s = epoch_seconds > 0 ? (report.cost - epoch_first_.cost) / epoch_seconds : 0;
  }
  // The remaining time to the nearest limit, if the session goes on at its speed so far.
  const double seconds = Seconds(now - first_time_);
  double done = -1, left = -1;
  const auto limit = [&](double position, double first, double end) {
    done = std::max(done, position / end);
    if (position <= first) return;
    const double needed = std::max(0.0, end - position) * seconds / (position - first);
    left = left < 0 ? needed : std::min(left, needed);
  };
  if (limits_.max_epochs > 0) limit(Position(report), Position(first_), static_cast<double>(limits_.max_epochs));
  if (limits_.max_steps > 0) {
    limit(static_cast<double>(report.step), static_cast<double>(first_.step), static_cast<double>(limits_.max_steps));
  }
  if (limits_.max_time < absl::InfiniteDuration()) {
    const double most = absl::ToDoubleSeconds(limits_.max_time), elapsed = Seconds(now - start_);
    done = std::max(done, elapsed / most);
    left = std::max(0.0, left < 0 ? most - elapsed : std::min(left, most - elapsed));
  }
  state_.done = done;
  state_.seconds_left = left;
}

}  // namespace rutile
