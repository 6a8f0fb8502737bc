#include "lib/potential/training/example_errors.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(ExampleErrorsTest, WeighsByTheLastErrorAndByEnergy) {
  ExampleErrors errors(4);
  errors.Record({1}, {0.1});  // sampling was not asked for, so this is not remembered
  EXPECT_TRUE(errors.State().empty());
  EXPECT_EQ(errors.SamplingWeights(SamplingPolicy::kErrorWeighted, {0, 1}, {}), (std::vector<double>{1, 1}));
  errors.Record({0, 2}, {0.1, -0.3});
  errors.Record({0}, {0.2});
  const std::vector<double> weights = errors.SamplingWeights(SamplingPolicy::kErrorWeighted, {0, 2}, {});
  EXPECT_DOUBLE_EQ(weights[1] / weights[0], 1.5);
  const std::vector<double> by_energy = errors.SamplingWeights(SamplingPolicy::kEnergyWeighted, {3, 1}, {9, 2, 9, 1});
  EXPECT_DOUBLE_EQ(by_energy[0], 1);
  EXPECT_DOUBLE_EQ(by_energy[1], 0.5);
}

TEST(ExampleErrorsTest, StateGoesRound) {
  ExampleErrors a(3), b(3), other(2);
  a.SamplingWeights(SamplingPolicy::kErrorWeighted, {0}, {});
  a.Record({1, 2}, {0.5, 0.25});
  ASSERT_TRUE(b.SetState(a.State()).ok());
  EXPECT_EQ(a.SamplingWeights(SamplingPolicy::kErrorWeighted, {0, 1, 2}, {}),
            b.SamplingWeights(SamplingPolicy::kErrorWeighted, {0, 1, 2}, {}));
  EXPECT_FALSE(other.SetState(a.State()).ok());
  EXPECT_TRUE(a.SetState({}).ok());
  EXPECT_TRUE(a.State().empty());
}

TEST(ExampleErrorsTest, WithoutAnEnergyTheWeightIsTheMean) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  ExampleErrors errors(3);
  errors.SamplingWeights(SamplingPolicy::kErrorWeighted, {0, 1, 2}, {-1, none, -2});
  errors.Record({0, 1, 2}, {0.5, none, -1.5});
  EXPECT_EQ(errors.SamplingWeights(SamplingPolicy::kErrorWeighted, {0, 1, 2}, {-1, none, -2}),
            (std::vector<double>{0.5, 1, 1.5}));
  EXPECT_EQ(errors.SamplingWeights(SamplingPolicy::kErrorWeighted, {1}, {-1, none, -2}), (std::vector<double>{1}));
}

}  // namespace
}  // namespace rutile
