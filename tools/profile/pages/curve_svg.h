// A curve over a logarithmic axis as SVG, without any other program: loss over learning rate, throughput over batch
// size.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_CURVE_SVG_H_
#define RUTILE_TOOLS_PROFILE_PAGES_CURVE_SVG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

struct SvgCurve {
  std::string name;
  std::vector<double> x, y;  // of one length; x above 0, rising
  bool faint = false;        // raw values behind their average
};

struct CurveSvgOptions {
  std::string title, x_label, y_label;
  double marked_x = 0;  // a vertical line there; 0: none
  std::string mark_label;
};

// y on a logarithmic axis when all its values are above 0 and span more than a factor of 20. Points that are not finite
// interrupt a curve. INVALID_ARGUMENT when there is nothing to draw or an x is not above 0.
absl::StatusOr<std::string> CurveSvg(absl::Span<const SvgCurve> curves, const CurveSvgOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_CURVE_SVG_H_
