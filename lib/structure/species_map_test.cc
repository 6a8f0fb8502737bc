#include "lib/structure/species_map.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("water.xyz: atom 2 is H"));
  EXPECT_THAT(status.message(), HasSubstr("not among the species Ti,O: pass --species=Ti,O,H or leave"));
  EXPECT_THAT(SpeciesMap({22, 8}, /*of_model=*/true).Map(Water(), &indices).message(),
              HasSubstr("not among the model's species Ti,O: leave the structure out, or train one with"));
}

}  // namespace
}  // namespace rutile
