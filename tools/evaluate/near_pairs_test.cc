#include "tools/evaluate/near_pairs.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<StructurePrediction> AtDistances(const std::vector<double>& distances) {
  std::vector<StructurePrediction> predictions(distances.size());
  for (size_t k = 0; k < distances.size(); ++k) {
    predictions[k].name = std::string(1, static_cast<char>('a' + k));
    predictions[k].nearest = distances[k];
  }
  return predictions;
}

TEST(NearPairsTest, CountsStructuresAndNamesTheNearest) {
  // 0.5 itself is not seen either. Of two that are equally near the first is named.
  const std::string warning = NearPairsWarning(AtDistances({0.4, 1.9, 0.25, 0.5, 0.25}), 0.5, /*has_repulsion=*/false);
  EXPECT_THAT(warning, StartsWith("4 structures have atoms nearer than --min_cutoff=0.5 Angstrom"));
  EXPECT_THAT(warning, EndsWith("lack what these do to each other; the nearest two, at 0.250 Angstrom, are in c"));
}

TEST(NearPairsTest, KnowsOfARepulsion) {
  EXPECT_THAT(NearPairsWarning(AtDistances({0.4}), 0.5, true), HasSubstr("the repulsion alone acts"));
}

TEST(NearPairsTest, SaysNothingOfAtomsThatAreFarOrOfUnknownDistances) {
  EXPECT_EQ(NearPairsWarning(AtDistances({0.6}), 0.5, false), "");
  EXPECT_EQ(NearPairsWarning(std::vector<StructurePrediction>(2), 0.5, false), "");
  EXPECT_EQ(NearPairsWarning({}, 0.5, false), "");
}

}  // namespace
}  // namespace rutile
