#include "lib/plot/svg.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPicture[] =
    "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 1 1\"><title>p</title><g id=\"gnuplot_canvas\">"
    "<text font-family=\"sans-serif:Bold\">x</text><circle id='gpDot'/><path id='gpPt0'/><g id=\"p_plot_1\" "
    "><title>tip</title>"
    "<use xlink:href='#gpPt0'/></g></g></svg>\n";

TEST(TidySvgTest, PrefixesIdsAndDropsTooltips) {
  const std::string svg = *TidySvg(kPicture, "parity", "Energies of <a & b>");
  EXPECT_THAT(svg, HasSubstr("<title>Energies of &lt;a &amp; b&gt;</title><g id=\"parity_canvas\">"));
  EXPECT_THAT(svg, HasSubstr("id='parity_gpPt0'"));
  EXPECT_THAT(svg, HasSubstr("href='#parity_gpPt0'"));
  EXPECT_THAT(svg, HasSubstr("id='parity_gpDot'"));
  EXPECT_THAT(svg, HasSubstr("<text font-family=\"sans-serif\" font-weight=\"bold\">x"));
  EXPECT_THAT(svg, Not(HasSubstr("tip")));
}

TEST(TidySvgTest, RefusesWhatIsNoPictureOrNoName) {
  EXPECT_FALSE(TidySvg("", "p", "t").ok());
  EXPECT_FALSE(TidySvg("<html></html>", "p", "t").ok());
  EXPECT_FALSE(TidySvg(kPicture, "", "t").ok());
  EXPECT_FALSE(TidySvg(kPicture, "a b", "t").ok());
}

TEST(InlineSvgTest, TakesTheElementAlone) {
  const std::string svg = *InlineSvg(kPicture);
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_EQ(svg.substr(svg.size() - 6), "</svg>");
}

TEST(InlineSvgTest, RefusesScriptsAndReferences) {
  EXPECT_FALSE(InlineSvg("<p></p>").ok());
  EXPECT_FALSE(InlineSvg("<svg><script>x</script></svg>").ok());
  EXPECT_FALSE(InlineSvg("<svg><image href='http://x/y'/></svg>").ok());
}

}  // namespace
}  // namespace rutile
