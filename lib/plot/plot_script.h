// Builds gnuplot scripts in the house style: thin axes on two sides, light grid, quiet text.

#ifndef RUTILE_LIB_PLOT_PLOT_SCRIPT_H_
#define RUTILE_LIB_PLOT_PLOT_SCRIPT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/plot/axis.h"

namespace rutile {

// Okabe and Ito's palette (jfly.uni-koeln.de/color) without black and yellow, and gray for remaining groups.
inline constexpr const char* kPlotColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#56b4e9", "#e69f00", "#7f5aa2", "#8c8c8c"};
inline constexpr int kNumPlotColors = 8;

// A gnuplot script for one picture.
class PlotScript {
 public:
  // Sets the canvas in pixels. `id`: see TidySvg. Title and subtitle are at the top left, the caption at the bottom
  // left.
  PlotScript(absl::string_view id, int width, int height, absl::string_view title, absl::string_view subtitle,
             absl::string_view caption);

  // Appends a line; the caller quotes texts in it.
  void Add(absl::string_view line);
  // Sets the plot area as fractions of the canvas.
  void SetMargins(double left, double right, double bottom, double top);
  // Sets an axis, "x" or "y". Ticks have no labels if `labeled` is false. Call SetMargins before: the label of y is at
  // the left edge of the canvas, so that those of several panels line up.
  void SetAxis(absl::string_view axis, AxisRange range, const std::vector<Tick>& ticks, absl::string_view label,
               bool labeled = true);
  // Defines the data block $name: columns of equal length.
  void AddData(absl::string_view name, const std::vector<absl::Span<const double>>& columns);

  const std::string& text() const { return text_; }
  // Runs gnuplot and returns the tidied picture.
  absl::StatusOr<std::string> Draw() const;

 private:
  std::string id_;
  std::string title_;
  int width_;
  double middle_ = 0.5;  // middle of the plot area's height
  std::string text_;
};

// Returns a string constant of gnuplot's language, on one line.
std::string Quote(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_PLOT_SCRIPT_H_
