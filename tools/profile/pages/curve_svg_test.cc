#include "tools/profile/pages/curve_svg.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/plot/well_formed.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CurveSvgTest, DrawsCurvesAndTheMark) {
  CurveSvgOptions options;
  options.title = "a <title>";
  options.x_label = "learning rate";
  options.marked_x = 1e-3;
  options.mark_label = "here";
  const auto svg = CurveSvg({{"one", {1e-5, 1e-3, 1}, {1, 0.5, 3}, false}, {"two", {1e-5, 1}, {2, 2}, true}}, options);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("curve.svg", *svg));
  for (const char* part : {"a &lt;title&gt;", "learning rate", "here", "one", "two", "stroke-opacity=\"0.45\""}) {
    EXPECT_THAT(*svg, HasSubstr(part));
  }
  options.marked_x = 1e9;  // outside
  EXPECT_THAT(*CurveSvg({{"one", {1, 2}, {1, 2}, false}}, options), Not(HasSubstr("here")));
}

TEST(CurveSvgTest, AGapWhereThereIsNoValue) {
  const auto svg = CurveSvg({{"one", {1, 2, 3, 4, 5}, {1, 2, NAN, 2, 1}, false}}, {});
  ASSERT_TRUE(svg.ok());
  const size_t path = svg->find("fill=\"none\" stroke=\"#0072b2\"");
  ASSERT_NE(path, std::string::npos);
  const size_t begin = svg->rfind("d=\"", path);
  const std::string points = svg->substr(begin, path - begin);
  EXPECT_EQ(std::count(points.begin(), points.end(), 'M'), 2) << points;
  EXPECT_THAT(*svg, Not(HasSubstr("nan")));
}

TEST(CurveSvgTest, OnePointAndEqualValuesAreDrawn) {
  EXPECT_TRUE(CurveSvg({{"one", {16}, {100}, false}}, {}).ok());
  EXPECT_TRUE(CurveSvg({{"one", {16, 32}, {0, 0}, false}}, {}).ok());
}

TEST(CurveSvgTest, NothingToDrawIsAnError) {
  EXPECT_EQ(CurveSvg({}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CurveSvg({{"one", {1}, {NAN}, false}}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(CurveSvg({{"one", {0}, {1}, false}}, {}).status().message()), HasSubstr("x is 0"));
}

}  // namespace
}  // namespace rutile
