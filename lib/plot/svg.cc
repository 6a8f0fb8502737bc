#include "lib/plot/svg.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/plot/text.h"

namespace rutile {
namespace {

constexpr absl::string_view kTitle = "<title>";
constexpr absl::string_view kTitleEnd = "</title>";

// Removes the elements <title>...</title>; the first one is replaced by `first`.
std::string ReplaceTitles(absl::string_view svg, absl::string_view first) {
  std::string result;
  for (size_t begin; (begin = svg.find(kTitle)) != absl::string_view::npos;) {
    const size_t end = svg.find(kTitleEnd, begin);
    if (end == absl::string_view::npos) break;
    absl::StrAppend(&result, svg.substr(0, begin), std::exchange(first, ""));
    svg.remove_prefix(end + kTitleEnd.size());
  }
  return absl::StrCat(result, svg);
}

}  // namespace

absl::StatusOr<std::string> TidySvg(absl::string_view svg, absl::string_view name, absl::string_view title) {
  bool plain = !name.empty();
  for (const char c : name) plain = plain && (absl::ascii_isalnum(c) || c == '_');
  if (!plain) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of a plot is \"", name, "\", expected letters, digits, _"));
  }
  if (!absl::StrContains(svg, "<svg") || !absl::StrContains(svg, "</svg>")) {
    return absl::InvalidArgumentError("gnuplot's output is not an SVG picture");
  }
  std::vector<std::pair<std::string, std::string>> replacements;
  for (const absl::string_view id : {"gpPt", "gpDot", "textbox", "greybox"}) {
    for (const absl::string_view before : {"id='", "#"}) {
      replacements.emplace_back(absl::StrCat(before, id), absl::StrCat(before, name, "_", id));
    }
  }
  // gnuplot writes the weight of a font as part of its name.
  replacements.emplace_back("font-family=\"sans-serif:Bold\"", "font-family=\"sans-serif\" font-weight=\"bold\"");
  replacements.emplace_back("id=\"gnuplot_canvas\"", absl::StrCat("id=\"", name, "_canvas\""));
  return ReplaceTitles(absl::StrReplaceAll(svg, replacements), absl::StrCat(kTitle, EscapeXml(title), kTitleEnd));
}

absl::StatusOr<std::string> InlineSvg(absl::string_view svg) {
  const size_t begin = svg.find("<svg");
  const size_t end = svg.rfind("</svg>");
  if (begin == absl::string_view::npos || end == absl::string_view::npos || end < begin) {
    return absl::InvalidArgumentError("a figure of the report is not an SVG picture");
  }
  const absl::string_view element = svg.substr(begin, end + 6 - begin);
  for (const absl::string_view forbidden : {"<script", "<foreignObject", "href='http", "href=\"http", "url(http"}) {
    if (absl::StrContains(element, forbidden)) {
      return absl::InvalidArgumentError(absl::StrCat("a figure of the report contains ", forbidden));
    }
  }
  return std::string(element);
}

}  // namespace rutile
