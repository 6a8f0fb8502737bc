#include "lib/task/sampling_policy.h"

#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SamplingPolicyTest, NamesRoundTrip) {
  for (const SamplingPolicy policy :
       {SamplingPolicy::kUniform, SamplingPolicy::kEnergyWeighted, SamplingPolicy::kErrorWeighted}) {
    EXPECT_EQ(kSamplingPolicyNames.Parse(kSamplingPolicyNames.Name(policy)).value(), policy);
  }
  EXPECT_EQ(kSamplingPolicyNames.Name(SamplingPolicy::kErrorWeighted), "error_weighted");
  const absl::Status status = kSamplingPolicyNames.Parse("weighted").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("\"weighted\"; the choices are uniform, energy_weighted, error_weighted"));
}

TEST(EnergyWeightsTest, FallFromOneToAHalf) {
  EXPECT_THAT(EnergyWeights({-3, -1, -2}), Pointwise(DoubleNear(1e-15), {1.0, 0.5, 1 / 1.5}));
}

// A shift of all energies, or another unit, changes nothing.
TEST(EnergyWeightsTest, DoNotDependOnZeroAndUnit) {
  EXPECT_THAT(EnergyWeights({97, 99, 98}), Pointwise(DoubleNear(1e-13), EnergyWeights({-3, -1, -2})));
  EXPECT_THAT(EnergyWeights({-81, -27, -54}), Pointwise(DoubleNear(1e-13), EnergyWeights({-3, -1, -2})));
}

TEST(EnergyWeightsTest, UnknownEnergiesWeighTheMean) {
  EXPECT_THAT(EnergyWeights({-3, kNan, -1}), ElementsAre(1, 0.75, 0.5));
  EXPECT_THAT(EnergyWeights({kNan, kNan}), ElementsAre(1, 1));
}

TEST(EnergyWeightsTest, WithoutSpreadAllWeighTheSame) {
  EXPECT_THAT(EnergyWeights({2, 2, 2}), ElementsAre(1, 1, 1));
  EXPECT_THAT(EnergyWeights({}), IsEmpty());
}

TEST(ErrorWeightsTest, AreErrorsOfMeanOne) {
  EXPECT_THAT(ErrorWeights({0.1, -0.3, 0.2}), Pointwise(DoubleNear(1e-15), {0.5, 1.5, 1.0}));
}

TEST(ErrorWeightsTest, UnseenExamplesCountAsAnErrorOfOne) {
  EXPECT_THAT(ErrorWeights({kNan, kNan}), ElementsAre(1, 1));
  EXPECT_THAT(ErrorWeights({kNan, 0.5, 0.5, 2}), ElementsAre(1, 0.5, 0.5, 2));
}

// An example that is exact can still be drawn, and weights can be formed when all are exact.
TEST(ErrorWeightsTest, ExactExamplesKeepAWeight) {
  EXPECT_THAT(ErrorWeights({0, 0}), ElementsAre(1, 1));
  EXPECT_THAT(ErrorWeights({0, 1}), Pointwise(DoubleNear(1e-20), {2e-12 / (1 + 1e-12), 2 / (1 + 1e-12)}));
  EXPECT_THAT(ErrorWeights({}), IsEmpty());
}

}  // namespace
}  // namespace rutile
