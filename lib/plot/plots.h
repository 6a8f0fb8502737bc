// The pictures of a training run: how the loss fell, how well predictions agree, how errors are distributed.
//
// Each function returns an SVG file as a string, the same for the same input. Colors are those of Okabe and Ito, which
// color-blind readers can tell apart, and groups differ in shape as well. Names of groups may hold anything.
// Errors: INVALID_ARGUMENT for empty or non-finite data, else those of RunGnuplot (NOT_FOUND: gnuplot not installed).

#ifndef RUTILE_LIB_PLOT_PLOTS_H_
#define RUTILE_LIB_PLOT_PLOTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// One line of a learning curve. Where y is NaN (an epoch without validation) the line goes on without the point.
struct Curve {
  std::string name;  // "training", "validation"
  std::vector<double> x;
  std::vector<double> y;
};

struct LearningCurveOptions {
  std::string id = "learning_curve";  // prefix of ids in the SVG: letters, digits, _
  std::string title = "Learning curve";
  std::string x_label = "Epoch";
  std::string y_label = "Loss";    // with its unit: "Energy RMSE (meV/atom)"
  std::optional<double> marked_x;  // a thin vertical line: the epoch that was kept
  std::string mark_label = "best";
};

// y on a logarithmic axis unless a value is zero or negative. CHECK-fails when x and y of a curve differ in length.
absl::StatusOr<std::string> LearningCurve(absl::Span<const Curve> curves, const LearningCurveOptions& options = {});

// What is compared, and in which units: energies per atom by default.
struct ErrorPlotOptions {
  std::string id = "parity";
  std::string title = "Predicted against reference energies";
  std::string quantity = "energy";
  std::string unit = "eV/atom";         // of the data
  std::string error_unit = "meV/atom";  // of errors, which are multiplied by error_scale
  double error_scale = 1000;
  std::string items = "structures";  // what one value belongs to
  int max_points = 2000;             // drawn: the largest errors and a fixed random choice of the others
};

// Predicted over reference with the diagonal, and below it the errors (predicted - reference) over reference.
// reference, predicted: [n]. group: [n], or empty for one group; the eighth and smaller groups share a color. RMSE,
// MAE and the largest error are those of all values, drawn or not; the picture says when some are not drawn.
absl::StatusOr<std::string> ParityPlot(absl::Span<const double> reference, absl::Span<const double> predicted,
                                       absl::Span<const std::string> group, const ErrorPlotOptions& options = {});

// How many errors (predicted - reference) fall into each bin, with their mean, RMSE, MAE. A few far values do not
// squeeze the rest: they are counted in the caption.
absl::StatusOr<std::string> ErrorHistogram(absl::Span<const double> reference, absl::Span<const double> predicted,
                                           const ErrorPlotOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_PLOTS_H_
