#include "lib/optimizer/averages/average_best.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor F64(const std::vector<double>& values) { return Tensor::Of(values); }

TEST(AverageBestTest, MeanOfTheBest) {
  AverageBest best(2, /*maximize=*/false, DType::kF64, 2);
  EXPECT_EQ(best.size(), 0);
  EXPECT_TRUE(best.Observe(3, 1, 10, F64({1, 100})));
  EXPECT_THAT(best.Mean().ToDoubles(), ElementsAre(1, 100));  // fewer than k so far: of these
  EXPECT_TRUE(best.Observe(1, 2, 20, F64({2, 200})));
  EXPECT_THAT(best.Mean().ToDoubles(), ElementsAre(1.5, 150));
  EXPECT_TRUE(best.Observe(2, 3, 30, F64({4, 400})));  // in the place of the first
  EXPECT_FALSE(best.Observe(2.5, 4, 40, F64({8, 800})));
  EXPECT_EQ(best.size(), 2);
  EXPECT_THAT(best.Mean().ToDoubles(), ElementsAre(3, 300));
}

TEST(AverageBestTest, HigherIsBetterWhenMaximized) {
  AverageBest best(1, /*maximize=*/true, DType::kF64, 1);
  EXPECT_TRUE(best.Observe(0.2, 1, 1, F64({1})));
  EXPECT_FALSE(best.Observe(0.1, 2, 2, F64({2})));
  EXPECT_TRUE(best.Observe(0.3, 3, 3, F64({3})));
  EXPECT_THAT(best.Mean().ToDoubles(), ElementsAre(3));
}

TEST(AverageBestTest, OfEqualLossesTheEarlierStays) {
  AverageBest best(2, /*maximize=*/false, DType::kF64, 1);
  best.Observe(1, 1, 1, F64({1}));
  best.Observe(1, 2, 2, F64({2}));
  EXPECT_FALSE(best.Observe(1, 3, 3, F64({3})));
  EXPECT_TRUE(best.Observe(0.5, 4, 4, F64({10})));  // the later of the two goes
  EXPECT_THAT(best.Mean().ToDoubles(), ElementsAre(5.5));
  // The row was reused, so the earlier of the two now comes later in memory.
  EXPECT_TRUE(best.Observe(0.5, 5, 5, F64({20})));
  EXPECT_TRUE(best.Observe(0.4, 6, 6, F64({30})));
  EXPECT_THAT(best.Mean().ToDoubles(), ElementsAre(20));
}

TEST(AverageBestTest, NanIsNeverKept) {
  AverageBest best(1, /*maximize=*/false, DType::kF64, 1);
  EXPECT_FALSE(best.Observe(std::numeric_limits<double>::quiet_NaN(), 1, 1, F64({1})));
  EXPECT_EQ(best.size(), 0);
}

// The values are 1 and eleven times half of its last place: summed in fp32 the halves would be lost.
TEST(AverageBestTest, AddsInFp64) {
  constexpr float kHalfPlace = std::numeric_limits<float>::epsilon() / 2;
  AverageBest best(12, /*maximize=*/false, DType::kF32, 1);
  best.Observe(0, 0, 0, Tensor::Of<float>({1}, {1}));
  for (int i = 1; i < 12; ++i) best.Observe(i, i, i, Tensor::Of<float>({kHalfPlace}, {1}));
  EXPECT_EQ(best.Mean().values<float>()[0], static_cast<float>((1 + 11.0 * kHalfPlace) / 12));
}

TEST(AverageBestTest, StateSurvives) {
  AverageBest first(2, /*maximize=*/false, DType::kF32, 2), second = AverageBest(2, false, DType::kF32, 2);
  first.Observe(3, 1, 10, Tensor::Of<float>({1, 2}, {2}));
  ASSERT_EQ(second.SetState(first.State()), absl::OkStatus());
  for (AverageBest* best : {&first, &second}) {
    EXPECT_TRUE(best->Observe(2, 2, 20, Tensor::Of<float>({3, 4}, {2})));
    EXPECT_TRUE(best->Observe(1, 3, 30, Tensor::Of<float>({5, 6}, {2})));
    EXPECT_FALSE(best->Observe(2, 4, 40, Tensor::Of<float>({7, 8}, {2})));
  }
  EXPECT_THAT(second.Mean().ToDoubles(), ElementsAre(4, 5));
  EXPECT_THAT(first.State().At("loss").ToDoubles(), ElementsAre(1, 2));
  EXPECT_THAT(second.State().At("loss").ToDoubles(), ElementsAre(1, 2));
  EXPECT_THAT(second.State().At("step").ToDoubles(), ElementsAre(30, 20));
}

TEST(AverageBestTest, RefusesAStateThatDoesNotFit) {
  AverageBest best(2, /*maximize=*/false, DType::kF64, 1), larger(3, false, DType::kF64, 1);
  EXPECT_EQ(best.SetState(AverageBest(2, false, DType::kF64, 1).State()), absl::OkStatus());
  EXPECT_THAT(std::string(best.SetState(larger.State()).message()), HasSubstr("F64 [3, 1], expected F64 [2, 1]"));
  NamedTensors state = best.State();
  state.Set("loss", F64({1, 2, 3}));
  EXPECT_THAT(std::string(best.SetState(state).message()), HasSubstr("3 kept parameter vectors, expected 2"));
  state.Set("loss", F64({1, 2}));
  EXPECT_THAT(std::string(best.SetState(state).message()), HasSubstr("\"epoch\" is I64 [0], expected I64 [2]"));
  state.Set("loss", Tensor::Scalar<double>(1));
  EXPECT_THAT(std::string(best.SetState(state).message()), HasSubstr("rank 1"));
  EXPECT_EQ(best.size(), 0);
}

TEST(AverageBestDeathTest, RejectsMisuse) {
  EXPECT_DEATH(AverageBest(0, false, DType::kF32, 1), "k");
  EXPECT_DEATH(AverageBest(1, false, DType::kF32, 1).Mean(), "size");
}

}  // namespace
}  // namespace rutile
