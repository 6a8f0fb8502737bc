#include "tools/profile/pages/curve_svg.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/plot/axis.h"
#include "lib/plot/text.h"

namespace rutile {
namespace {

constexpr double kWidth = 760, kHeight = 440;
constexpr double kLeft = 80, kRight = 740, kTop = 50, kBottom = 380;
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

// Returns the position of a value between the ends of an axis.
struct Scale {
  AxisRange range;
  bool log;
  double from, to;
  double At(double value) const {
    const double share = log ? std::log(value / range.low) / std::log(range.high / range.low)
                             : (value - range.low) / (range.high - range.low);
    return from + (to - from) * share;
  }
};

std::string Text(double x, double y, const char* more, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, more, EscapeXml(text));
}

std::string Path(const SvgCurve& curve, const Scale& x, const Scale& y, const char* color) {
  std::string points;
  bool drawing = false;
  for (size_t i = 0; i < curve.x.size(); ++i) {
    if (!std::isfinite(curve.y[i])) {
      drawing = false;
      continue;
    }
    absl::StrAppend(&points, absl::StrFormat("%s%.1f,%.1f", drawing ? "L" : "M", x.At(curve.x[i]), y.At(curve.y[i])));
    drawing = true;
  }
  return absl::StrFormat("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-opacity=\"%s\"/>\n",
                         points, color, curve.faint ? "1" : "2", curve.faint ? "0.45" : "1");
}

}  // namespace

absl::StatusOr<std::string> CurveSvg(absl::Span<const SvgCurve> curves, const CurveSvgOptions& options) {
  double x_low = INFINITY, x_high = 0, y_low = INFINITY, y_high = -INFINITY;
  for (const SvgCurve& curve : curves) {
    CHECK_EQ(curve.x.size(), curve.y.size()) << curve.name;
    for (size_t i = 0; i < curve.x.size(); ++i) {
      if (!(curve.x[i] > 0) || !std::isfinite(curve.x[i])) {
        return absl::InvalidArgumentError(absl::StrCat(options.title, ": x is ", curve.x[i], ", expected above 0"));
      }
      if (!std::isfinite(curve.y[i])) continue;
      x_low = std::min(x_low, curve.x[i]), x_high = std::max(x_high, curve.x[i]);
      y_low = std::min(y_low, curve.y[i]), y_high = std::max(y_high, curve.y[i]);
    }
  }
  if (!(x_low <= x_high)) return absl::InvalidArgumentError(absl::StrCat(options.title, ": nothing to draw"));
  const bool y_log = y_low > 0 && y_high > 20 * y_low;
  const Scale x{LogRange(x_low, x_high), true, kLeft, kRight};
  const Scale y{y_log ? LogRange(y_low, y_high) : LinearRange(y_low, y_high), y_log, kBottom, kTop};

  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>%s</title>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      kWidth, kHeight, kWidth, kHeight, EscapeXml(options.title));
  svg += Text(kLeft, 24, "font-weight=\"bold\" font-size=\"14\"", options.title);
  for (const Tick& tick : LogTicks(x.range)) {
    const double at = x.At(tick.value);
    svg += absl::StrFormat("<path d=\"M%.1f,%.1fV%.1f\" stroke=\"#e4e4e4\"/>\n", at, kTop, kBottom);
    svg += Text(at, kBottom + 18, "text-anchor=\"middle\"", tick.label);
  }
  for (const Tick& tick : y_log ? LogTicks(y.range) : LinearTicks(y.range)) {
    const double at = y.At(tick.value);
    svg += absl::StrFormat("<path d=\"M%.1f,%.1fH%.1f\" stroke=\"#e4e4e4\"/>\n", kLeft, at, kRight);
    svg += Text(kLeft - 8, at + 4, "text-anchor=\"end\"", tick.label);
  }
  svg += absl::StrFormat("<path d=\"M%.1f,%.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#666\"/>\n", kLeft, kTop, kBottom,
                         kRight);
  svg += Text((kLeft + kRight) / 2, kBottom + 42, "text-anchor=\"middle\"", options.x_label);
  svg += absl::StrFormat("<text transform=\"translate(20 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
                         (kTop + kBottom) / 2, EscapeXml(options.y_label));
  for (size_t c = 0; c < curves.size(); ++c) {
    const char* const color = kColors[c % 4];
    svg += Path(curves[c], x, y, color);
    svg += Text(kRight - 10, kTop + 16 + 16 * static_cast<double>(c),
                absl::StrFormat("text-anchor=\"end\" fill=\"%s\"", color).c_str(), curves[c].name);
  }
  if (options.marked_x >= x.range.low && options.marked_x <= x.range.high) {
    const double at = x.At(options.marked_x);
    svg += absl::StrFormat("<path d=\"M%.1f,%.1fV%.1f\" stroke=\"#d55e00\" stroke-dasharray=\"4 3\"/>\n", at, kTop,
                           kBottom);
    svg += Text(at + 5, kTop + 12, "fill=\"#d55e00\"", options.mark_label);
  }
  return absl::StrCat(svg, "</svg>\n");
}

}  // namespace rutile
