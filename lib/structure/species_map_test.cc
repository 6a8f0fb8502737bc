#include "lib/structure/species_map.h"

#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

Structure Water() {
  Structure structure;
  structure.name = "water.xyz";
  structure.element = {8, 1, 1};
  return structure;
}

TEST(SpeciesMapTest, GivesPlacesInTheList) {
  std::vector<uint8_t> indices;
  ASSERT_TRUE(SpeciesMap({1, 6, 8}).Map(Water(), &indices).ok());
  EXPECT_THAT(indices, ElementsAre(2, 0, 0));
}

TEST(SpeciesMapTest, NamesTheElementThatIsMissing) {
  std::vector<uint8_t> indices;
  const absl::Status status = SpeciesMap({22, 8}).Map(Water(), &indices);
  EXPECT_THAT(status,
              ErrorNames(absl::StatusCode::kInvalidArgument, {"water.xyz", "atom 2", "H", "Ti,O", "--species=Ti,O,H"}));
  // A model has its species for good: another one must be trained.
  EXPECT_THAT(SpeciesMap({22, 8}, /*of_model=*/true).Map(Water(), &indices),
              ErrorNames(absl::StatusCode::kInvalidArgument,
                         {"water.xyz", "atom 2", "H", "model", "Ti,O", "train", "--species=Ti,O,H"}));
}

}  // namespace
}  // namespace rutile
