#include "tools/profile/pages/profile_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/plot/axis.h"
#include "lib/plot/text.h"
#include "tools/profile/pages/chrome_trace.h"

namespace rutile {
namespace {

constexpr int kWidth = 900;
constexpr int kLabelWidth = 230;
constexpr int kColumns = kWidth - kLabelWidth - 20;  // pixels of the time axis
// The colors of Okabe and Ito, as in lib/plot; gray is for stages without a color of their own.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f5aa2"};
constexpr const char* kGray = "#8c8c8c";

std::string Text(double x, double y, absl::string_view anchor, absl::string_view text, absl::string_view more = "") {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, more,
                         EscapeXml(text));
}

std::string Rect(double x, double y, double width, double height, absl::string_view fill, double opacity,
                 absl::string_view tooltip = "") {
  const std::string begin = absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"", x,
                                            y, width, height, fill);
  const std::string shade = opacity < 1 ? absl::StrFormat(" fill-opacity=\"%.2f\"", opacity) : "";
  if (tooltip.empty()) return absl::StrCat(begin, shade, "/>\n");
  return absl::StrCat(begin, shade, "><title>", EscapeXml(tooltip), "</title></rect>\n");
}

std::string Svg(int height, absl::string_view title, absl::string_view body) {
  return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", kWidth, "\" height=\"", height,
                      "\" viewBox=\"0 0 ", kWidth, " ", height,
                      "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>", EscapeXml(title),
                      "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", body, "</svg>\n");
}

// Returns colors of stages by name: those that take most time get their own.
std::map<std::string, std::string> ColorsOf(absl::Span<const ProfileRecord> records) {
  std::map<std::string, double> seconds;
  for (const ProfileRecord& record : records) {
    for (const ProfileStage& stage : record.data.stages) seconds[stage.name] += stage.self_s;
  }
  std::vector<std::pair<std::string, double>> order(seconds.begin(), seconds.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<std::string, std::string> colors;
  for (const auto& [name, s] : order) {
    const bool plain = name == StageName(Stage::kOther);
    colors[name] = !plain && colors.size() < std::size(kColors) ? kColors[colors.size()] : kGray;
  }
  return colors;
}

// The seconds of each stage in each pixel column of a track.
struct Track {
  std::array<std::map<std::string, double>, kColumns> columns;
};

int Depth(const std::string& path) { return static_cast<int>(std::count(path.begin(), path.end(), '/')); }

void AddSpan(double start_s, double end_s, double column_s, const std::string& name, Track* track) {
  const int first = std::clamp(static_cast<int>(start_s / column_s), 0, kColumns - 1);
  const int last = std::clamp(static_cast<int>(end_s / column_s), first, kColumns - 1);
  for (int c = first; c <= last; ++c) {
    const double covered = std::min(end_s, (c + 1) * column_s) - std::max(start_s, c * column_s);
    if (covered > 0) track->columns[c][name] += covered;
  }
}

std::string DrawLane(const Track& track, double y, double column_s, const std::map<std::string, std::string>& colors) {
  std::string svg;
  const auto look = [&](int c) -> std::pair<std::string, double> {
    std::pair<std::string, double> most;
    double covered = 0;
    for (const auto& [name, s] : track.columns[c]) {
      covered += s;
      if (s > most.second) most = {name, s};
    }
    if (covered < 0.02 * column_s) return {"", 0};
    return {most.first, std::clamp(std::ceil(4 * covered / column_s) / 4, 0.25, 1.0)};
  };
  for (int c = 0; c < kColumns;) {
    const auto [name, opacity] = look(c);
    int end = c + 1;
    while (end < kColumns && look(end) == std::pair{name, opacity}) ++end;
    if (!name.empty()) svg += Rect(kLabelWidth + c, y, end - c, 13, colors.at(name), opacity, name);
    c = end;
  }
  return svg;
}

}  // namespace

std::string StageBarsSvg(absl::string_view title, const StageTable& table, int max_stages) {
  constexpr int kTop = 40, kStep = 22;
  std::string body = Text(12, 22, "start", title, " font-weight=\"bold\"");
  double largest = 1e-9, rest = 0;
  int drawn = 0, left_out = 0;
  for (const StageRow& row : table.rows) {
    if (row.main) largest = std::max(largest, row.share);
  }
  const auto bar = [&](const std::string& label, double share, double limit, const std::string& rates) {
    const double y = kTop + drawn * kStep;
    const double width = std::max(0.5, share / largest * (kColumns - 260));
    body += Text(kLabelWidth - 8, y + 13, "end", ShortText(label, 34));
    body += Rect(kLabelWidth, y, width, 17, kColors[0], 0.45, label);
    if (limit > 0) body += Rect(kLabelWidth, y, width * std::min(1.0, limit), 17, kColors[0], 1);
    std::string figure = absl::StrFormat("%.1f %%", 100 * share);
    if (!rates.empty()) absl::StrAppend(&figure, "  ", rates);
    body += Text(kLabelWidth + width + 6, y + 13, "start", ShortText(figure, 52), " fill=\"#555\"");
    ++drawn;
  };
  for (const StageRow& row : table.rows) {
    if (!row.main) continue;
    if (drawn < max_stages) {
      bar(row.path, row.share, row.roofline.share, RatesText(row));
    } else {
      rest += row.share;
      ++left_out;
    }
  }
  if (left_out > 0) bar(absl::StrCat(left_out, " smaller stages"), rest, 0, "");
  body += Text(12, kTop + drawn * kStep + 20, "start",
               "Share of the wall time, main thread. Darker: what the stage would take at the limit of the machine.",
               " fill=\"#666\" font-size=\"11\"");
  return Svg(kTop + drawn * kStep + 34, title, body);
}

std::string TimelineSvg(absl::Span<const ProfileRecord> records) {
  double end_s = 0;
  bool any = false;
  for (const ProfileRecord& record : records) {
    end_s = std::max(end_s, static_cast<double>(StartAfterFirst(records, record)) / 1e9 + record.data.wall_s);
    any = any || !record.data.spans.empty();
  }
  if (!any || end_s <= 0) return "";
  const double column_s = end_s / kColumns;
  const std::map<std::string, std::string> colors = ColorsOf(records);

  double y = 44;
  std::string body = Text(12, 22, "start", "Timeline", " font-weight=\"bold\"");
  for (const ProfileRecord& record : records) {
    const double offset_s = static_cast<double>(StartAfterFirst(records, record)) / 1e9;
    std::map<std::pair<int, int>, Track> tracks;  // by thread and depth
    for (const ProfileSpan& span : record.data.spans) {
      if (span.stage < 0 || static_cast<size_t>(span.stage) >= record.data.stages.size()) continue;
      const ProfileStage& stage = record.data.stages[span.stage];
      const double start_s = offset_s + static_cast<double>(span.start_ns) / 1e9;
      AddSpan(start_s, start_s + static_cast<double>(span.duration_ns) / 1e9, column_s, stage.name,
              &tracks[{span.thread, std::min(5, Depth(stage.path))}]);
    }
    body += Text(12, y + 11, "start", ShortText(absl::StrCat(record.tool, " (", record.pid, ")"), 34),
                 " font-weight=\"bold\"");
    y += 16;
    int last_thread = -1;
    for (const auto& [where, track] : tracks) {
      if (where.first != last_thread) {
        std::string name = absl::StrCat("thread ", where.first);
        for (const ProfileThread& thread : record.data.threads) {
          if (thread.id == where.first) name = thread.name;
        }
        body += Text(kLabelWidth - 8, y + 11, "end", ShortText(name, 30));
        last_thread = where.first;
      }
      body += DrawLane(track, y, column_s, colors);
      y += 15;
    }
    y += 6;
  }
  for (const Tick& tick : LinearTicks({0, end_s})) {
    const double x = kLabelWidth + tick.value / column_s;
    body += absl::StrFormat(
        "<line x1=\"%.1f\" y1=\"40\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\" stroke-width=\"0.5\"/>\n", x, x, y);
    body += Text(x, y + 14, "middle", absl::StrCat(tick.label, " s"), " fill=\"#666\" font-size=\"11\"");
  }
  y += 26;
  double x = 12;
  for (const char* const color : kColors) {
    for (const auto& [name, its] : colors) {
      if (its != color) continue;
      body += Rect(x, y, 11, 11, color, 1);
      body += Text(x + 15, y + 10, "start", name);
      x += 30 + 7.0 * static_cast<double>(name.size());
    }
  }
  body += Rect(x, y, 11, 11, kGray, 1);
  body += Text(x + 15, y + 10, "start", "the rest");
  return Svg(static_cast<int>(y) + 24, "Timeline", body);
}

}  // namespace rutile
