#include "lib/evaluation/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/plot/curves.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kSixDigits = 1e-5;

bool IsLoss(absl::string_view column) { return column == "val_loss" || column == "train_loss"; }

// Adds a column to the curves, unless no value in it is a number.
void AddCurve(const TrainingLog& log, absl::string_view column, absl::string_view name, const std::vector<double>& x,
              std::vector<Curve>* curves) {
  const std::vector<double>* const values = log.Find(column);
  if (values == nullptr) return;
  Curve curve = {std::string(name), {}, {}};
  for (size_t row = 0; row < values->size(); ++row) {
    if (!std::isfinite((*values)[row]) || !std::isfinite(x[row])) continue;
    curve.x.push_back(x[row]);
    curve.y.push_back((*values)[row]);
  }
  if (!curve.x.empty()) curves->push_back(std::move(curve));
}

std::vector<Curve> LossCurves(const TrainingLog& log, const std::vector<double>& x) {
  std::vector<Curve> curves;
  AddCurve(log, "train_loss", "training", x, &curves);
  AddCurve(log, "val_loss", "validation", x, &curves);
  return curves;
}

// True if steps distinguish rows that epochs do not. A row that repeats the epoch and step of another tells nothing
// new.
bool IsOverSteps(const TrainingLog& log) {
  const std::vector<double>&epoch = *log.Find("epoch"), *step = log.Find("step");
  if (step == nullptr) return false;
  for (size_t row = 1; row < epoch.size(); ++row) {
    if (epoch[row] == epoch[row - 1] && (*step)[row] != (*step)[row - 1]) return true;
  }
  return false;
}

bool HasNumbers(const std::vector<double>* values) {
  return values != nullptr && std::any_of(values->begin(), values->end(), [](double v) { return std::isfinite(v); });
}

// Returns the column that decides: the monitored one or, if the log does not have it, a loss; nullptr if there is none.
const std::vector<double>* Deciding(const TrainingLog& log, const KeptModel& kept) {
  for (const absl::string_view column :
       {absl::string_view(kept.monitor), absl::string_view("val_loss"), absl::string_view("train_loss")}) {
    if (column.empty()) continue;
    if (const std::vector<double>* const values = log.Find(column); HasNumbers(values)) return values;
  }
  return nullptr;
}

// Returns the column that is drawn above the losses; "" if there is none.
std::string Shown(const TrainingLog& log, const KeptModel& kept) {
  const std::string& column = kept.shown.empty() ? kept.monitor : kept.shown;
  return column.empty() || IsLoss(column) || !HasNumbers(log.Find(column)) ? "" : column;
}

std::string WithUnit(std::string name, const std::string& unit) {
  return unit.empty() ? name : absl::StrCat(name, " (", unit, ")");
}

}  // namespace

bool HasLearningCurve(const TrainingLog& log) { return !LossCurves(log, *log.Find("epoch")).empty(); }

std::optional<size_t> KeptRow(const TrainingLog& log, const KeptModel& kept) {
  const std::vector<double>* const values = Deciding(log, kept);
  if (values == nullptr) return std::nullopt;
  const bool rises = kept.higher_is_better && values == log.Find(kept.monitor);
  const std::vector<double>&epoch = *log.Find("epoch"), *step = log.Find("step");
  const bool by_step = kept.step.has_value() && step != nullptr;
  std::optional<size_t> best;
  for (size_t row = 0; row < values->size(); ++row) {
    const double value = (*values)[row];
    if (!std::isfinite(value)) continue;
    if (by_step ? (*step)[row] != *kept.step : kept.epoch.has_value() && epoch[row] != *kept.epoch) continue;
    if (!best.has_value() || (rises ? value > (*values)[*best] : value < (*values)[*best])) best = row;
  }
  return best;
}

std::string ColumnOfValue(const TrainingLog& log, size_t row, double value) {
  std::vector<std::string> names = {"val_loss"};
  for (const std::string& column : log.columns) {
    if (absl::StartsWith(column, "val_")) names.push_back(column.substr(0, column.find('[')));
  }
  names.push_back("train_loss");
  for (const std::string& name : names) {
    const std::vector<double>* const values = log.Find(name);
    if (values != nullptr && std::abs((*values)[row] - value) <= kSixDigits * std::abs(value)) return name;
  }
  return "";
}

std::string ColumnLabel(const TrainingLog& log, absl::string_view column) {
  absl::string_view rest = column;
  std::string label;
  if (absl::ConsumePrefix(&rest, "val_")) label = "Validation ";
  if (label.empty() && absl::ConsumePrefix(&rest, "train_")) label = "Training ";
  std::vector<std::string> words;
  for (const absl::string_view word : absl::StrSplit(rest, '_')) {
    const bool is_short = word == "mrr" || word == "mr" || word == "rmse" || word == "mae";
    words.push_back(is_short ? absl::AsciiStrToUpper(word) : std::string(word));
  }
  return WithUnit(absl::StrCat(label, absl::StrJoin(words, " ")), log.Unit(column));
}

absl::StatusOr<std::string> DrawLearningCurve(const TrainingLog& log, const KeptModel& kept) {
  const ProfileScope scope(Stage::kReport);
  const std::vector<double>& epoch = *log.Find("epoch");  // ReadTrainingLog has checked that it exists
  const bool over_steps = IsOverSteps(log);
  const std::vector<double>& x = over_steps ? *log.Find("step") : epoch;
  std::vector<CurvePanel> panels;
  if (const std::string shown = Shown(log, kept); !shown.empty()) {
    CurvePanel panel = {ColumnLabel(log, shown), {}, kept.shown.empty() ? kept.higher_is_better : kept.shown_rises};
    AddCurve(log, shown, absl::StartsWith(shown, "val_") ? "validation" : "training", x, &panel.curves);
    panels.push_back(std::move(panel));
  }
  panels.push_back({WithUnit("Loss", log.Unit("train_loss")), LossCurves(log, x)});
  LearningCurveOptions options;
  if (over_steps) options.x_label = "Step";
  if (const std::optional<size_t> row = KeptRow(log, kept); row.has_value()) {
    options.marked_x = x[*row];
    options.mark_label = absl::StrFormat("%s: epoch %g", kept.epoch.has_value() ? "kept" : "best", epoch[*row]);
  }
  return LearningCurvePanels(panels, options);
}

absl::Status AddTraining(const TrainingLog& log, const KeptModel& kept, ReportPictures* pictures) {
  if (!HasLearningCurve(log)) return absl::OkStatus();
  pictures->html()->AddSection("Training");
  if (!kept.doubt.empty()) pictures->html()->AddParagraph(kept.doubt);
  const std::string shown = Shown(log, kept);
  const std::vector<double>& epoch = *log.Find("epoch");
  if (const std::optional<size_t> row = KeptRow(log, kept); row.has_value()) {
    std::string value;
    // A row that a loss chose need not have the metric that is shown.
    if (!shown.empty() && std::isfinite((*log.Find(shown))[*row])) {
      value = absl::StrFormat(": %s %.4g", ColumnLabel(log, shown), (*log.Find(shown))[*row]);
    }
    pictures->html()->AddParagraph(absl::StrFormat("%s epoch %g of the %g in the log%s.",
                                                   kept.epoch.has_value() ? "The model is of" : "The best was",
                                                   epoch[*row], epoch.back(), value));
  }
  return pictures->Add(
      "learning_curve.svg", DrawLearningCurve(log, kept),
      absl::StrCat(shown.empty() ? "Loss" : absl::StrCat(ColumnLabel(log, shown), ", and below it loss"),
                   IsOverSteps(log) ? " over the steps" : " over the epochs", ", for training and validation data."));
}

}  // namespace rutile
