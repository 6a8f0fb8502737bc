#include "lib/graph/vocabulary.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(VocabularyTest, IdsComeInOrder) {
  Vocabulary vocabulary;
  EXPECT_EQ(vocabulary.Find("b"), Vocabulary::kUnknown);
  EXPECT_EQ(vocabulary.Add("b"), 0);
  EXPECT_EQ(vocabulary.Add("a"), 1);
  EXPECT_EQ(vocabulary.Add("b"), 0);
  EXPECT_EQ(vocabulary.Add(""), 2);
  EXPECT_EQ(vocabulary.Find(""), 2);
  EXPECT_EQ(vocabulary.size(), 3);
  EXPECT_EQ(vocabulary.name(1), "a");
  EXPECT_THAT(vocabulary.Names(), ::testing::ElementsAre("b", "a", ""));
}

// Leading zeros and case matter: names are bytes.
TEST(VocabularyTest, NamesAreNotInterpreted) {
  Vocabulary vocabulary;
  for (const char* name : {"1", "01", "001", "Ti", "ti", "Ti "}) vocabulary.Add(name);
  EXPECT_EQ(vocabulary.size(), 6);
}

TEST(VocabularyTest, NamesStayWhereTheyAre) {
  Vocabulary vocabulary;
  const std::string giant(200000, 'x');
  for (int i = 0; i < 20000; ++i) {
    std::string name = absl::StrCat("name ", i);  // destroyed after each iteration
    ASSERT_EQ(vocabulary.Add(name), i + (i > 77));
    if (i == 77) {
      ASSERT_EQ(vocabulary.Add(giant), 78);
    }
  }
  const Vocabulary moved = std::move(vocabulary);
  EXPECT_EQ(moved.Find("name 5"), 5);
  EXPECT_EQ(moved.Find("name 19999"), 20000);
  EXPECT_EQ(moved.Find(giant), 78);
  EXPECT_EQ(moved.name(79), "name 78");
}

}  // namespace
}  // namespace rutile
