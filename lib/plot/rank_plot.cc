#include "lib/plot/rank_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"
#include "lib/plot/axis.h"
#include "lib/plot/plot_script.h"

namespace rutile {
namespace {

constexpr int kWidth = 720;
constexpr size_t kMostRelations = 1000;
// Where 0 is on the logarithmic axis: as far from 1 as 1 is from 3.
constexpr double kZero = 1.0 / 3;
constexpr double kSmallest = 0.35, kLargest = 1.8;  // sizes of points
constexpr int kMostLabels = 12;                     // of groups
constexpr AxisRange kMrrRange = {0, 1.02};

bool IsDrawn(const RelationRanks& relation) {
  return CanBeDrawn(relation.triples) && CanBeDrawn(relation.queries) && CanBeDrawn(relation.mrr);
}

}  // namespace

absl::StatusOr<std::string> RelationPlot(absl::Span<const RelationRanks> relations) {
  std::vector<RelationRanks> drawn;
  std::copy_if(relations.begin(), relations.end(), std::back_inserter(drawn), IsDrawn);
  if (drawn.empty()) return absl::InvalidArgumentError("ranks by relation: no values to plot");
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const RelationRanks& a, const RelationRanks& b) { return a.queries > b.queries; });
  std::string caption;
  if (drawn.size() > kMostRelations) {
    caption = absl::StrCat("The ", FormatCount(kMostRelations), " relations with most queries, of ",
                           FormatCount(static_cast<long long>(drawn.size())));
    drawn.resize(kMostRelations);
  }
  double low = drawn[0].triples, high = 1;
  std::vector<double> x, y, size;
  for (const RelationRanks& relation : drawn) {
    const double triples = std::max(relation.triples, kZero);
    low = std::min(low, triples);
    high = std::max(high, triples);
    x.push_back(triples);
    y.push_back(relation.mrr);
    size.push_back(std::max(kSmallest, kLargest * std::sqrt(relation.queries / drawn[0].queries)));
  }
  constexpr int kHeight = 420;
  PlotScript script("ranks_by_relation", kWidth, kHeight, "Ranks by relation", "", caption);
  script.SetMargins(0.12, 0.97, 0.19, 0.88);
  const AxisRange range = LogRange(std::max(low, kZero), std::max(high, 10 * low));
  std::vector<Tick> ticks;
  for (const Tick& tick : LogTicks(range)) {
    if (tick.value >= 1) ticks.push_back(tick);
  }
  if (low <= kZero) ticks.insert(ticks.begin(), {kZero, "0"});
  script.Add("set logscale x");
  script.SetAxis("x", range, ticks, "Training triples of the relation");
  script.SetAxis("y", kMrrRange, LinearTicks(kMrrRange, 6), "MRR");
  script.AddData("relations", {x, y, size});
  script.Add(absl::StrCat("plot $relations using 1:2:3 with points pointtype 7 pointsize variable linecolor rgb '#60",
                          kPlotColors[0] + 1, "' notitle"));
  return script.Draw();
}

absl::StatusOr<std::string> FrequencyPlot(absl::Span<const std::string> groups, absl::Span<const GroupRanks> sides,
                                          absl::Span<const double> share) {
  CHECK_EQ(share.size(), groups.size());
  const int num_groups = static_cast<int>(groups.size()), num_sides = static_cast<int>(sides.size());
  const double bar = 0.8 / std::max(1, num_sides);
  std::vector<std::vector<double>> x(num_sides), y(num_sides);
  bool any = false;
  for (int s = 0; s < num_sides; ++s) {
    CHECK_EQ(sides[s].mrr.size(), groups.size()) << sides[s].name;
    for (int g = 0; g < num_groups; ++g) {
      if (!CanBeDrawn(sides[s].mrr[g])) continue;
      x[s].push_back(g + bar * (s - 0.5 * (num_sides - 1)));
      y[s].push_back(sides[s].mrr[g]);
      any = true;
    }
  }
  if (!any) return absl::InvalidArgumentError("ranks by frequency: no values to plot");
  constexpr int kHeight = 560;
  PlotScript script("ranks_by_frequency", kWidth, kHeight, "Ranks by how often training saw the answer", "", "");
  std::vector<double> places;
  std::vector<Tick> ticks;
  const int stride = (num_groups + kMostLabels - 1) / kMostLabels;
  for (int g = 0; g < num_groups; ++g) {
    places.push_back(g);
    if (g % stride == 0) ticks.push_back({static_cast<double>(g), groups[g]});
  }
  script.AddData("share", {places, share});
  std::vector<std::string> plots;
  for (int s = 0; s < num_sides; ++s) {
    if (x[s].empty()) continue;
    const std::string data = absl::StrCat("side", s);
    script.AddData(data, {x[s], y[s]});
    plots.push_back(absl::StrCat("$", data, " with boxes fillstyle solid 0.9 noborder linecolor rgb '",
                                 kPlotColors[s % kNumPlotColors], "' title ", Quote(sides[s].name)));
  }
  constexpr double kLeft = 0.12, kRight = 0.97, kTop = 1 - 76.0 / kHeight, kBottom = 60.0 / kHeight;
  constexpr double kGap = 24.0 / kHeight, kShares = 110.0 / kHeight;
  const AxisRange range = {-0.6, num_groups - 0.4};
  const AxisRange shares = {0, 1.05 * std::max(1e-3, *std::max_element(share.begin(), share.end()))};
  script.Add("set multiplot");
  script.SetMargins(kLeft, kRight, kBottom + kShares + kGap, kTop);
  script.SetAxis("x", range, ticks, "", false);
  script.SetAxis("y", kMrrRange, LinearTicks(kMrrRange, 6), "MRR");
  script.Add(absl::StrFormat("set boxwidth %.17g absolute", 0.92 * bar));
  // The legend is above the bars, which may fill the panel.
  script.Add(absl::StrFormat("set key at screen %.6f,%.6f right top horizontal", kRight, 1 - 40.0 / kHeight));
  script.Add(absl::StrCat("plot ", absl::StrJoin(plots, ", ")));
  script.Add("unset label");
  script.SetMargins(kLeft, kRight, kBottom, kBottom + kShares);
  script.SetAxis("x", range, ticks, "Training triples that the answer is in");
  script.SetAxis("y", shares, LinearTicks(shares, 2), "Share");
  script.Add("set boxwidth 0.8 absolute");
  script.Add(absl::StrCat("plot $share with boxes fillstyle solid 0.9 noborder linecolor rgb '",
                          kPlotColors[kNumPlotColors - 1], "' notitle"));
  script.Add("unset multiplot");
  return script.Draw();
}

}  // namespace rutile
