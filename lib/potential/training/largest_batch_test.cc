#include "lib/potential/training/largest_batch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

// Four structures of two species, whose totals are 5, 3, 4, 6.
const std::vector<int32_t> kCounts = {4, 1, 0, 3, 4, 0, 1, 5};

CompileOptions Of(int64_t batch_size, bool with_replacement) {
  CompileOptions options;
  options.batch_size = batch_size;
  options.with_replacement = with_replacement;
  return options;
}

TEST(FindLargestBatchTest, AddsUpTheLargestOfEachSpeciesAndOfAll) {
  const LargestBatch two = FindLargestBatch(kCounts, 2, Of(2, false));
  EXPECT_EQ(two.structures, 2);
  EXPECT_THAT(two.species_atoms, ElementsAre(8, 8));
  EXPECT_EQ(two.atoms, 11);
}

TEST(FindLargestBatchTest, WithReplacementTheLargestComesAgain) {
  const LargestBatch three = FindLargestBatch(kCounts, 2, Of(3, true));
  EXPECT_EQ(three.structures, 3);
  EXPECT_THAT(three.species_atoms, ElementsAre(12, 15));
  EXPECT_EQ(three.atoms, 18);
}

TEST(FindLargestBatchTest, NoBatchIsLargerThanTheData) {
  const LargestBatch all = FindLargestBatch(kCounts, 2, Of(100, false));
  EXPECT_EQ(all.structures, 4);
  EXPECT_THAT(all.species_atoms, ElementsAre(9, 9));
  EXPECT_EQ(all.atoms, 18);
  EXPECT_EQ(FindLargestBatch({}, 2, Of(5, true)).atoms, 0);
}

}  // namespace
}  // namespace rutile
