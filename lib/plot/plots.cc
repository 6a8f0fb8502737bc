#include "lib/plot/plots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/plot/axis.h"
#include "lib/plot/error_summary.h"
#include "lib/plot/plot_script.h"
#include "lib/plot/text.h"

namespace rutile {
namespace {

constexpr int kWidth = 720;
constexpr int kLongestName = 40;  // characters of a name in a legend
constexpr int kMostBins = 61;
// gnuplot's filled point types (circle, square, triangle, diamond, inverted triangle), and factors that make them look
// alike in size.
constexpr int kShapes[] = {7, 5, 9, 13, 11};
constexpr double kShapeSizes[] = {0.55, 0.48, 0.60, 0.62, 0.60};

std::string WithCapital(std::string text) {
  if (!text.empty()) text[0] = absl::ascii_toupper(text[0]);
  return text;
}

// The values of a plot that can be drawn.
struct DrawnValues {
  std::vector<double> reference, predicted;
  std::vector<std::string> group;  // empty if there is one group
  int64_t left_out = 0;
};

absl::StatusOr<DrawnValues> SelectDrawn(absl::string_view what, absl::Span<const double> reference,
                                        absl::Span<const double> predicted, absl::Span<const std::string> group) {
  CHECK_EQ(reference.size(), predicted.size());
  DrawnValues drawn;
  for (size_t i = 0; i < reference.size(); ++i) {
    if (!CanBeDrawn(reference[i]) || !CanBeDrawn(predicted[i])) {
      ++drawn.left_out;
      continue;
    }
    drawn.reference.push_back(reference[i]);
    drawn.predicted.push_back(predicted[i]);
    if (!group.empty()) drawn.group.push_back(group[i]);
  }
  if (!drawn.reference.empty()) return drawn;
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": no values to plot",
      drawn.left_out > 0 ? absl::StrCat(": all of ", drawn.left_out, " are not finite or beyond 1e300") : ""));
}

// Adds a sentence about values that are left out to a caption.
void AddLeftOut(int64_t left_out, const ErrorPlotOptions& options, std::string* caption) {
  if (left_out == 0) return;
  absl::StrAppend(caption, caption->empty() ? "" : "; ", FormatCount(left_out), " more ", options.items,
                  left_out == 1 ? " is" : " are", " left out: not finite, or beyond 1e300");
}

// Returns the errors in options.error_unit.
std::vector<double> Errors(absl::Span<const double> reference, absl::Span<const double> predicted,
                           const ErrorPlotOptions& options) {
  std::vector<double> error(reference.size());
  for (size_t i = 0; i < error.size(); ++i) error[i] = options.error_scale * (predicted[i] - reference[i]);
  return error;
}

std::string Figures(const ErrorSummary& summary, int64_t n, const ErrorPlotOptions& options) {
  return absl::StrCat("RMSE ", FormatFigure(summary.rmse), ", MAE ", FormatFigure(summary.mae), ", largest error ",
                      FormatFigure(summary.largest), " ", options.error_unit, "; ", FormatCount(n), " ", options.items);
}

// How many values lie where, behind points that are a choice of them: level k has the cells of 10^k to 10^(k+1) values.
constexpr int kDensityLevels = 5, kDensityCells = 60;
constexpr const char* kDensityColors[kDensityLevels] = {"#e9eef4", "#cbd7e4", "#a8bbd0", "#839db9", "#5f7f9f"};

// Adds the cells of a panel as data of the script, and what draws them to `plots`.
void AddDensity(absl::string_view name, absl::Span<const double> x, absl::Span<const double> y, AxisRange x_range,
                AxisRange y_range, PlotScript* script, std::vector<std::string>* plots) {
  const double width = (x_range.high - x_range.low) / kDensityCells,
               height = (y_range.high - y_range.low) / kDensityCells;
  const auto cell = [](double value, double low, double size) {
    return std::clamp(static_cast<int>((value - low) / size), 0, kDensityCells - 1);
  };
  std::vector<int64_t> counts(kDensityCells * kDensityCells);
  for (size_t i = 0; i < x.size(); ++i) {
    ++counts[cell(y[i], y_range.low, height) * kDensityCells + cell(x[i], x_range.low, width)];
  }
  // [level][column: center, then low and high, of x and of y]
  std::array<std::array<std::vector<double>, 6>, kDensityLevels> cells;
  const auto level_of = [&](int c) {
    return counts[c] == 0 ? -1
                          : std::min(kDensityLevels - 1, static_cast<int>(std::log10(static_cast<double>(counts[c]))));
  };
  for (int row = 0; row < kDensityCells; ++row) {
    // Neighbors of one level are one rectangle, which keeps the picture small.
    for (int begin = 0, end = 1; begin < kDensityCells; begin = end++) {
      const int level = level_of(row * kDensityCells + begin);
      while (end < kDensityCells && level_of(row * kDensityCells + end) == level) ++end;
      if (level < 0) continue;
      const double left = x_range.low + begin * width, right = x_range.low + end * width;
      const double low = y_range.low + row * height;
      int column = 0;
      for (const double value : {(left + right) / 2, low + height / 2, left, right, low, low + height}) {
        cells[level][column++].push_back(value);
      }
    }
  }
  for (int level = 0; level < kDensityLevels; ++level) {
    if (cells[level][0].empty()) continue;
    const std::string data = absl::StrCat(name, level);
    script->AddData(data, std::vector<absl::Span<const double>>(cells[level].begin(), cells[level].end()));
    plots->push_back(absl::StrCat("$", data,
                                  " using 1:2:3:4:5:6 with boxxyerror fillstyle solid noborder linecolor rgb '",
                                  kDensityColors[level], "' notitle"));
  }
}

std::pair<double, double> Extent(absl::Span<const double> a, absl::Span<const double> b) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const absl::Span<const double> values : {a, b}) {
    for (const double v : values) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  return {low, high};
}

}  // namespace

absl::StatusOr<std::string> ParityPlot(absl::Span<const double> all_reference, absl::Span<const double> all_predicted,
                                       absl::Span<const std::string> all_groups, const ErrorPlotOptions& options) {
  ASSIGN_OR_RETURN(const DrawnValues values, SelectDrawn("parity plot", all_reference, all_predicted, all_groups));
  const std::vector<double>&reference = values.reference, &predicted = values.predicted;
  const std::vector<std::string>& group = values.group;
  const int64_t n = static_cast<int64_t>(reference.size());
  const std::vector<double> error = Errors(reference, predicted, options);
  const ErrorSummary summary = SummarizeErrors(error);
  const Grouping grouping = GroupByName(group, n, kNumPlotColors);
  const std::vector<int64_t> chosen = ChoosePoints(error, options.max_points);
  const int num_groups = static_cast<int>(grouping.name.size());

  // [group][column: reference, predicted, error]
  std::vector<std::array<std::vector<double>, 3>> points(num_groups);
  for (const int64_t i : chosen) {
    std::array<std::vector<double>, 3>& p = points[grouping.of[i]];
    p[0].push_back(reference[i]);
    p[1].push_back(predicted[i]);
    p[2].push_back(error[i]);
  }
  std::string caption;
  if (static_cast<int64_t>(chosen.size()) < n) {
    caption = absl::StrCat(FormatCount(chosen.size()), " of ", FormatCount(n), " ", options.items,
                           " drawn (the largest errors, and others at random); each shade is for ten times as many");
  }
  AddLeftOut(values.left_out, options, &caption);
  constexpr int kHeight = 920;
  PlotScript script(options.id, kWidth, kHeight, options.title, Figures(summary, n, options), caption);
  const auto [low, high] = Extent(reference, predicted);
  const AxisRange range = LinearRange(low, high);
  const std::vector<Tick> ticks = LinearTicks(range);
  const AxisRange error_range = LinearRange(-summary.largest, summary.largest);
  std::vector<std::string> parity, residual;
  if (static_cast<int64_t>(chosen.size()) < n) {
    AddDensity("density", reference, predicted, range, range, &script, &parity);
    AddDensity("error_density", reference, error, range, error_range, &script, &residual);
  }
  parity.push_back(absl::StrFormat("$diagonal with lines linewidth 1 linecolor rgb '#777777' notitle"));
  residual.push_back("0 with lines linewidth 1 linecolor rgb '#777777' notitle");
  script.AddData("diagonal", {{range.low, range.high}, {range.low, range.high}});
  for (int g = 0; g < num_groups; ++g) {
    if (points[g][0].empty()) continue;
    const std::string data = absl::StrCat("group", g);
    script.AddData(data, {points[g][0], points[g][1], points[g][2]});
    const int shape = g % static_cast<int>(std::size(kShapes));
    const std::string style = absl::StrFormat("with points pointtype %d pointsize %.2f linecolor rgb '#40%s'",
                                              kShapes[shape], kShapeSizes[shape], kPlotColors[g] + 1);
    const std::string title =
        absl::StrFormat("%s (%s)", ShortText(grouping.name[g], kLongestName), FormatCount(grouping.size[g]));
    parity.push_back(
        absl::StrCat("$", data, " using 1:2 ", style, num_groups > 1 ? " title " + Quote(title) : " notitle"));
    residual.push_back(absl::StrCat("$", data, " using 1:3 ", style, " notitle"));
  }
  // Both panels share the reference axis; the upper one is square.
  constexpr double kLeft = 0.14, kRight = 0.965;
  constexpr double kTop = 1 - 70.0 / kHeight, kBottom = kTop - (kRight - kLeft) * kWidth / kHeight;
  script.Add("set multiplot");
  script.SetMargins(kLeft, kRight, kBottom, kTop);
  script.SetAxis("x", range, ticks, "", false);
  script.SetAxis("y", range, ticks, absl::StrCat("Predicted ", options.quantity, " (", options.unit, ")"));
  script.Add("set key at graph 0.02, graph 0.98 left top Left reverse");
  script.Add(absl::StrCat("plot ", absl::StrJoin(parity, ", ")));
  script.Add("unset label");
  script.SetMargins(kLeft, kRight, 86.0 / kHeight, kBottom - 24.0 / kHeight);
  script.SetAxis("x", range, ticks, absl::StrCat("Reference ", options.quantity, " (", options.unit, ")"));
  script.SetAxis("y", error_range, LinearTicks(error_range, 6), absl::StrCat("Error (", options.error_unit, ")"));
  script.Add(absl::StrCat("plot ", absl::StrJoin(residual, ", ")));
  script.Add("unset multiplot");
  return script.Draw();
}

absl::StatusOr<std::string> ErrorHistogram(absl::Span<const double> reference, absl::Span<const double> predicted,
                                           const ErrorPlotOptions& options) {
  ASSIGN_OR_RETURN(const DrawnValues values, SelectDrawn("error histogram", reference, predicted, {}));
  const std::vector<double> error = Errors(values.reference, values.predicted, options);
  const ErrorSummary summary = SummarizeErrors(error);
  std::vector<double> sorted = error;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  std::vector<double> size(n);
  for (size_t i = 0; i < n; ++i) size[i] = std::abs(error[i]);
  std::sort(size.begin(), size.end());
  // The axis includes all values, unless one in two hundred or fewer would stretch it more than twofold.
  double reach = size.back();
  const double most = size[(n - 1) - (n - 1) / 200];
  if (reach > 2 * most && most > 0) reach = 1.25 * most;
  if (reach == 0) reach = 1;
  // The bin width is that of Freedman and Diaconis: 2 IQR / n^(1/3). An odd number of bins puts one around zero.
  const double spread = sorted[(n - 1) - (n - 1) / 4] - sorted[(n - 1) / 4];
  const double wanted = spread > 0 ? 2 * reach / (2 * spread / std::cbrt(static_cast<double>(n))) : 0;
  const int bins = std::clamp(2 * static_cast<int>(std::min(wanted, 1e6) / 2) + 1, 11, kMostBins);
  const double width = 2 * reach / bins;
  std::vector<double> center(bins), count(bins, 0);
  for (int b = 0; b < bins; ++b) center[b] = (b - bins / 2) * width;
  int64_t beyond = 0;
  for (const double e : error) {
    if (std::abs(e) > reach) {
      ++beyond;
    } else {
      ++count[std::clamp(static_cast<int>(std::floor((e + reach) / width)), 0, bins - 1)];
    }
  }
  std::string caption;
  if (beyond > 0) {
    caption = absl::StrCat(FormatCount(beyond), " of ", FormatCount(n), " ", options.items, " lie beyond this axis");
  }
  AddLeftOut(values.left_out, options, &caption);
  PlotScript script(options.id, kWidth, 400, absl::StrCat("Distribution of errors: ", options.quantity),
                    absl::StrCat("Mean ", FormatFigure(summary.mean), ", ", Figures(summary, n, options)), caption);
  script.SetMargins(0.12, 0.97, 0.21, 0.82);
  const AxisRange x_range = LinearRange(-reach, reach);
  const AxisRange y_range = {0, 1.05 * *std::max_element(count.begin(), count.end())};
  script.SetAxis(
      "x", x_range, LinearTicks(x_range, 8),
      absl::StrCat("Error of the ", options.quantity, ", predicted \u2212 reference (", options.error_unit, ")"));
  script.SetAxis("y", y_range, WholeTicks(y_range, 5), WithCapital(options.items));
  script.AddData("bins", {center, count});
  script.Add(absl::StrFormat("set boxwidth %.17g absolute", 0.92 * width));
  script.Add("set arrow from first 0, graph 0 to first 0, graph 1 nohead front linewidth 1 linecolor rgb '#777777'");
  script.Add(
      absl::StrCat("plot $bins with boxes fillstyle solid 0.9 noborder linecolor rgb '", kPlotColors[0], "' notitle"));
  return script.Draw();
}

}  // namespace rutile
