#include "lib/structure/unrecorded_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnrecordedNamesTest, CountsFramesWithAnotherName) {
  UnrecordedNames names;
  names.Count(UnrecordedNames::kEnergy, "E", "E");
  names.Count(UnrecordedNames::kForces, "", "forces");
  EXPECT_THAT(names.Messages("f", 3), IsEmpty());
  names.Count(UnrecordedNames::kEnergy, "E", "energy");
  names.Count(UnrecordedNames::kEnergy, "E", "Energy");
  names.Count(UnrecordedNames::kStress, "S", "virial");
  EXPECT_THAT(names.Messages("f", 3),
              ElementsAre("f: 2 of 3 frames have no E, the energy that the model learned from; energy is read in its "
                          "place, --energy_key names another",
                          "f: 1 of 3 frames have no S, the stress that the model learned from; virial is read in its "
                          "place, --stress_key names another"));
}

}  // namespace
}  // namespace rutile
