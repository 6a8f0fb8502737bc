#include "tools/evaluate/near_pairs.h"

#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two atoms at a distance along x, as neighbors of each other; or, with a cell, the second through the image before.
struct TwoAtoms {
  explicit TwoAtoms(double distance, double cell_length = 0) {
    position = {0, 0, 0, cell_length > 0 ? cell_length - distance : distance, 0, 0};
    geometry.species = species;
    geometry.position = position;
    if (cell_length > 0) {
      geometry.cell = {cell_length, 0, 0, 0, 9, 0, 0, 0, 9};
      shift = {-1, 0, 0, 1, 0, 0};
    }
    geometry.pairs = {offset, j.data(), shift.data(), 7};
  }
  std::vector<uint8_t> species = {0, 0};
  std::vector<double> position;
  std::vector<int64_t> offset = {0, 1, 2};
  std::vector<int32_t> j = {8, 7};  // counted from the first atom, 7
  std::vector<int16_t> shift = {0, 0, 0, 0, 0, 0};
  StructureGeometry geometry;
};

TEST(NearPairsTest, DistanceIsThatOfTheNearestImage) {
  EXPECT_DOUBLE_EQ(NearestDistance(TwoAtoms(0.25).geometry), 0.25);
  EXPECT_DOUBLE_EQ(NearestDistance(TwoAtoms(0.25, 8).geometry), 0.25);
  StructureGeometry none;
  EXPECT_EQ(NearestDistance(none), std::numeric_limits<double>::infinity());
}

TEST(NearPairsTest, CountsStructuresAndNamesTheNearest) {
  for (const bool reversed : {false, true}) {
    NearPairs near(0.5, /*has_repulsion=*/false);
    const std::vector<double> distances = {0.4, 1.9, 0.25, 0.5, 0.25};
    for (int k = 0; k < 5; ++k) {
      const int n = reversed ? 4 - k : k;
      near.Add(n, std::string(1, static_cast<char>('a' + n)), TwoAtoms(distances[n]).geometry);
    }
    // 0.5 itself is not seen either. Of two that are equally near the first is named.
    EXPECT_THAT(near.Warning(), StartsWith("4 structures have atoms nearer than --min_cutoff=0.5 Angstrom"));
    EXPECT_THAT(near.Warning(), EndsWith("lack what these do to each other; the nearest two, at 0.250 Angstrom, "
                                         "are in c"));
  }
  NearPairs repelled(0.5, /*has_repulsion=*/true);
  repelled.Add(0, "a", TwoAtoms(0.4).geometry);
  EXPECT_THAT(repelled.Warning(), HasSubstr("the repulsion alone acts"));
  NearPairs far(0.5, false);
  far.Add(0, "a", TwoAtoms(0.6).geometry);
  EXPECT_EQ(far.Warning(), "");
}

TEST(NearPairsTest, IsCalledBesideOtherHooks) {
  NearPairs near(0.5, false), without(0, false);
  int calls = 0;
  PredictionHooks hooks;
  without.AddTo(&hooks);
  EXPECT_FALSE(hooks.on_geometry);
  hooks.on_geometry = [&](int, int64_t, const StructureGeometry&, StructurePrediction*) {
    ++calls;
    return absl::UnknownError("theirs");
  };
  near.AddTo(&hooks);
  StructurePrediction prediction;
  prediction.name = "s";
  EXPECT_EQ(hooks.on_geometry(0, 3, TwoAtoms(0.25).geometry, &prediction).message(), "theirs");
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(near.Warning(), EndsWith("are in s"));
}

}  // namespace
}  // namespace rutile
