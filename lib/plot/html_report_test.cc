#include "lib/plot/html_report.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/plot/curves.h"
#include "lib/plot/plots.h"
#include "lib/plot/well_formed.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HtmlReport Example() {
  HtmlReport report("Test of run/best.safetensors");
  report.AddParagraph("A potential for Ti and O, evaluated on 80 structures that it was not trained on.");
  report.AddSection("Errors");
  report.AddTable({"Per polymorph",
                   {{"config_type", "", true}, {"structures", ""}, {"RMSE", "meV/atom"}, {"MAE", "meV/atom"}},
                   {{"rutile", "32", "8.12", "5.9"}, {"anatase", "28", "7.40", "5.1"}}});
  EXPECT_TRUE(report.AddFigure(*ParityPlot({1.0, 2.0}, {1.1, 1.9}, {}), "Energies of the test set.").ok());
  EXPECT_TRUE(report.AddFigure(*LearningCurve({{"training", {1, 2}, {3, 2}}}), "").ok());
  report.AddSection("Commands");
  report.AddCode("evaluate run/best.safetensors \\\n  features.safetensors --output_dir=report\n");
  return report;
}

TEST(HtmlReportTest, HoldsEverythingInOrder) {
  const std::string html = Example().ToString();
  EXPECT_TRUE(IsWellFormedXml("report.html", html));
  size_t at = 0;
  for (const char* text :
       {"<title>Test of run/best.safetensors</title>", "<h2>Errors</h2>", "RMSE <span>meV/atom</span>", "<td>8.12</td>",
        "<figure>", "<svg", "Energies of the test set.", "<h2>Commands</h2>", "\\\n  features.safetensors"}) {
    const size_t next = html.find(text, at);
    EXPECT_NE(next, std::string::npos) << text;
    at = next == std::string::npos ? at : next;
  }
  EXPECT_EQ(Example().ToString(), html);
}

TEST(HtmlReportTest, NeedsNothingFromOutside) {
  const std::string html = Example().ToString();
  for (const char* text : {"<script", "<link", "<img", "src=", "@import", "url(", "<?xml"}) {
    EXPECT_THAT(html, Not(HasSubstr(text)));
  }
  // The only addresses are the names of XML's vocabularies.
  for (size_t at = html.find("http"); at != std::string::npos; at = html.find("http", at + 1)) {
    EXPECT_EQ(html.substr(at, 18), "http://www.w3.org/");
  }
}

TEST(HtmlReportTest, NoIdOccursTwice) {
  const std::string html = Example().ToString();
  for (size_t at = html.find(" id="); at != std::string::npos; at = html.find(" id=", at + 1)) {
    const char quote = html[at + 4];
    const std::string id = html.substr(at, html.find(quote, at + 5) + 1 - at);
    EXPECT_EQ(html.find(id, at + 1), std::string::npos) << id;
  }
}

TEST(HtmlReportTest, ShowsTextAndNeverRunsIt) {
  const std::string bad = "</pre><script>alert('x')</script> & \"q\" \xFF\x01";
  HtmlReport report(bad);
  report.AddSection(bad);
  report.AddParagraph(bad);
  report.AddCode(bad);
  report.AddTable({bad, {{bad, bad, true}}, {{bad}}});
  report.AddTable({"", {{"a", ""}}, {{"1"}}}, bad);
  EXPECT_TRUE(report.AddFigure("<svg xmlns='http://www.w3.org/2000/svg'></svg>", bad).ok());
  const std::string html = report.ToString();
  EXPECT_TRUE(IsWellFormedXml("report_bad.html", html));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(html, HasSubstr("<label for=\"fold1\">&lt;/pre&gt;")) << "a folded table";
}

// Returns the part of the style sheet that is for paper.
std::string PrintStyle(const std::string& html) {
  const size_t at = html.find("@media print {");
  return at == std::string::npos ? "" : html.substr(at, html.find("</style>") - at);
}

TEST(HtmlReportTest, FitsAPageOfAnyWidth) {
  const std::string html = Example().ToString();
  EXPECT_THAT(html, HasSubstr("width=device-width"));
  // All that may be wider than a page is in a box that scrolls, breaks, or shrinks.
  EXPECT_THAT(html, HasSubstr(".wide { overflow-x: auto;"));
  EXPECT_THAT(html, HasSubstr("figure svg { display: block; max-width: 100%; height: auto;"));
  EXPECT_THAT(html, HasSubstr("h1, h2, p, figcaption, footer { overflow-wrap: anywhere; }"));
  for (size_t at = html.find("<table"); at != std::string::npos; at = html.find("<table", at + 1)) {
    EXPECT_EQ(html.substr(at - 18, 18), "<div class=\"wide\">");
  }
  // Tables of many columns are set smaller, and what names a row stays while its numbers scroll.
  EXPECT_THAT(html, HasSubstr("font-size: clamp(.72rem, calc(9.6rem / var(--columns)), .92rem);"));
  EXPECT_THAT(html, HasSubstr("<table style=\"--columns: 4\">"));
  EXPECT_THAT(html, HasSubstr(".text:first-child { position: sticky; left: 0; background: var(--ground); }"));
  // Text that names the table wraps with the page and not with the table.
  EXPECT_THAT(html, HasSubstr("<figcaption>Per polymorph</figcaption>\n<div class=\"wide\"><table "));
}

TEST(HtmlReportTest, PrintsWhole) {
  HtmlReport report("t");
  report.AddTable({"", {{"a", ""}}, {{"1"}}}, "one more row");
  const std::string html = report.ToString(), print = PrintStyle(html);
  EXPECT_THAT(
      html, HasSubstr("<input type=\"checkbox\" class=\"fold\" id=\"fold1\"/><label for=\"fold1\">one more row</label>"
                      "\n<div class=\"folded\">"));
  // Paper does not scroll, and nobody clicks on it.
  EXPECT_THAT(html, HasSubstr("<table style=\"--columns: 1\">"));
  EXPECT_THAT(print, HasSubstr("table { font-size: min(8pt, calc(88pt / var(--columns))); }"));
  EXPECT_THAT(print, HasSubstr(".wide, pre { overflow: visible; }"));
  EXPECT_THAT(print, HasSubstr(".text:first-child { position: static; background: none; }"));
  EXPECT_THAT(print, HasSubstr("pre { white-space: pre-wrap; overflow-wrap: anywhere; }"));
  EXPECT_THAT(print, HasSubstr(".fold:not(:checked) + label + .folded { display: block; }"));
  EXPECT_THAT(print, HasSubstr("figure svg { max-height: 22cm; }"));
  EXPECT_THAT(html, HasSubstr("@media screen and (prefers-color-scheme: dark)")) << "paper is white";
}

TEST(HtmlReportTest, RefusesPicturesThatAreNone) {
  HtmlReport report("t");
  EXPECT_EQ(report.AddFigure("no picture", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(report.AddFigure("<svg><script/></svg>", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(report.ToString(), Not(HasSubstr("<figure>")));
}

TEST(HtmlReportTest, TakesNothing) { EXPECT_TRUE(IsWellFormedXml("report_empty.html", HtmlReport("").ToString())); }

TEST(HtmlReportDeathTest, RefusesRaggedRows) {
  HtmlReport report("t");
  EXPECT_DEATH(report.AddTable({"", {{"a", ""}}, {{"1", "2"}}}), "2 vs. 1");
}

}  // namespace
}  // namespace rutile
