#include "lib/potential/training/force_batch_testing.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Structure Dimer(double distance) {
  Structure s;
  s.element = {22, 8};
  s.position = {0, 0, 0, distance, 0, 0};
  s.energy = -7;
  s.force = {1, 2, 3, 4, 5, 6};
  return s;
}

ChebyshevOptions Descriptor() {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_cutoff = 3;
  options.ang_cutoff = 2;
  return options;
}

TEST(ForceBatchTest, NumbersAtomsInTheBatch) {
  const NamedTensors batch =
      MakeForceBatch(std::vector<Structure>{Dimer(1), Dimer(2.5)}, Descriptor(), {{-1, -2}, {}, 0});
  EXPECT_THAT(batch.At("species").values<uint8_t>(), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(batch.At("atom_offset").values<int64_t>(), ElementsAre(0, 2, 4));
  EXPECT_THAT(batch.At("pair_offset").values<int64_t>(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(batch.At("pair_j").values<int32_t>(), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(batch.At("target").values<double>(), ElementsAre(-2, -2));
  EXPECT_THAT(batch.At("force_sampled").values<bool>(), Each(true));
  EXPECT_THAT(batch.At("has_stress").values<bool>(), Each(false));
  EXPECT_FALSE(batch.Has("feature"));
}

TEST(ForceBatchTest, StructuresWithoutGeometryHaveFeaturesAndNoPairs) {
  const NamedTensors batch =
      MakeForceBatch(std::vector<Structure>{Dimer(1), Dimer(2)}, Descriptor(), {{}, {false, true}, 0});
  EXPECT_THAT(batch.At("pair_offset").values<int64_t>(), ElementsAre(0, 0, 0, 1, 2));
  EXPECT_THAT(batch.At("pair_j").values<int32_t>(), ElementsAre(3, 2));
  EXPECT_THAT(batch.At("force_sampled").values<bool>(), ElementsAre(false, false, true, true));
  EXPECT_GT(batch.At("feature").values<double>()[0], 0);  // T_0 f_c of the only neighbor
}

TEST(ForceBatchTest, SkinListsMorePairs) {
  const std::vector<Structure> far = {Dimer(3.2)};
  EXPECT_EQ(MakeForceBatch(far, Descriptor()).At("pair_j").num_elements(), 0);
  EXPECT_EQ(MakeForceBatch(far, Descriptor(), {{}, {}, 0.5}).At("pair_j").num_elements(), 2);
}

}  // namespace
}  // namespace rutile
