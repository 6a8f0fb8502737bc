#include "tools/train/report/train_lines.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace rutile {
namespace {

constexpr double kMatters = 0.1;  // share by which the monitored value has to change

std::string Value(absl::string_view name, double value, absl::string_view unit) {
  return absl::StrCat(", ", name, absl::StrFormat(" %.3g", value), unit.empty() ? "" : " ", unit);
}

}  // namespace

TrainLines::TrainLines(TrainLinesOptions options, std::function<void(absl::string_view)> print, Clock::time_point start)
    : options_(std::move(options)),
      interval_(std::chrono::duration_cast<Clock::duration>(absl::ToChronoNanoseconds(options_.interval))),
      print_(std::move(print)),
      tracker_(options_.limits, start),
      printed_(start) {}

void TrainLines::OnStep(const StepReport& report, Clock::time_point now) {
  tracker_.OnStep(report, now);
  if (interval_.count() > 0 && now - printed_ >= interval_) Print(now, /*best=*/false);
}

bool TrainLines::ImprovementMatters(const EpochReport& report) const {
  if (!report.best || std::isnan(report.monitored)) return false;
  return std::isnan(printed_value_) ||
         std::abs(report.monitored - printed_value_) >= kMatters * std::abs(printed_value_);
}

void TrainLines::OnEpoch(const EpochReport& report, Clock::time_point now) {
  tracker_.OnEpoch(report);
  train_loss_ = report.train_loss;
  if (report.validated) metrics_ = report.validation;
  if (report.best) best_value_ = report.monitored;
  const bool by_value = interval_.count() > 0 && now - printed_ >= interval_ / 10 && ImprovementMatters(report);
  if (by_value || options_.every_report) Print(now, report.best);
}

std::string TrainLines::BestText(bool best) const {
  if (!options_.monitored.is_metric()) return best ? ", best so far" : "";
  const std::string& column = options_.monitored.column;
  if (best) return absl::StrCat(", best ", column, " so far");
  const TrainState& state = tracker_.state();
  if (std::isnan(state.best)) return "";
  return absl::StrFormat(", best %s %.3g in epoch %d", column, state.best, state.best_epoch);
}

void TrainLines::Print(Clock::time_point now, bool best) {
  tracker_.Update(now);
  const TrainState& state = tracker_.state();
  std::string line = absl::StrCat(options_.label, options_.label.empty() ? "" : ": ", "epoch ", state.step.epoch);
  if (state.max_epochs > 0) absl::StrAppend(&line, "/", state.max_epochs);
  if (state.step.batch < state.step.num_batches) {
    absl::StrAppend(&line, ", batch ", state.step.batch, "/", state.step.num_batches);
  }
  if (state.done >= 0) absl::StrAppendFormat(&line, ", %d %%", static_cast<int>(100 * std::min(state.done, 1.0)));
  std::string values =
      Value("loss", std::isnan(train_loss_) ? state.step.loss : train_loss_, options_.loss_unit).substr(2);
  if (!std::isnan(state.validation_loss)) {
    absl::StrAppend(&values, Value("val_loss", state.validation_loss, options_.loss_unit));
  }
  for (const Metric& metric : metrics_) {
    if (absl::EndsWith(metric.name, "_mae")) continue;  // log.tsv has these, too
    absl::StrAppend(&values, Value(metric.name, metric.value, metric.unit));
  }
  absl::StrAppend(&values, Value("lr", state.step.learning_rate, ""));
  for (const std::string& text : {RateText(state, options_.cost_unit), TimeLeftText(state)}) {
    if (!text.empty()) absl::StrAppend(&values, ", ", text);
  }
  print_(absl::StrCat(line, ": ", values, BestText(best)));
  printed_ = now;
  printed_value_ = best_value_;
}

}  // namespace rutile
