#include "lib/graph/known_tails.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KnownTailsTest, Small) {
  const std::vector<Triple> train = {{1, 0, 2}, {0, 1, 2}, {1, 0, 0}, {1, 0, 2}};
  const std::vector<Triple> test = {{1, 0, 1}};
  const KnownTails known = KnownTails::Build({train, test}, 2, /*inverse_relations=*/false);
  ASSERT_EQ(known.num_keys(), 2);
  EXPECT_EQ(known.num_tails(), 4);
  EXPECT_EQ(known.head(0), 0);
  EXPECT_EQ(known.relation(0), 1);
  EXPECT_THAT(known.tails(0), ElementsAre(2));
  EXPECT_EQ(known.Find(1, 0), 1);
  EXPECT_THAT(known.tails(1), ElementsAre(0, 1, 2));
  for (const auto& [head, relation] :
       std::vector<std::pair<int, int>>{{0, 0}, {1, 1}, {2, 0}, {99, 0}, {-1, 0}, {1, -1}}) {
    EXPECT_EQ(known.Find(head, relation), -1) << head << " " << relation;
    EXPECT_THAT(known.Tails(head, relation), IsEmpty());
  }
}

TEST(KnownTailsTest, InversesAreRelationsOfTheirOwn) {
  const std::vector<Triple> train = {{1, 0, 2}, {0, 1, 2}, {3, 0, 2}};
  const KnownTails known = KnownTails::Build({train}, 2, /*inverse_relations=*/true);
  EXPECT_THAT(known.Tails(2, 2), ElementsAre(1, 3));
  EXPECT_THAT(known.Tails(2, 3), ElementsAre(0));
  EXPECT_THAT(known.Tails(1, 0), ElementsAre(2));
  EXPECT_THAT(known.Tails(1, 2), IsEmpty());
}

TEST(KnownTailsTest, NothingIsKnown) {
  for (const KnownTails& known :
       {KnownTails(), KnownTails::Build({}, 0, true), KnownTails::FromArrays({}, {}, {0}, {})}) {
    EXPECT_EQ(known.num_keys(), 0);
    EXPECT_EQ(known.Find(0, 0), -1);
  }
}

TEST(KnownTailsTest, EqualsAMapOfSets) {
  for (const bool inverse : {false, true}) {
    std::vector<Triple> splits[2];
    std::map<std::pair<int, int>, std::set<int>> expected;
    RandomStream random(7, "known tails");
    for (int i = 0; i < 5000; ++i) {
      // A product of two random numbers, so that some heads have many tails.
      const int head = static_cast<int>(random.Below(20) * random.Below(20));
      const int relation = static_cast<int>(random.Below(5)), tail = static_cast<int>(random.Below(400));
      splits[i % 2].push_back({head, relation, tail});
      expected[{head, relation}].insert(tail);
      if (inverse) expected[{tail, 5 + relation}].insert(head);
    }
    const KnownTails known = KnownTails::Build({splits[0], splits[1]}, 5, inverse);
    ASSERT_EQ(known.num_keys(), static_cast<int64_t>(expected.size()));
    int64_t key = 0;
    for (const auto& [head_relation, tails] : expected) {
      EXPECT_EQ(known.head(key), head_relation.first);
      EXPECT_EQ(known.relation(key), head_relation.second);
      EXPECT_EQ(known.Find(head_relation.first, head_relation.second), key);
      EXPECT_THAT(known.tails(key), ::testing::ElementsAreArray(tails));
      ++key;
    }
    const KnownTails again =
        KnownTails::FromArrays(known.heads(), known.relations(), known.offsets(), known.all_tails());
    EXPECT_EQ(again.Find(known.head(17), known.relation(17)), 17);
  }
}

TEST(KnownTailsDeathTest, RefusesIdsThatAreNone) {
  const std::vector<Triple> relation = {{0, 2, 1}}, head = {{-1, 0, 1}};
  EXPECT_DEATH(KnownTails::Build({relation}, 2, false), "0 2 1");
  EXPECT_DEATH(KnownTails::Build({head}, 2, false), "-1 0 1");
}

}  // namespace
}  // namespace rutile
