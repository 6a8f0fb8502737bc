#include "lib/plot/plot_script.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(QuoteTest, CannotBeEscaped) {
  EXPECT_EQ(Quote("it's"), "'it\u2019s'");
  EXPECT_EQ(Quote("a\nsystem('x')"), "'a system(\u2019x\u2019)'");
  EXPECT_EQ(Quote("`date` \\"), "'`date` \\'");
}

TEST(PlotScriptTest, DrawsTextAsGiven) {
  PlotScript script("p", 400, 300, "Title <1> & `x`", "sub_{title}", "it's a caption");
  script.SetMargins(0.2, 0.9, 0.2, 0.8);
  script.SetAxis("x", {0, 1}, {{0.5, "half"}}, "length (\u00C5)");
  script.SetAxis("y", {0, 1}, {{0.25, "hidden"}}, "y", false);
  script.AddData("d", {{0.1, 0.2}, {0.3, 0.4}});
  script.Add("plot $d with points title 'a ''b'' <c>'");
  const auto svg = script.Draw();
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_THAT(*svg, HasSubstr("<title>Title &lt;1&gt; &amp; `x`</title>"));
  EXPECT_THAT(*svg, HasSubstr("sub_{title}"));
  EXPECT_THAT(*svg, HasSubstr("it\u2019s a caption"));
  EXPECT_THAT(*svg, HasSubstr("length (\u00C5)"));
  EXPECT_THAT(*svg, HasSubstr("half"));
  EXPECT_THAT(*svg, HasSubstr("a 'b' &lt;c>"));
  EXPECT_THAT(*svg, Not(HasSubstr("hidden")));
}

// Doubled apostrophes, which gnuplot's manual asks for, ended the string in these places.
TEST(PlotScriptTest, DrawsApostrophesAnywhere) {
  for (const char* text : {"'t Hooft", "5''-end", "'", "''", "'''", "a'", "x = 'a' . 'b'", "\\' `date` \\", "\"'\""}) {
    PlotScript script("p", 400, 300, text, text, text);
    script.SetMargins(0.2, 0.9, 0.2, 0.8);
    script.SetAxis("x", {0, 1}, {{0.5, text}}, text);
    script.SetAxis("y", {0, 1}, {{0.25, text}}, text);
    script.Add(absl::StrCat("plot 0.5 title ", Quote(text)));
    const auto svg = script.Draw();
    EXPECT_TRUE(svg.ok()) << text << ": " << svg.status();
  }
}

TEST(PlotScriptDeathTest, RefusesColumnsOfDifferentLength) {
  PlotScript script("p", 400, 300, "", "", "");
  EXPECT_DEATH(script.AddData("d", {{1.0, 2.0}, {1.0}}), "1 vs. 2");
}

}  // namespace
}  // namespace rutile
