#include "lib/structure/extxyz/extxyz_comment.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ExtxyzCommentTest, PairsKeepTheirOrder) {
  ExtxyzComment comment;
  ASSERT_TRUE(comment.Parse(" b=1  a = \"x \\\" y\" bare 'k k'={1 2}").ok());
  EXPECT_THAT(comment.pairs(), ElementsAre(Pair("b", "1"), Pair("a", "x \" y"), Pair("bare", "T"), Pair("k k", "1 2")));
  ASSERT_TRUE(comment.Parse("c=2").ok());
  EXPECT_THAT(comment.pairs(), ElementsAre(Pair("c", "2")));
  ASSERT_TRUE(comment.Parse("").ok());
  EXPECT_TRUE(comment.pairs().empty());
}

TEST(ExtxyzCommentTest, Errors) {
  ExtxyzComment comment;
  for (const char* line : {"a=\"x", "a='", "a=\"x\\\"", "a={1 {2}", "a=[[1]", "=1", "a=", "a=1 b = ", "\"k=1"}) {
    EXPECT_FALSE(comment.Parse(line).ok()) << line;
  }
}

TEST(ExtxyzCommentTest, NumberLists) {
  std::vector<double> numbers(4);
  for (const char* text : {"1 2 3.5", "1,2,3.5", "[1, 2, 3.5]", "[[1], [2 , 3.5]]", "{1 2 3.5}", "\t1 2  3.5 "}) {
    EXPECT_EQ(*ParseNumberList(text, absl::MakeSpan(numbers)), 3) << text;
    EXPECT_THAT(numbers, ElementsAre(1, 2, 3.5, 0));
  }
  EXPECT_EQ(*ParseNumberList("", absl::MakeSpan(numbers)), 0);
  EXPECT_THAT(ParseNumberList("1 x", absl::MakeSpan(numbers)), ErrorNames({"'x'"}));
  EXPECT_THAT(ParseNumberList("1 2 3 4 5", absl::MakeSpan(numbers)), ErrorNames({"more than 4"}));
}

TEST(ExtxyzCommentTest, ThreeFlags) {
  bool flags[3];
  EXPECT_TRUE(ParseThreeFlags("T F 1", flags));
  EXPECT_THAT(flags, ElementsAre(true, false, true));
  EXPECT_TRUE(ParseThreeFlags("FFT", flags));
  EXPECT_THAT(flags, ElementsAre(false, false, true));
  EXPECT_TRUE(ParseThreeFlags("[true]", flags));
  EXPECT_THAT(flags, ElementsAre(true, true, true));
  for (const char* text : {"", "T F", "T F T F", "yes", "TFx", "T T 2"}) EXPECT_FALSE(ParseThreeFlags(text, flags));
}

}  // namespace
}  // namespace rutile
