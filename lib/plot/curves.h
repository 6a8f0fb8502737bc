// Draws curves over the epochs of a training run: how the loss fell and the monitored value rose.
//
// What plots.h says of colors, names, values that are left out and errors holds here, too.
//
//   const std::vector<Curve> curves = {{"training", epochs, losses}, {"validation", epochs, validation_losses}};
//   ASSIGN_OR_RETURN(const std::string svg, LearningCurve(curves));
//   RETURN_IF_ERROR(report.AddFigure(svg, "Learning curve"));

#ifndef RUTILE_LIB_PLOT_CURVES_H_
#define RUTILE_LIB_PLOT_CURVES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

// One line of a learning curve. If y is NaN (an epoch without validation), the line skips the point.
struct Curve {
  std::string name;  // "training", "validation"
  std::vector<double> x;
  std::vector<double> y;
};

// Texts of a learning curve.
struct LearningCurveOptions {
  std::string id = "learning_curve";  // prefix of ids in the SVG: letters, digits, _
  std::string title = "Learning curve";
  std::string x_label = "Epoch";
  std::string y_label = "Loss";    // with its unit: "Energy RMSE (meV/atom)"
  std::optional<double> marked_x;  // position of a thin vertical line: the best epoch
  std::string mark_label = "best";
};

// Draws learning curves. y has a logarithmic axis unless a value is negative or (nearly) zero. CHECK-fails if x and y
// of a curve differ in length.
absl::StatusOr<std::string> LearningCurve(absl::Span<const Curve> curves, const LearningCurveOptions& options = {});

// One of several panels above each other.
struct CurvePanel {
  std::string y_label;
  std::vector<Curve> curves;
  bool rises = false;  // higher is better: the axis is linear, and the legend at the bottom right
};

// Draws panels over one axis of x, as LearningCurve draws one; options.y_label is not used. Panels without values are
// left out.
absl::StatusOr<std::string> LearningCurvePanels(absl::Span<const CurvePanel> panels,
                                                const LearningCurveOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_CURVES_H_
