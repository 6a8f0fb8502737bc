#include "lib/potential/training/batch_parts.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/model/labels/scaling.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> Ends(const std::vector<double>& num_atoms, int64_t most) {
  std::vector<int64_t> ends = {7};  // of another batch
  CutBatch(num_atoms, most, &ends);
  return ends;
}

TEST(BatchPartsTest, CutsEvenly) {
  EXPECT_THAT(Ends({4, 4, 4}, 12), ElementsAre(3));
  EXPECT_THAT(Ends({4, 4, 4}, 11), ElementsAre(2, 3));
  EXPECT_THAT(Ends({4, 4, 4, 4}, 8), ElementsAre(2, 4));
  EXPECT_THAT(Ends({1, 1, 1, 9}, 4), ElementsAre(4));  // a structure is not cut
  EXPECT_THAT(Ends({9, 1, 1, 1}, 4), ElementsAre(1, 2, 4));
  EXPECT_THAT(Ends({}, 4), IsEmpty());
}

TEST(BatchPartsTest, PartsHaveAtMostOneStructureMore) {
  std::vector<double> num_atoms;
  for (int i = 0; i < 1000; ++i) num_atoms.push_back(1 + i % 7);
  for (const int64_t most : {1, 5, 64, 1000, 3999, 4000}) {
    const std::vector<int64_t> ends = Ends(num_atoms, most);
    int64_t begin = 0;
    for (const int64_t end : ends) {
      ASSERT_LT(begin, end);
      double atoms = 0;
      for (int64_t e = begin; e < end; ++e) atoms += num_atoms[e];
      EXPECT_LE(atoms, static_cast<double>(most) + 7) << most;
      begin = end;
    }
    EXPECT_EQ(begin, 1000);
  }
}

TEST(BatchPartsTest, ScalesInTheOrderOfSpecies) {
  const FeatureScaling scaling = {2, 1, {1, 10}, {2, 0.5}};
  const std::vector<uint8_t> species = {1, 0, 1};
  const std::vector<double> features = {12, 3, 14};
  int64_t next[] = {0, 1};
  std::vector<float> x(3);
  ScaleFeatures(scaling, absl::MakeConstSpan(species), absl::MakeConstSpan(features), next, x.data());
  EXPECT_THAT(x, ElementsAre(4, 1, 2));
  EXPECT_THAT(next, ElementsAre(1, 3));
}

}  // namespace
}  // namespace rutile
