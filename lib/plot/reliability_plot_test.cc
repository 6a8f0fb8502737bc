#include "lib/plot/reliability_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/plot/well_formed.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(ReliabilityPlotTest, DrawsGroupsAndTheirShares) {
  const auto svg = ReliabilityPlot({{0.05, 0.5, 0.93}, {0.04, 0.55, 0.9}, {0.6, 0.1, 0.3}});
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("reliability.svg", *svg));
  for (const char* text : {"Share that is true", "Probability", "Share of answers"}) EXPECT_THAT(*svg, HasSubstr(text));
}

TEST(ReliabilityPlotTest, TakesOneGroupAndRefusesNone) {
  EXPECT_TRUE(ReliabilityPlot({{0}, {1}, {0}}).ok());
  EXPECT_EQ(ReliabilityPlot({}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rutile
