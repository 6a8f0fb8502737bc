#include "lib/plot/curves.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

// A realistic run: validation above training, every second epoch.
std::vector<Curve> SampleRun(int epochs) {
  Curve train = {"training", {}, {}}, validation = {"validation", {}, {}};
  RandomStream random(1, "learning curve");
  for (int e = 1; e <= epochs; ++e) {
    const double loss = 400.0 / e + 3.5;
    train.x.push_back(e);
    train.y.push_back(loss * (1 + 0.05 * random.Normal()));
    validation.x.push_back(e);
    validation.y.push_back(e % 2 == 0 ? 1.3 * loss * (1 + 0.05 * random.Normal()) : kNan);
  }
  return {train, validation};
}

TEST(LearningCurveTest, ShowsCurvesUnitsAndTheBestEpoch) {
  LearningCurveOptions options;
  options.title = "TiO2, two hidden layers";
  options.y_label = "Energy RMSE (meV/atom)";
  options.marked_x = 380;
  options.mark_label = "best: epoch 380";
  const auto svg = LearningCurve(SampleRun(500), options);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("learning_curve.svg", *svg));
  for (const char* text : {"training", "validation", "Energy RMSE (meV/atom)", "Epoch", "best: epoch 380", ">10<",
                           "TiO2, two hidden layers"}) {
    EXPECT_THAT(*svg, HasSubstr(text));
  }
  EXPECT_EQ(*LearningCurve(SampleRun(500), options), *svg);
}

TEST(LearningCurveTest, DrawsFewEpochsAsPoints) {
  for (const int epochs : {1, 2, 12}) {
    const auto svg = LearningCurve(SampleRun(epochs));
    ASSERT_TRUE(svg.ok()) << svg.status();
    EXPECT_TRUE(IsWellFormedXml(absl::StrCat("learning_curve_", epochs, ".svg"), *svg));
    EXPECT_THAT(*svg, HasSubstr("href='#learning_curve_gpPt6'"));
  }
}

TEST(LearningCurveTest, CountsEpochsInWholeNumbers) {
  const std::string two = *LearningCurve({{"a", {1, 2}, {3, 2}}});
  EXPECT_THAT(two, HasSubstr(">1<"));
  EXPECT_THAT(two, Not(HasSubstr(">1.2<")));
  EXPECT_THAT(*LearningCurve({{"a", {1}, {3}}}), HasSubstr(">1<"));
  EXPECT_THAT(*LearningCurve({{"a", {1, 1.5}, {3, 2}}}), HasSubstr(">1.2<"));  // not epochs
}

TEST(LearningCurveTest, TakesConstantsAndZeros) {
  const auto constant = LearningCurve({{"a", {1, 2, 3}, {0.5, 0.5, 0.5}}});
  ASSERT_TRUE(constant.ok()) << constant.status();
  EXPECT_TRUE(IsWellFormedXml("learning_curve_constant.svg", *constant));
  // A loss of 0 cannot be shown on a logarithmic axis, so the axis is linear.
  const auto zero = LearningCurve({{"a", {1, 2, 3}, {1, 0.5, 0}}});
  ASSERT_TRUE(zero.ok()) << zero.status();
  EXPECT_THAT(*zero, HasSubstr(">0.0<"));
}

TEST(LearningCurveTest, KeepsLongRunsSmallAndTheirExtremes) {
  Curve curve = {"spike", {}, {}};
  for (int e = 0; e < 200000; ++e) {
    curve.x.push_back(e);
    curve.y.push_back(e == 123456 ? 1e6 : 1);
  }
  const auto svg = LearningCurve({curve});
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_LT(svg->size(), 100000u);
  EXPECT_THAT(*svg, HasSubstr(">1e+06<"));
}

TEST(LearningCurveTest, RefusesNothingAndInfinity) {
  EXPECT_EQ(LearningCurve({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LearningCurve({{"a", {1}, {kNan}}}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LearningCurve({{"a", {1}, {kInfinity}}}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LearningCurveTest, LeavesOutWhatNoAxisCanHold) {
  for (const double odd : {1e308, -1e308, kInfinity}) {
    EXPECT_TRUE(LearningCurve({{"a", {1, 2, 3}, {0.5, odd, 0.25}}}).ok()) << odd;
  }
  for (const double small : {5e-324, 1e-308, 1e-300, 1e300}) {
    EXPECT_TRUE(LearningCurve({{"a", {1, 2, 3}, {0.5, small, 0.25}}}).ok()) << small;
  }
}

TEST(LearningCurvePanelsTest, SharesTheAxisOfEpochsAndTheMark) {
  LearningCurveOptions options;
  options.marked_x = 380;
  options.mark_label = "kept: epoch 380";
  Curve mrr = {"validation", {100, 200, 300, 400, 500}, {0.1, 0.25, 0.3, 0.34, 0.33}};
  const auto svg = LearningCurvePanels({{"Validation MRR", {mrr}, true}, {"Loss", SampleRun(500)}}, options);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_TRUE(IsWellFormedXml("learning_curve_panels.svg", *svg));
  for (const char* text : {"Validation MRR", ">Loss<", "Epoch", "kept: epoch 380", ">0.20<", ">10<"}) {
    EXPECT_THAT(*svg, HasSubstr(text));
  }
  EXPECT_EQ(svg->find("kept: epoch 380"), svg->rfind("kept: epoch 380")) << "the label is there once";
  EXPECT_THAT(*svg, HasSubstr("viewBox=\"0 0 720 690\""));
}

TEST(LearningCurvePanelsTest, LeavesOutPanelsWithoutValues) {
  const std::vector<Curve> run = SampleRun(12);
  LearningCurveOptions options;
  const auto svg =
      LearningCurvePanels({{"Validation MRR", {{"validation", {1, 2}, {kNan, kNan}}}}, {"Loss", run}}, options);
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_EQ(*svg, *LearningCurve(run, options));
  EXPECT_EQ(LearningCurvePanels({}, options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LearningCurvePanelsTest, TakesConstantsThatRise) {
  const auto svg = LearningCurvePanels({{"MRR", {{"validation", {1, 2}, {1, 1}}}, true}}, {});
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_THAT(*svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace rutile
