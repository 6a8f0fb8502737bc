#include "tools/train/train_progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/progress.h"
#include "lib/base/terminal_line.h"

namespace rutile {
namespace {

constexpr auto kDrawEvery = std::chrono::milliseconds(100);
constexpr double kLongEpoch = 2;  // s; in longer epochs the progress of batches is shown
constexpr int kWidestBar = 25, kNarrowestBar = 8;

double Seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Returns the number of epochs done, with a fraction.
double Position(const StepReport& report) {
  const double part = report.num_batches > 0 ? static_cast<double>(report.batch) / report.num_batches : 1;
  return static_cast<double>(report.epoch - 1) + part;
}

std::string Bar(double done, int width) {
  const int filled = static_cast<int>(done * width);
  return absl::StrCat("  [", std::string(filled, '#'), std::string(width - filled, ' '), "]");
}

}  // namespace

std::string FormatTrainProgress(absl::string_view label, absl::string_view cost_unit, const TrainState& state,
                                int width) {
  std::string head = absl::StrCat(label, "  epoch ", state.step.epoch);
  if (state.max_epochs > 0) absl::StrAppend(&head, "/", state.max_epochs);
  if (state.long_epoch) absl::StrAppend(&head, " (", state.step.batch, "/", state.step.num_batches, ")");
  const double done = std::clamp(state.done, 0.0, 1.0);
  if (state.done >= 0) absl::StrAppendFormat(&head, "  %d %%", static_cast<int>(done * 100));

  std::string losses = absl::StrFormat("  loss %.4g", state.step.loss);
  if (!std::isnan(state.validation_loss)) absl::StrAppendFormat(&losses, "  val %.4g", state.validation_loss);
  const std::string rate = absl::StrFormat("  lr %.3g", state.step.learning_rate);
  std::string speed;
  if (state.cost_per_s > 0) {
    const std::string per_s = FormatRate(state.cost_per_s);  // "123/s"
    absl::StrAppend(&speed, "  ", per_s.substr(0, per_s.size() - 2), " ", cost_unit, "/s");
  }
  if (state.seconds_left >= 0) {
    absl::StrAppend(&speed, "  ", state.may_stop_early ? "at most " : "", FormatDuration(state.seconds_left), " left");
  }
  const std::string whole = absl::StrCat(head, losses, rate, speed);
  const int room = width - static_cast<int>(whole.size()) - 4;  // for the bar, without its brackets
  if (state.done >= 0 && room >= kNarrowestBar) {
    return absl::StrCat(head, Bar(done, std::min(room, kWidestBar)), losses, rate, speed);
  }
  const auto narrow = [](absl::string_view line) { return absl::StrReplaceAll(line, {{"  ", " "}, {" %", "%"}}); };
  std::string line;
  for (const std::string& shorter : {whole, narrow(whole), narrow(absl::StrCat(head, losses, speed))}) {
    line = shorter;
    if (static_cast<int>(line.size()) <= width) return line;
  }
  line.resize(std::max(width, 0));
  return line;
}

TrainProgress::TrainProgress(absl::string_view label, absl::string_view cost_unit, const StopOptions& limits,
                             bool enabled)
    : label_(label), cost_unit_(cost_unit), limits_(limits), active_(enabled && CanDrawLines()) {
  state_.may_stop_early = limits.patience > 0;
  state_.max_epochs = limits.max_epochs;
}

void TrainProgress::OnStep(const StepReport& report) {
  if (!active_) return;
  const Clock::time_point now = Clock::now();
  if (report.epoch != epoch_first_.epoch) {
    epoch_first_ = report;
    epoch_time_ = now;
    if (first_.epoch == 0) {
      first_ = report;
      first_time_ = now;
    }
  }
  if (now < next_draw_) {
    state_.step = report;
    return;
  }
  next_draw_ = now + kDrawEvery;
  Update(report, now);
  DrawTerminalLine(FormatTrainProgress(label_, cost_unit_, state_, TerminalLineWidth()), "");
  drawn_ = true;
}

void TrainProgress::Update(const StepReport& report, Clock::time_point now) {
  state_.step = report;
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

void TrainProgress::OnEpoch(const EpochReport& report) {
  if (!active_) return;
  if (!std::isnan(report.validation_loss)) state_.validation_loss = report.validation_loss;
  if (!state_.long_epoch) state_.cost_per_s = report.cost_per_s;
}

void TrainProgress::Finish() {
  if (!active_) return;
  active_ = false;
  if (!drawn_) return;
  Update(state_.step, Clock::now());
  DrawTerminalLine(FormatTrainProgress(label_, cost_unit_, state_, TerminalLineWidth()), "\n");
}

}  // namespace rutile
