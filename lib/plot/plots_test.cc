#include "lib/plot/plots.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/plot/well_formed.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int Count(const std::string& text, absl::string_view what) {
  int count = 0;
  for (size_t at = text.find(what.data()); at != std::string::npos; at = text.find(what.data(), at + 1)) ++count;
  return count;
}

struct Predictions {
  std::vector<double> reference, predicted;
  std::vector<std::string> group;
};

Predictions Sample(int n) {
  const std::vector<std::string> names = {"rutile", "anatase", "columbite", "fluorite"};
  Predictions sample;
  RandomStream random(2, "predictions");
  for (int i = 0; i < n; ++i) {
    const int g = static_cast<int>(random.Below(100)) % 10 % 4;
    sample.reference.push_back(-8.75 + 0.03 * g + std::abs(0.1 * random.Normal()));
    sample.predicted.push_back(sample.reference.back() + (0.004 + 0.004 * g) * random.Normal());
    sample.group.push_back(names[g]);
  }
  return sample;
}

TEST(ParityPlotTest, ShowsGroupsUnitsAndFigures) {
  const Predictions sample = Sample(400);
  const auto svg = ParityPlot(sample.reference, sample.predicted, sample.group);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("parity.svg", *svg));
  for (const char* text : {"rutile (", "anatase (", "columbite (", "fluorite (", "Reference energy (eV/atom)",
                           "Predicted energy (eV/atom)", "Error (meV/atom)", "RMSE ", "MAE ", "400 structures"}) {
    EXPECT_THAT(*svg, HasSubstr(text));
  }
  EXPECT_THAT(*svg, Not(HasSubstr("drawn")));
  EXPECT_EQ(*ParityPlot(sample.reference, sample.predicted, sample.group), *svg);
}

TEST(ParityPlotTest, TakesOnePointAndConstants) {
  for (const int n : {1, 5}) {
    const std::vector<double> values(n, -8.7);
    const auto svg = ParityPlot(values, values, {});
    ASSERT_TRUE(svg.ok()) << svg.status();
    EXPECT_TRUE(IsWellFormedXml(absl::StrCat("parity_constant_", n, ".svg"), *svg));
    EXPECT_THAT(*svg, HasSubstr("RMSE 0.00, MAE 0.00"));
  }
}

TEST(ParityPlotTest, DrawsAChoiceOfManyAndSaysSo) {
  const Predictions sample = Sample(100000);
  const auto svg = ParityPlot(sample.reference, sample.predicted, sample.group);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("parity_many.svg", *svg));
  EXPECT_LT(svg->size(), 700000u);
  EXPECT_THAT(*svg, HasSubstr("2\u202F000 of 100\u202F000 structures drawn"));
  EXPECT_THAT(*svg, HasSubstr("largest error"));
  EXPECT_GT(Count(*svg, "<use"), 4000);  // in both panels
  EXPECT_THAT(*svg, HasSubstr("each shade is for ten times as many"));
  const int cells = Count(*svg, "<polygon");
  EXPECT_GT(cells, 100);
  EXPECT_LT(cells, 2 * 60 * 60 + 10);
}

TEST(ParityPlotTest, EscapesNamesAndJoinsSmallGroups) {
  std::vector<double> values;
  std::vector<std::string> group;
  const std::vector<std::string> nasty = {"</svg><script>alert(1)</script>", "it's \"quoted\" & `run`", "bad \xFF\x01",
                                          "a very long name that nobody would want to read in a legend"};
  for (int i = 0; i < 30; ++i) {
    values.push_back(i);
    group.push_back(i < 16 ? nasty[i % 4] : absl::StrCat("g", i));
  }
  const auto svg = ParityPlot(values, values, group);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("parity_names.svg", *svg));
  EXPECT_THAT(*svg, Not(HasSubstr("<script")));
  EXPECT_THAT(*svg, HasSubstr("11 other groups (11)"));
}

TEST(ParityPlotTest, RefusesNothing) {
  EXPECT_EQ(ParityPlot({}, {}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto status = ParityPlot({1.0, 2.0}, {kNan, kNan}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("all of 2 are not finite"));
}

// A label of 1e308 once made the range of the axis infinite, which ended the program.
TEST(ParityPlotTest, LeavesOutWhatNoAxisCanHoldAndSaysSo) {
  for (const double odd : {1e308, -1e308, 1.1e300, kInfinity, kNan}) {
    const auto svg = ParityPlot({1.0, 2.0, odd}, {1.0, 2.5, 3.0}, std::vector<std::string>{"a", "b", "c"});
    ASSERT_TRUE(svg.ok()) << odd << ": " << svg.status();
    EXPECT_THAT(*svg, HasSubstr("1 more structures is left out")) << odd;
    EXPECT_THAT(*svg, HasSubstr("2 structures")) << odd;
  }
  for (const double large : {1e300, -1e300}) {
    const auto svg = ParityPlot({1.0, large}, {-large, 3.0}, {});
    ASSERT_TRUE(svg.ok()) << svg.status();
    EXPECT_THAT(*svg, Not(HasSubstr("left out")));
    EXPECT_TRUE(ErrorHistogram({1.0, large}, {-large, 3.0}).ok());
  }
}

TEST(ErrorHistogramTest, ShowsUnitsAndFigures) {
  const Predictions sample = Sample(400);
  const auto svg = ErrorHistogram(sample.reference, sample.predicted);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("histogram.svg", *svg));
  for (const char* text : {"predicted \u2212 reference (meV/atom)", "Mean ", "RMSE ", "Structures", "400 structures"}) {
    EXPECT_THAT(*svg, HasSubstr(text));
  }
  EXPECT_THAT(*svg, Not(HasSubstr("beyond")));
}

TEST(ErrorHistogramTest, CountsOutliersInsteadOfDrawingThem) {
  Predictions sample = Sample(1000);
  sample.predicted[3] += 50;
  const auto svg = ErrorHistogram(sample.reference, sample.predicted);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("histogram_outlier.svg", *svg));
  EXPECT_THAT(*svg, HasSubstr("1 of 1\u202F000 structures lie beyond this axis"));
}

TEST(ErrorHistogramTest, TakesOnePointConstantsAndMany) {
  EXPECT_TRUE(ErrorHistogram({1.0}, {1.0}).ok());
  EXPECT_TRUE(ErrorHistogram({1.0}, {1.5}).ok());
  EXPECT_TRUE(ErrorHistogram({1.0, 2.0, 3.0}, {1.5, 2.5, 3.5}).ok());
  const Predictions sample = Sample(100000);
  EXPECT_LT(ErrorHistogram(sample.reference, sample.predicted)->size(), 60000u);
  EXPECT_EQ(ErrorHistogram({}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorHistogram({kInfinity}, {0.0}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto svg = ErrorHistogram({1.0, 1e308, 2.0, kNan}, {1.5, 0.0, 2.0, 1.0});
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_THAT(*svg, HasSubstr("2 more structures are left out"));
}

}  // namespace
}  // namespace rutile
