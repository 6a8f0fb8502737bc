#include "tools/train/report/train_progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/terminal_line.h"

namespace rutile {
namespace {

constexpr auto kDrawEvery = std::chrono::milliseconds(100);
constexpr int kWidestBar = 25, kNarrowestBar = 8;

std::string Bar(double done, int width) {
  const int filled = static_cast<int>(done * width);
  return absl::StrCat("  [", std::string(filled, '#'), std::string(width - filled, ' '), "]");
}

}  // namespace

std::string FormatTrainProgress(const TrainProgressTexts& texts, const TrainState& state, int width) {
  std::string head = absl::StrCat(texts.label, "  epoch ", state.step.epoch);
  if (state.max_epochs > 0) absl::StrAppend(&head, "/", state.max_epochs);
  if (state.long_epoch) absl::StrAppend(&head, " (", state.step.batch, "/", state.step.num_batches, ")");
  const double done = std::clamp(state.done, 0.0, 1.0);
  if (state.done >= 0) absl::StrAppendFormat(&head, "  %d %%", static_cast<int>(done * 100));

  std::string losses = absl::StrFormat("  loss %.4g", state.step.loss);
  if (!std::isnan(state.validation_loss)) absl::StrAppendFormat(&losses, "  val %.4g", state.validation_loss);
  std::string best;
  if (texts.monitored.is_metric() && !std::isnan(state.monitored)) {
    absl::StrAppend(&losses, "  ", absl::StripPrefix(texts.monitored.column, "val_"),
                    absl::StrFormat(" %.4g", state.monitored));
    if (!std::isnan(state.best)) best = absl::StrFormat(" (best %.4g, epoch %d)", state.best, state.best_epoch);
  }
  const std::string rate = absl::StrFormat("  lr %.3g", state.step.learning_rate);
  std::string speed;
  for (const std::string& text : {RateText(state, texts.cost_unit), TimeLeftText(state)}) {
    if (!text.empty()) absl::StrAppend(&speed, "  ", text);
  }
  const std::string short_of_best = absl::StrCat(head, losses, rate, speed);
  const std::string whole = absl::StrCat(head, losses, best, rate, speed);
  const int room = width - static_cast<int>(whole.size()) - 4;  // for the bar, without its brackets
  if (state.done >= 0 && room >= kNarrowestBar) {
    return absl::StrCat(head, Bar(done, std::min(room, kWidestBar)), losses, best, rate, speed);
  }
  const auto narrow = [](absl::string_view line) { return absl::StrReplaceAll(line, {{"  ", " "}, {" %", "%"}}); };
  std::string line;
  for (const std::string& shorter :
       {whole, short_of_best, narrow(short_of_best), narrow(absl::StrCat(head, losses, speed))}) {
    line = shorter;
    if (static_cast<int>(line.size()) <= width) return line;
  }
  line.resize(std::max(width, 0));
  return line;
}

TrainProgress::TrainProgress(TrainProgressTexts texts, const StopOptions& limits, bool enabled)
    : texts_(std::move(texts)), active_(enabled && CanDrawLines()), tracker_(limits, start_) {}

void TrainProgress::OnStep(const StepReport& report) {
  if (!active_) return;
  const Clock::time_point now = Clock::now();
  tracker_.OnStep(report, now);
  if (now < next_draw_) return;
  next_draw_ = now + kDrawEvery;
  Draw(now, "");
  drawn_ = true;
}

void TrainProgress::Draw(Clock::time_point now, absl::string_view end) {
  tracker_.Update(now);
  DrawTerminalLine(FormatTrainProgress(texts_, tracker_.state(), TerminalLineWidth()), end);
}

void TrainProgress::OnEpoch(const EpochReport& report) {
  if (active_) tracker_.OnEpoch(report);
}

void TrainProgress::Finish() {
  if (!active_) return;
  active_ = false;
  if (drawn_) Draw(Clock::now(), "\n");
}

}  // namespace rutile
