#include "lib/evaluation/learning_curve.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/plot/plots.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

std::vector<Curve> Curves(const TrainingLog& log, const std::vector<double>& x) {
  std::vector<Curve> curves;
  for (const auto& [column, name] : {std::pair("train_loss", "training"), std::pair("val_loss", "validation")}) {
    const std::vector<double>* values = log.Find(column);
    if (values == nullptr) continue;
    Curve curve = {name, {}, {}};
    for (size_t row = 0; row < values->size(); ++row) {
      if (!std::isfinite((*values)[row]) || !std::isfinite(x[row])) continue;
      curve.x.push_back(x[row]);
      curve.y.push_back((*values)[row]);
    }
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

// True if two rows belong to one epoch, so that epochs do not distinguish them.
bool SeveralRowsInAnEpoch(const std::vector<double>& epoch) {
  for (size_t row = 1; row < epoch.size(); ++row) {
    if (epoch[row] == epoch[row - 1]) return true;
  }
  return false;
}

// Returns the x of the lowest loss among the rows of best_epoch, or among all rows without it.
std::optional<double> Marked(const Curve& curve, const std::vector<double>& x, const std::vector<double>& epoch,
                             std::optional<double> best_epoch) {
  std::optional<double> marked;
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t row = 0, point = 0; row < x.size() && point < curve.x.size(); ++row) {
    if (x[row] != curve.x[point]) continue;
    const double loss = curve.y[point++];
    if ((best_epoch.has_value() && epoch[row] != *best_epoch) || loss >= lowest) continue;
    lowest = loss;
    marked = x[row];
  }
  return marked;
}

}  // namespace

bool HasLearningCurve(const TrainingLog& log) { return !Curves(log, *log.Find("epoch")).empty(); }

absl::StatusOr<std::string> DrawLearningCurve(const TrainingLog& log, std::optional<double> best_epoch) {
  const ProfileScope scope(Stage::kReport);
  const std::vector<double>& epoch = *log.Find("epoch");  // ReadTrainingLog has checked that it exists
  const bool over_steps = SeveralRowsInAnEpoch(epoch) && log.Find("step") != nullptr;
  const std::vector<double>& x = over_steps ? *log.Find("step") : epoch;
  const std::vector<Curve> curves = Curves(log, x);
  LearningCurveOptions options;
  if (over_steps) options.x_label = "Step";
  const std::string unit = log.Unit("train_loss");
  options.y_label = unit.empty() ? "Loss" : absl::StrCat("Loss (", unit, ")");
  if (!curves.empty()) options.marked_x = Marked(curves.back(), x, epoch, best_epoch);
  return LearningCurve(curves, options);
}

}  // namespace rutile
