#include "lib/plot/html_report.h"

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/base/version.h"
#include "lib/plot/svg.h"
#include "lib/plot/text.h"

namespace rutile {
namespace {

// The page fits every width: tables and commands scroll within their own boxes, long names break, pictures shrink.
// Paper does not scroll, so that there commands and the texts of tables break, and folded tables are open: they are
// behind a checkbox and not in a <details>, which no older browser opens for the printer. The type of a table is the
// smaller the more columns it has, as numbers must not break: 14 columns of ranks fit a window of 900 pixels. On a
// phone they scroll under a first column that stays, as it names the row. Pictures keep their white background in the
// dark theme, like a card, and paper is white.
constexpr char kStyle[] = R"(
:root { --text: #222; --quiet: #666; --line: #ddd; --ground: #fff; --code: #f5f5f3; }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --text: #e4e4e4; --quiet: #a0a0a0; --line: #444; --ground: #1b1b1d; --code: #28282b; }
}
body { max-width: 72rem; margin: 2.5rem auto 4rem; padding: 0 1.25rem; background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1, h2, p, figcaption, footer { overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
p { margin: .75rem 0; max-width: 44rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: clamp(.72rem, calc(9.6rem / var(--columns)), .92rem);
  font-variant-numeric: tabular-nums; }
figcaption { color: var(--quiet); font-size: .88rem; max-width: 50rem; }
th, td { padding: .3rem clamp(.45rem, calc(7.5rem / var(--columns)), 1.1rem) .3rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
th:last-child, td:last-child { padding-right: 0; }
th span { display: block; font-weight: 400; color: var(--quiet); font-size: .85em; }
.text { text-align: left; min-width: 5.5rem; overflow-wrap: anywhere; }
.text:first-child { position: sticky; left: 0; background: var(--ground); }
figure { margin: 1.25rem 0; }
figure svg { display: block; max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 6px; box-sizing: border-box; }
figure svg text { font-family: system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
figure svg + figcaption { margin-top: .4rem; }
figcaption + .wide { margin-top: .4rem; }
.fold + label { margin-left: .4rem; cursor: pointer; }
.fold:not(:checked) + label + .folded { display: none; }
pre { background: var(--code); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; font-size: .85rem;
  line-height: 1.5; }
footer { margin-top: 3rem; color: var(--quiet); font-size: .85rem; }
@page { margin: 1.5cm; }
@media print {
  body { max-width: none; margin: 0; padding: 0; font-size: 11pt; }
  .wide, pre { overflow: visible; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  table { font-size: min(8pt, calc(88pt / var(--columns))); }
  th:not(:last-child), td:not(:last-child) { padding-right: .6em; }
  .text { min-width: 5em; }
  .text:first-child { position: static; background: none; }
  .fold { display: none; }
  .fold:not(:checked) + label + .folded { display: block; }
  figure svg { max-height: 22cm; }
  figure:not(.table), tr { break-inside: avoid; }
  h2, figcaption, label { break-after: avoid; }
}
)";

}  // namespace

HtmlReport::HtmlReport(absl::string_view title) : title_(EscapeXml(title)) {}

void HtmlReport::AddSection(absl::string_view title) { absl::StrAppend(&body_, "<h2>", EscapeXml(title), "</h2>\n"); }

void HtmlReport::AddParagraph(absl::string_view text) { absl::StrAppend(&body_, "<p>", EscapeXml(text), "</p>\n"); }

void HtmlReport::AddTable(const HtmlTable& table, absl::string_view summary) {
  if (!summary.empty()) {
    const std::string id = absl::StrCat("fold", ++num_folds_);
    absl::StrAppend(&body_, "<input type=\"checkbox\" class=\"fold\" id=\"", id, "\"/><label for=\"", id, "\">",
                    EscapeXml(summary), "</label>\n<div class=\"folded\">\n");
  }
  // A caption inside the table would be as narrow or as wide as the table is, whatever the page.
  const bool has_caption = !table.caption.empty();
  if (has_caption) {
    absl::StrAppend(&body_, "<figure class=\"table\"><figcaption>", EscapeXml(table.caption), "</figcaption>\n");
  }
  absl::StrAppend(&body_, "<div class=\"wide\"><table style=\"--columns: ", table.columns.size(), "\">\n");
  absl::StrAppend(&body_, "<thead><tr>");
  for (const HtmlTable::Column& column : table.columns) {
    absl::StrAppend(&body_, "<th scope=\"col\"", column.is_text ? " class=\"text\">" : ">", EscapeXml(column.name));
    if (!column.unit.empty()) absl::StrAppend(&body_, " <span>", EscapeXml(column.unit), "</span>");
    absl::StrAppend(&body_, "</th>");
  }
  absl::StrAppend(&body_, "</tr></thead>\n<tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    CHECK_EQ(row.size(), table.columns.size()) << table.caption;
    absl::StrAppend(&body_, "<tr>");
    for (size_t c = 0; c < row.size(); ++c) {
      absl::StrAppend(&body_, table.columns[c].is_text ? "<td class=\"text\">" : "<td>", EscapeXml(row[c]), "</td>");
    }
    absl::StrAppend(&body_, "</tr>\n");
  }
  absl::StrAppend(&body_, "</tbody></table></div>\n", has_caption ? "</figure>\n" : "");
  if (!summary.empty()) absl::StrAppend(&body_, "</div>\n");
}

absl::Status HtmlReport::AddFigure(absl::string_view svg, absl::string_view caption) {
  ASSIGN_OR_RETURN(const std::string element, InlineSvg(svg));
  absl::StrAppend(&body_, "<figure>\n", element, "\n");
  if (!caption.empty()) absl::StrAppend(&body_, "<figcaption>", EscapeXml(caption), "</figcaption>\n");
  absl::StrAppend(&body_, "</figure>\n");
  return absl::OkStatus();
}

void HtmlReport::AddCode(absl::string_view code) {
  absl::StrAppend(&body_, "<pre><code>", EscapeXml(code, /*keep_lines=*/true), "</code></pre>\n");
}

std::string HtmlReport::ToString() const {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
      title_, "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n<h1>", title_, "</h1>\n", body_,
      "<footer>Written by rutile ", kVersion, "</footer>\n</body>\n</html>\n");
}

}  // namespace rutile
