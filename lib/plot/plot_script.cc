#include "lib/plot/plot_script.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/plot/gnuplot.h"
#include "lib/plot/svg.h"
#include "lib/plot/text.h"

namespace rutile {
namespace {

// Baselines of title, subtitle and caption, in pixels from the top or bottom.
constexpr double kTitleLine = 26;
constexpr double kSubtitleLine = 48;
constexpr double kCaptionLine = 16;
constexpr double kTextLeft = 16;
constexpr double kAxisLabelLeft = 22;

std::string LabelAt(double x, double y, absl::string_view text, absl::string_view font, absl::string_view color) {
  return absl::StrFormat("set label %s at screen %.6f,%.6f left font %s textcolor rgb %s", Quote(text), x, y,
                         Quote(font), Quote(color));
}

}  // namespace

std::string Quote(absl::string_view text) {
  // gnuplot 5.4 ends a string at a doubled quote that stands at its start or beside another, and substitutes commands
  // in double quotes, so that no way of writing an apostrophe is safe but another character.
  return absl::StrCat("'", absl::StrReplaceAll(CleanText(text), {{"'", "\u2019"}}), "'");
}

PlotScript::PlotScript(absl::string_view id, int width, int height, absl::string_view title, absl::string_view subtitle,
                       absl::string_view caption)
    : id_(id), title_(title), width_(width) {
  const double left = kTextLeft / width;
  Add("set encoding utf8");
  Add(absl::StrCat("set terminal svg size ", width, ",", height,
                   " fixed noenhanced font 'sans-serif,13' background '#ffffff' name ", Quote(id)));
  Add(LabelAt(left, 1 - kTitleLine / height, title, "sans-serif:Bold,16", "#222222"));
  if (!subtitle.empty()) Add(LabelAt(left, 1 - kSubtitleLine / height, subtitle, "sans-serif,13", "#555555"));
  if (!caption.empty()) Add(LabelAt(left, kCaptionLine / height, caption, "sans-serif,11", "#777777"));
  Add("set border 3 linewidth 1 linecolor rgb '#999999'");
  Add("set tics nomirror out scale 0.5 textcolor rgb '#444444'");
  Add("set grid back linetype 1 linewidth 1 linecolor rgb '#ebebeb'");
  Add("set key textcolor rgb '#222222' samplen 1.5 spacing 1.2");
}

void PlotScript::Add(absl::string_view line) { absl::StrAppend(&text_, line, "\n"); }

void PlotScript::SetMargins(double left, double right, double bottom, double top) {
  middle_ = 0.5 * (bottom + top);
  Add(absl::StrFormat("set lmargin at screen %.6f", left));
  Add(absl::StrFormat("set rmargin at screen %.6f", right));
  Add(absl::StrFormat("set bmargin at screen %.6f", bottom));
  Add(absl::StrFormat("set tmargin at screen %.6f", top));
}

void PlotScript::SetAxis(absl::string_view axis, AxisRange range, const std::vector<Tick>& ticks,
                         absl::string_view label, bool labeled) {
  Add(absl::StrFormat("set %srange [%.17g:%.17g] noextend", axis, range.low, range.high));
  const auto format_tick = [labeled](std::string* out, const Tick& tick) {
    absl::StrAppend(out, Quote(labeled ? tick.label : ""), absl::StrFormat(" %.17g", tick.value));
  };
  Add(absl::StrCat("set ", axis, "tics (", absl::StrJoin(ticks, ", ", format_tick), ")"));
  if (axis == "x") {
    Add(absl::StrCat("set xlabel ", Quote(label), " offset 0,0.3 textcolor rgb '#222222'"));
  } else {
    Add(absl::StrFormat("set label %s at screen %.6f,%.6f center rotate by 90 textcolor rgb '#222222'", Quote(label),
                        kAxisLabelLeft / width_, middle_));
  }
}

void PlotScript::AddData(absl::string_view name, const std::vector<absl::Span<const double>>& columns) {
  absl::StrAppend(&text_, "$", name, " << EOD\n");
  for (size_t row = 0; row < columns[0].size(); ++row) {
    for (size_t c = 0; c < columns.size(); ++c) {
      CHECK_EQ(columns[c].size(), columns[0].size());
      absl::StrAppend(&text_, c == 0 ? "" : " ", absl::StrFormat("%.17g", columns[c][row]));
    }
    text_ += '\n';
  }
  text_ += "EOD\n";
}

absl::StatusOr<std::string> PlotScript::Draw() const {
  ASSIGN_OR_RETURN(const std::string svg, RunGnuplot(text_));
  return TidySvg(svg, id_, title_);
}

}  // namespace rutile
