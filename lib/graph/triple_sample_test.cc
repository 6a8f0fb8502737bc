#include "lib/graph/triple_sample.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(TripleSampleTest, HasSoManyOfTheTriples) {
  const std::vector<int64_t> sample = SampleOfTriples(1000, 30);
  EXPECT_EQ(std::set<int64_t>(sample.begin(), sample.end()).size(), 30);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_GE(sample.front(), 0);
  EXPECT_LT(sample.back(), 1000);
  EXPECT_EQ(SampleOfTriples(1000, 30), sample);
}

TEST(TripleSampleTest, HasAllWhereThereAreNoMore) {
  EXPECT_EQ(SampleOfTriples(3, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(SampleOfTriples(3, 10), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(SampleOfTriples(0, 10).empty());
}

TEST(TripleSampleTest, TheNoteHasBothNumbers) {
  EXPECT_EQ(SampleNote(3, 3), "");
  EXPECT_NE(SampleNote(40932, 1000).find("1000 of 40932"), std::string::npos);
}

}  // namespace
}  // namespace rutile
