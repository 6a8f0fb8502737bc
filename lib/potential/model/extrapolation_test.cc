#include "lib/potential/model/extrapolation.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two species, two features. Species 1 had no atom in training.
FeatureRange Range() { return {{1, -4, kInfinity, kInfinity}, {2, 4, -kInfinity, -kInfinity}}; }
FeatureScaling Scaling(double scale1) { return {2, 2, {0, 0, 0, 0}, {1, scale1, 1, 1}}; }

template <typename T>
std::vector<uint8_t> Marked(const Extrapolation& extrapolation, const std::vector<T>& features,
                            const std::vector<uint8_t>& species) {
  std::vector<uint8_t> outside(species.size(), 0);
  extrapolation.Mark(absl::MakeConstSpan(features), species, absl::MakeSpan(outside));
  return outside;
}

TEST(ExtrapolationTest, MarksWhatLiesBeyondTheRangeOfItsSpecies) {
  const Extrapolation extrapolation(Range(), Scaling(1));
  EXPECT_THAT(Marked<double>(extrapolation, {1, 4, 2, -4, 0.9, 0, 1.5, 4.1, 1.5, 0}, {0, 0, 0, 0, 1}),
              ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(Marked<float>(extrapolation, {1, 4, 2.1f, 0}, {0, 0}), ElementsAre(0, 1));
}

TEST(ExtrapolationTest, RoundingIsNotExtrapolation) {
  const Extrapolation extrapolation(Range(), Scaling(1));
  EXPECT_THAT(Marked<double>(extrapolation, {1 - 1e-6, 0, 2 + 1e-6, 4 + 1e-5}, {0, 0}), ElementsAre(0, 0));
}

TEST(ExtrapolationTest, FeaturesThatNoNetworkSeesDoNotCount) {
  EXPECT_THAT(Marked<double>(Extrapolation(Range(), Scaling(0)), {1.5, 100, 0, 0}, {0, 0}), ElementsAre(0, 1));
}

TEST(ExtrapolationTest, ConstantFeaturesCountOnRequest) {
  const Extrapolation extrapolation(Range(), Scaling(0), /*constant_counts=*/true);
  EXPECT_THAT(Marked<double>(extrapolation, {1.5, 100, 1.5, 0}, {0, 0}), ElementsAre(1, 0));
}

TEST(ExtrapolationTest, KeepsWhatIsMarked) {
  std::vector<uint8_t> outside = {1, 0};
  const std::vector<double> features = {1.5, 0, 1.5, 0};
  Extrapolation(Range(), Scaling(1)).Mark(absl::MakeConstSpan(features), {0, 0}, absl::MakeSpan(outside));
  EXPECT_THAT(outside, ElementsAre(1, 0));
}

}  // namespace
}  // namespace rutile
