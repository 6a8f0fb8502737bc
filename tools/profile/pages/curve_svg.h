// Draws curves over a logarithmic axis as SVG, without any other program: loss over learning rate, throughput over
// batch size.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_CURVE_SVG_H_
#define RUTILE_TOOLS_PROFILE_PAGES_CURVE_SVG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

// A curve and its name.
struct SvgCurve {
  std::string name;
  std::vector<double> x, y;  // of equal length; x above 0, ascending
  bool faint = false;        // raw values behind their average
};

// The texts of the picture, and a mark in it.
struct CurveSvgOptions {
  std::string title, x_label, y_label;
  double marked_x = 0;  // x of a vertical line; 0: none
  std::string mark_label;
};

// Draws the curves. The y axis is logarithmic if all its values are above 0 and span more than a factor of 20. Points
// that are not finite interrupt a curve. INVALID_ARGUMENT if there is nothing to draw or an x is not above 0.
absl::StatusOr<std::string> CurveSvg(absl::Span<const SvgCurve> curves, const CurveSvgOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_CURVE_SVG_H_
