// Draws how well predictions agree with references, and how errors are distributed. Learning curves: curves.h.
//
// Each function returns an SVG file as a string, the same for the same input. Colors are those of Okabe and Ito, which
// color-blind readers can distinguish, and groups differ in shape as well. Names of groups may contain any characters.
// Values beyond +-1e300, infinity and NaN are left out, and the caption says how many.
// Errors: INVALID_ARGUMENT if nothing is left to draw, otherwise those of RunGnuplot (NOT_FOUND: gnuplot not
// installed).
//
//   ASSIGN_OR_RETURN(const std::string svg, ParityPlot(reference, predicted, /*group=*/{}));
//   RETURN_IF_ERROR(report.AddFigure(svg, "Predicted against reference energies"));

#ifndef RUTILE_LIB_PLOT_PLOTS_H_
#define RUTILE_LIB_PLOT_PLOTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// What is compared, and in which units: energies per atom by default.
struct ErrorPlotOptions {
  std::string id = "parity";
  std::string title = "Predicted against reference energies";
  std::string quantity = "energy";
  std::string unit = "eV/atom";         // unit of the data
  std::string error_unit = "meV/atom";  // unit of errors, which are multiplied by error_scale
  double error_scale = 1000;
  std::string items = "structures";  // what the values belong to
  // Number of points drawn: the largest errors and a fixed random choice of the others. Behind them are shades, which
  // show where all values are.
  int max_points = 2000;
};

// Draws predicted over reference values with the diagonal, and below it the errors (predicted - reference) over
// reference. reference, predicted: [n]. group: [n], or empty for one group; the eighth and smaller groups share a
// color. RMSE, MAE and the largest error include all values that are not left out, drawn or not; the picture says if
// some are not drawn.
absl::StatusOr<std::string> ParityPlot(absl::Span<const double> reference, absl::Span<const double> predicted,
                                       absl::Span<const std::string> group, const ErrorPlotOptions& options = {});

// Draws how many errors (predicted - reference) are in each bin, with their mean, RMSE, MAE. A few far values do not
// squeeze the rest: they are counted in the caption.
absl::StatusOr<std::string> ErrorHistogram(absl::Span<const double> reference, absl::Span<const double> predicted,
                                           const ErrorPlotOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_PLOTS_H_
