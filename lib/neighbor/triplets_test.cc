#include "lib/neighbor/triplets.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One atom for each number of neighbors; neighbor k is at distance 1 + k, but every third is far away.
NeighborList Lines(const std::vector<int>& counts) {
  NeighborList list;
  list.offset = {0};
  for (const int count : counts) {
    for (int k = 0; k < count; ++k) {
      list.j.push_back(0);
      list.dx.push_back(k % 3 == 2 ? 100.0 : 0.0);
      list.dy.push_back(0);
      list.dz.push_back(1.0 + k);
    }
    list.offset.push_back(list.num_pairs());
  }
  return list;
}

TEST(TripletsTest, PairsUpNeighborsWithinTheCutoff) {
  TripletList triplets;
  ASSERT_TRUE(FindTriplets(Lines({0, 1, 2, 5}), 5, &triplets).ok());
  EXPECT_THAT(triplets.offset, ElementsAre(0, 0, 0, 1, 1 + 6));
  EXPECT_THAT(triplets.a, ElementsAre(0, 0, 0, 0, 1, 1, 3));
  EXPECT_THAT(triplets.b, ElementsAre(1, 1, 3, 4, 3, 4, 4));
  // A distance equal to the cutoff is within it. The memory of the list is reused.
  ASSERT_TRUE(FindTriplets(Lines({5}), 4, &triplets).ok());
  EXPECT_THAT(triplets.offset, ElementsAre(0, 3));
  EXPECT_THAT(triplets.b, ElementsAre(1, 3, 3));
}

TEST(TripletsTest, CountsNeighborsUpTo65536) {
  NeighborList list = Lines({65537});
  TripletList triplets;
  ASSERT_TRUE(FindTriplets(list, 10, &triplets).ok());
  list.dx.back() = 0;
  list.dz.back() = 1;
  const absl::Status status = FindTriplets(list, 10, &triplets);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("atom 1 has 65537 neighbors"));
}

}  // namespace
}  // namespace rutile
