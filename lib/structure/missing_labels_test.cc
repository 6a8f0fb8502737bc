#include "lib/structure/missing_labels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MissingLabelsTest, SimilarNames) {
  for (const char* name : {"vasp_energy", "Energy", "E_ENERGY"}) EXPECT_TRUE(MissingLabels::IsLikeEnergy(name)) << name;
  for (const char* name : {"config_type", "e", "forces"}) EXPECT_FALSE(MissingLabels::IsLikeEnergy(name)) << name;
  for (const char* name : {"vasp_forces", "Force", "gradient"}) EXPECT_TRUE(MissingLabels::IsLikeForce(name)) << name;
  for (const char* name : {"pos", "momenta", "velocities"}) EXPECT_FALSE(MissingLabels::IsLikeForce(name)) << name;
}

TEST(MissingLabelsTest, OneMessageForEachQuantityWithItsFrames) {
  MissingLabels missing;
  EXPECT_THAT(missing.Messages("f", 5, "", ""), IsEmpty());
  missing.Count(MissingLabels::kEnergy, {});
  EXPECT_THAT(missing.Messages("f", 5, "", ""), IsEmpty());  // frames without a label are no mistake
  missing.Count(MissingLabels::kEnergy, {"b_energy", "a_energy"});
  missing.Count(MissingLabels::kEnergy, {"b_energy"});
  missing.Count(MissingLabels::kForces, {"f2"});
  EXPECT_THAT(missing.Messages("f", 5, "", "f1"),
              ElementsAre("f: 3 of 5 frames have no energy under the usual names, but keys of similar names: a_energy "
                          "in 1, b_energy in 2; --energy_key=a_energy reads that",
                          "f: 1 of 5 frames have no forces named f1, as --force_key asks for, but columns of three "
                          "numbers of similar names: f2 in 1; --force_key=f2 reads that"));
}

}  // namespace
}  // namespace rutile
