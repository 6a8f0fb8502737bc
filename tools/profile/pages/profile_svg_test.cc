#include "tools/profile/pages/profile_svg.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/plot/well_formed.h"
#include "lib/profile/record_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(ProfileSvgTest, BarsShowSharesAndRates) {
  const StageTable table = MakeStageTable(TrainRecord(), PlainPeaks());
  const std::string svg = StageBarsSvg("train <&>", table, 3);
  EXPECT_TRUE(IsWellFormedXml("bars.svg", svg));
  EXPECT_THAT(svg, HasSubstr("train &lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr("step/network"));
  EXPECT_THAT(svg, HasSubstr("50.0 %"));
  EXPECT_THAT(svg, HasSubstr("3 smaller stages"));
}

TEST(ProfileSvgTest, TimelineHasALaneForEachThreadAndDepth) {
  const std::string svg = TimelineSvg({TrainRecord()});
  EXPECT_TRUE(IsWellFormedXml("timeline.svg", svg));
  EXPECT_THAT(svg, HasSubstr("train (42)"));
  EXPECT_THAT(svg, HasSubstr("loader"));
  EXPECT_THAT(svg, HasSubstr("<title>network</title>"));
  ProfileRecord silent = TrainRecord();
  silent.data.spans.clear();
  EXPECT_EQ(TimelineSvg({silent}), "");
}

// The picture of a million spans is not larger than its pixels.
TEST(ProfileSvgTest, ManySpansAreDrawnByColumn) {
  ProfileRecord record = TrainRecord();
  record.data.spans.clear();
  for (int64_t i = 0; i < 1000000; ++i) record.data.spans.push_back({static_cast<int>(1 + i % 2), 0, 2000 * i, 1500});
  EXPECT_LT(TimelineSvg({record}).size(), 300000);
}

TEST(ProfileSvgTest, SpansOutsideTheRunDoNoHarm) {
  ProfileRecord record = TrainRecord();
  record.data.spans = {{1, 0, -5000000000, 1}, {1, 0, 50000000000, 100}, {-1, 0, 0, 1}, {1, 0, 0, 5000000000}};
  EXPECT_TRUE(IsWellFormedXml("outside.svg", TimelineSvg({record})));
}

}  // namespace
}  // namespace rutile
