#include "lib/plot/reliability_plot.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/plot/axis.h"
#include "lib/plot/plot_script.h"

namespace rutile {

absl::StatusOr<std::string> ReliabilityPlot(const ReliabilityData& data) {
  CHECK(data.predicted.size() == data.observed.size() && data.predicted.size() == data.share.size());
  if (data.predicted.empty()) return absl::InvalidArgumentError("reliability plot: no values to plot");
  constexpr int kWidth = 480, kHeight = 620;
  PlotScript script("reliability", kWidth, kHeight, "Reliability of probabilities", "", "");
  const AxisRange unit = {0, 1};
  const std::vector<Tick> ticks = LinearTicks(unit, 6);
  const double largest = *std::max_element(data.share.begin(), data.share.end());
  const AxisRange shares = LinearRange(0, largest > 0 ? largest : 1);
  script.AddData("diagonal", {{0.0, 1.0}, {0.0, 1.0}});
  script.AddData("groups", {data.predicted, data.observed, data.share});
  // Both panels share the axis of probabilities; the upper one is square.
  constexpr double kLeft = 0.17, kRight = 0.96, kTop = 1 - 50.0 / kHeight;
  constexpr double kBottom = kTop - (kRight - kLeft) * kWidth / kHeight;
  script.Add("set multiplot");
  script.SetMargins(kLeft, kRight, kBottom, kTop);
  script.SetAxis("x", unit, ticks, "", false);
  script.SetAxis("y", unit, ticks, "Share that is true");
  script.Add(
      absl::StrCat("plot $diagonal with lines linewidth 1 linecolor rgb '#777777' notitle, $groups using 1:2 with "
                   "linespoints pointtype 7 pointsize 0.8 linewidth 2 linecolor rgb '",
                   kPlotColors[0], "' notitle"));
  script.Add("unset label");
  script.SetMargins(kLeft, kRight, 60.0 / kHeight, kBottom - 20.0 / kHeight);
  script.SetAxis("x", unit, ticks, "Probability");
  script.SetAxis("y", shares, LinearTicks(shares, 3), "Share of answers");
  script.Add(
      absl::StrCat("plot $groups using 1:3 with impulses linewidth 6 linecolor rgb '", kPlotColors[0], "' notitle"));
  script.Add("unset multiplot");
  return script.Draw();
}

}  // namespace rutile
