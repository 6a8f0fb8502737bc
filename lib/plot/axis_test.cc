#include "lib/plot/axis.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

TEST(RangeTest, LeavesAMargin) {
  EXPECT_DOUBLE_EQ(LinearRange(0, 100).low, -4);
  EXPECT_DOUBLE_EQ(LinearRange(0, 100).high, 104);
  EXPECT_LT(LogRange(1, 100).low, 1);
  EXPECT_GT(LogRange(1, 100).high, 100);
}

TEST(RangeTest, SurroundsASingleValue) {
  for (const double value : {0.0, -8.7, 1e-300, 1e300, 5.0}) {
    const AxisRange range = LinearRange(value, value);
    EXPECT_LT(range.low, value);
    EXPECT_GT(range.high, value);
    EXPECT_FALSE(LinearTicks(range).empty()) << value;
  }
  const AxisRange nearly = LinearRange(-8.7, -8.7 + 1e-15);
  EXPECT_GT(nearly.high - nearly.low, 0.01);
  EXPECT_LT(LogRange(3, 3).low, 3);
  EXPECT_GT(LogRange(3, 3).high, 3);
}

TEST(LinearTicksTest, AreRound) {
  EXPECT_THAT(Labels(LinearTicks({0, 10})), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(Labels(LinearTicks({-0.3, 0.32})), ElementsAre("\u22120.2", "0.0", "0.2"));
  EXPECT_THAT(Labels(LinearTicks({-8.7302, -8.7298}, 4)),
              ElementsAre("\u22128.7302", "\u22128.7301", "\u22128.7300", "\u22128.7299", "\u22128.7298"));
  EXPECT_THAT(Labels(LinearTicks({0, 4e6}, 2)), ElementsAre("0", "2e+06", "4e+06"));
}

TEST(LinearTicksTest, StayInsideAndFew) {
  for (const double scale : {1e-9, 1e-3, 1.0, 7.3, 1e5, 1e12}) {
    const AxisRange range = {-0.37 * scale, 1.91 * scale};
    const std::vector<Tick> ticks = LinearTicks(range);
    EXPECT_GE(ticks.size(), 2u);
    EXPECT_LE(ticks.size(), 8u);
    EXPECT_GE(ticks.front().value, range.low * 1.000001);
    EXPECT_LE(ticks.back().value, range.high * 1.000001);
  }
}

TEST(LogTicksTest, ChooseDecadesOrFiner) {
  EXPECT_THAT(Labels(LogTicks({0.5, 200})), ElementsAre("1", "10", "100"));
  EXPECT_THAT(Labels(LogTicks({3, 60})), ElementsAre("5", "10", "20", "50"));
  EXPECT_THAT(Labels(LogTicks({4, 4.9})).front(), "4.0");
  EXPECT_LE(LogTicks({1e-30, 1e30}).size(), 10u);
}

TEST(FormatTest, ShowsThreeDigits) {
  EXPECT_EQ(FormatFigure(0), "0.00");
  EXPECT_EQ(FormatFigure(8.1234), "8.12");
  EXPECT_EQ(FormatFigure(-127.4), "\u2212127");
  EXPECT_EQ(FormatFigure(0.0031), "0.00310");
  EXPECT_EQ(FormatFigure(54321), "54321");
  EXPECT_EQ(FormatFigure(1.5e-7), "1.50e\u221207");
}

TEST(FormatTest, GroupsThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(21285), "21\u202F285");
  EXPECT_EQ(FormatCount(-1234567), "\u22121\u202F234\u202F567");
}

}  // namespace
}  // namespace rutile
