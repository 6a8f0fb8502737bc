#include "lib/plot/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/plot/axis.h"
#include "lib/plot/plot_script.h"
#include "lib/plot/text.h"

namespace rutile {
namespace {

constexpr int kWidth = 720;
constexpr int kHeight = 420;        // of one panel
constexpr int kMoreHeight = 270;    // of each further panel
constexpr int kLongestName = 40;    // characters of a name in a legend
constexpr int kCurvePoints = 1500;  // most points of a curve, more than pixels across
constexpr int kFewPoints = 40;      // curves of at most this length mark their points
// Margins beyond values outside this range would be infinite, or round to 0, which has no logarithm.
constexpr double kLeastOnLogScale = 1e-280, kLargestOnLogScale = 1e280;

// Thins a curve to bounded length: of each stretch of points the lowest and the highest are kept.
Curve Thinned(const Curve& curve) {
  Curve finite = {ShortText(curve.name, kLongestName), {}, {}};
  for (size_t i = 0; i < curve.y.size(); ++i) {
    if (!CanBeDrawn(curve.y[i])) continue;
    finite.x.push_back(curve.x[i]);
    finite.y.push_back(curve.y[i]);
  }
  const size_t n = finite.y.size();
  if (n <= kCurvePoints) return finite;
  Curve thin = {finite.name, {finite.x[0]}, {finite.y[0]}};
  const auto keep = [&](size_t i) {
    thin.x.push_back(finite.x[i]);
    thin.y.push_back(finite.y[i]);
  };
  constexpr size_t kStretches = kCurvePoints / 2;
  for (size_t s = 0; s < kStretches; ++s) {
    const auto begin = finite.y.begin() + (1 + s * (n - 2) / kStretches);
    const auto end = finite.y.begin() + (1 + (s + 1) * (n - 2) / kStretches);
    const auto [low, high] = std::minmax_element(begin, end);
    const size_t a = std::min(low, high) - finite.y.begin(), b = std::max(low, high) - finite.y.begin();
    keep(a);
    if (b != a) keep(b);
  }
  keep(n - 1);
  return thin;
}

// The lowest and the highest of the values that it has seen.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// The axis of x, which all panels share.
struct XAxis {
  Extent extent;
  bool whole = true;  // all places are whole numbers

  void Add(double x) {
    extent.Add(x);
    whole = whole && x == std::floor(x);
  }
};

// Returns what can be drawn of the panels, and fills the axis.
absl::StatusOr<std::vector<CurvePanel>> SelectDrawn(absl::Span<const CurvePanel> panels, XAxis* axis) {
  std::vector<CurvePanel> drawn;
  for (const CurvePanel& panel : panels) {
    CurvePanel kept = {panel.y_label, {}, panel.rises};
    for (const Curve& curve : panel.curves) {
      CHECK_EQ(curve.x.size(), curve.y.size()) << curve.name;
      Curve thin = Thinned(curve);
      for (const double x : thin.x) {
        if (!CanBeDrawn(x)) {
          return absl::InvalidArgumentError(absl::StrCat("learning curve: a place of ", thin.name, " is not finite"));
        }
        axis->Add(x);
      }
      if (!thin.x.empty()) kept.curves.push_back(std::move(thin));
    }
    if (!kept.curves.empty()) drawn.push_back(std::move(kept));
  }
  if (drawn.empty()) return absl::InvalidArgumentError("learning curve: no values to plot");
  return drawn;
}

// Adds the vertical line at options.marked_x to all panels that follow, and its label to the next, where curves leave
// room: at the top or, if they rise, above the legend at the bottom.
void AddMark(const LearningCurveOptions& options, const Extent& x, bool rises, PlotScript* script) {
  if (!options.marked_x.has_value() || !std::isfinite(*options.marked_x)) return;
  script->Add(
      absl::StrFormat("set arrow from first %.17g, graph 0 to first %.17g, graph 1 nohead back linewidth 1 "
                      "linecolor rgb '#777777' dashtype (4,4)",
                      *options.marked_x, *options.marked_x));
  // The mark's label is on the side that has room.
  const bool right = *options.marked_x < 0.5 * (x.low + x.high);
  script->Add(
      absl::StrFormat("set label %s at first %.17g, graph %.2f %s offset character %d,0 font 'sans-serif,12' "
                      "textcolor rgb '#555555'",
                      Quote(ShortText(options.mark_label, kLongestName)), *options.marked_x, rises ? 0.25 : 0.95,
                      right ? "left" : "right", right ? 1 : -1));
}

std::string DataName(size_t panel, size_t curve) { return absl::StrCat("curve", panel, "_", curve); }

// Adds the axis of y, the legend and the curves of a panel.
void AddPanel(const CurvePanel& panel, size_t number, bool marked, PlotScript* script) {
  Extent y;
  for (const Curve& curve : panel.curves) {
    for (const double value : curve.y) y.Add(value);
  }
  const bool log_scale = !panel.rises && y.low > kLeastOnLogScale && y.high < kLargestOnLogScale;
  const AxisRange range = log_scale ? LogRange(y.low, y.high) : LinearRange(y.low, y.high);
  script->Add(log_scale ? "set logscale y" : "unset logscale y");
  script->SetAxis("y", range, log_scale ? LogTicks(range) : LinearTicks(range), panel.y_label);
  // Curves fall from the upper left or rise from the lower left, so the legend is elsewhere.
  script->Add(panel.rises ? "set key right bottom"
              : marked    ? "set key at graph 0.98, graph 0.86 right top"
                          : "set key right top");
  std::vector<std::string> plots;
  for (size_t c = 0; c < panel.curves.size(); ++c) {
    const Curve& curve = panel.curves[c];
    const bool marks = curve.x.size() <= kFewPoints;
    plots.push_back(
        absl::StrCat("$", DataName(number, c), " with ", marks ? "linespoints pointtype 7 pointsize 0.5" : "lines",
                     " linewidth 2 linecolor rgb '", kPlotColors[c % kNumPlotColors], "' title ", Quote(curve.name)));
  }
  script->Add(absl::StrCat("plot ", absl::StrJoin(plots, ", ")));
}

}  // namespace

absl::StatusOr<std::string> LearningCurvePanels(absl::Span<const CurvePanel> panels,
                                                const LearningCurveOptions& options) {
  XAxis axis;
  ASSIGN_OR_RETURN(const std::vector<CurvePanel> drawn, SelectDrawn(panels, &axis));
  if (options.marked_x.has_value() && CanBeDrawn(*options.marked_x)) axis.Add(*options.marked_x);
  const AxisRange x_range = LinearRange(axis.extent.low, axis.extent.high);
  const std::vector<Tick> x_ticks = axis.whole ? WholeTicks(x_range, 8) : LinearTicks(x_range, 8);

  const int num_panels = static_cast<int>(drawn.size());
  const int height = kHeight + kMoreHeight * (num_panels - 1);
  PlotScript script(options.id, kWidth, height, options.title, "", "");
  const double top = 1 - 0.12 * kHeight / height, bottom = 0.15 * kHeight / height, gap = 24.0 / height;
  const double panel_height = (top - bottom - (num_panels - 1) * gap) / num_panels;
  for (size_t p = 0; p < drawn.size(); ++p) {
    for (size_t c = 0; c < drawn[p].curves.size(); ++c) {
      script.AddData(DataName(p, c), {drawn[p].curves[c].x, drawn[p].curves[c].y});
    }
  }
  if (num_panels > 1) script.Add("set multiplot");
  for (int p = 0; p < num_panels; ++p) {
    const bool is_last = p + 1 == num_panels;
    const double panel_top = top - p * (panel_height + gap);
    if (p > 0) script.Add("unset label");
    script.SetMargins(0.12, 0.97, panel_top - panel_height, panel_top);
    script.SetAxis("x", x_range, x_ticks, is_last ? options.x_label : "", is_last);
    if (p == 0) AddMark(options, axis.extent, drawn[0].rises, &script);
    AddPanel(drawn[p], p, options.marked_x.has_value(), &script);
  }
  if (num_panels > 1) script.Add("unset multiplot");
  return script.Draw();
}

absl::StatusOr<std::string> LearningCurve(absl::Span<const Curve> curves, const LearningCurveOptions& options) {
  const CurvePanel panel = {options.y_label, {curves.begin(), curves.end()}};
  return LearningCurvePanels({panel}, options);
}

}  // namespace rutile
