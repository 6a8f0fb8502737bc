#include "lib/train/options/split.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Message(int64_t n, const SplitOptions& options) {
  return std::string(SplitExamples(n, options).status().message());
}

TEST(SplitTest, PartsAreDisjointSortedAndComplete) {
  SplitOptions options;
  options.validation_fraction = 0.15;
  options.test_fraction = 0.25;
  const Split split = SplitExamples(101, options).value();
  EXPECT_EQ(split.validation.size(), 15u);
  EXPECT_EQ(split.test.size(), 25u);
  std::vector<int64_t> all;
  for (const auto* part : {&split.train, &split.validation, &split.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
    all.insert(all.end(), part->begin(), part->end());
  }
  std::sort(all.begin(), all.end());
  std::vector<int64_t> expected(101);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(SplitTest, SeedDecides) {
  SplitOptions options;
  options.test_fraction = 0.3;
  const Split first = SplitExamples(50, options).value();
  EXPECT_EQ(SplitExamples(50, options)->test, first.test);
  options.seed = 1;
  EXPECT_NE(SplitExamples(50, options)->test, first.test);
}

// The test set must not change when only the validation share does: results stay comparable.
TEST(SplitTest, TestSetDoesNotDependOnValidation) {
  SplitOptions options;
  options.test_fraction = 0.2;
  const auto test = SplitExamples(50, options)->test;
  options.validation_fraction = 0.4;
  EXPECT_EQ(SplitExamples(50, options)->test, test);
}

TEST(SplitTest, SmallFractionDrawsOne) {
  SplitOptions options;
  options.validation_fraction = 0.01;
  EXPECT_EQ(SplitExamples(5, options)->validation.size(), 1u);
  options.validation_fraction = 0;
  EXPECT_THAT(SplitExamples(5, options)->validation, IsEmpty());
}

TEST(SplitTest, NamedExamplesGoWhereTheyAreNamed) {
  SplitOptions options;
  options.test_examples = {7, 2};
  options.test_fraction = 0.5;  // not drawn: the test set is named
  options.validation_mask = {true, false, false, true, false, false, false, false};
  const Split split = SplitExamples(8, options).value();
  EXPECT_THAT(split.test, ElementsAre(2, 7));
  EXPECT_THAT(split.validation, ElementsAre(0, 3));
  EXPECT_THAT(split.train, ElementsAre(1, 4, 5, 6));
}

TEST(SplitTest, NamedByIndexAndByKeyIsOnce) {
  SplitOptions options;
  options.test_examples = {1};
  options.test_mask = {false, true, false};
  options.validation_fraction = 0;
  EXPECT_THAT(SplitExamples(3, options)->test, ElementsAre(1));
}

TEST(SplitTest, RefusesContradictions) {
  SplitOptions options;
  options.test_examples = {5};
  EXPECT_THAT(Message(5, options), HasSubstr("test example 5 does not exist; there are 5"));
  options.test_examples = {-1};
  EXPECT_THAT(Message(5, options), HasSubstr("example -1"));
  options.test_examples = {1, 1};
  EXPECT_THAT(Message(5, options), HasSubstr("named twice for the test set"));
  options.test_examples = {1};
  options.validation_examples = {1};
  EXPECT_THAT(Message(5, options), HasSubstr("named for the test set and for the validation set"));
  options.validation_examples.reset();
  options.validation_mask = {true};
  EXPECT_THAT(Message(5, options), HasSubstr("looked up for 1 examples, expected 5"));
}

TEST(SplitTest, RefusesEmptyTrainingSet) {
  SplitOptions options;
  options.validation_fraction = 0.5;
  options.test_fraction = 0.5;
  EXPECT_THAT(Message(2, options), HasSubstr("left to train on (1 validate, 1 test)"));
  EXPECT_THAT(Message(0, {}), HasSubstr("no example of 0"));
  options.test_fraction = 1;
  EXPECT_THAT(Message(2, options), HasSubstr("test_fraction is 1"));
  options.test_fraction = -0.1;
  EXPECT_THAT(Message(2, options), HasSubstr("test_fraction is -0.1"));
}

TEST(ExtendSplitTest, KnownExamplesStayAndOthersFillTheShares) {
  SplitOptions options;
  options.validation_fraction = 0.1;
  options.test_fraction = 0.2;
  const Split small = SplitExamples(40, options).value();
  const Split large = ExtendSplit(60, small, options).value();
  EXPECT_EQ(large.validation.size(), 6u);
  EXPECT_EQ(large.test.size(), 12u);
  EXPECT_EQ(large.train.size(), 42u);
  EXPECT_TRUE(std::includes(large.validation.begin(), large.validation.end(), small.validation.begin(),
                            small.validation.end()));
  EXPECT_TRUE(std::includes(large.test.begin(), large.test.end(), small.test.begin(), small.test.end()));
  EXPECT_TRUE(std::includes(large.train.begin(), large.train.end(), small.train.begin(), small.train.end()));
}

TEST(ExtendSplitTest, ASetThatIsLargerThanItsShareStays) {
  SplitOptions options;
  options.test_fraction = 0.1;
  options.validation_fraction = 0;
  const Split split = ExtendSplit(6, {{0, 1}, {}, {2, 3, 4}}, options).value();
  EXPECT_THAT(split.test, ElementsAre(2, 3, 4));
  EXPECT_THAT(split.train, ElementsAre(0, 1, 5));
  EXPECT_EQ(ExtendSplit(2, SplitExamples(2, options).value(), options)->test.size(), 1u);
}

TEST(ExtendSplitTest, NamedExamplesAreTheSet) {
  SplitOptions options;
  options.validation_examples = {7, 0};
  options.validation_fraction = 0.5;  // not drawn: the set is named
  options.test_fraction = 0.5;
  const Split split = ExtendSplit(8, {{0, 1, 2}, {3}, {4, 7}}, options).value();
  EXPECT_THAT(split.validation, ElementsAre(0, 7));
  EXPECT_EQ(split.test.size(), 3u);  // of 6: one is kept, the others are drawn from 5 and 6
  EXPECT_THAT(split.test, ElementsAre(4, 5, 6));
  EXPECT_THAT(split.train, ElementsAre(1, 2, 3));
  options.test_examples = {7};
  const absl::StatusOr<Split> both = ExtendSplit(8, {{0}, {}, {}}, options);
  EXPECT_THAT(std::string(both.status().message()), HasSubstr("example 7 is named for the test set"));
}

TEST(SplitTest, SharesAreOfWhatNoSetNames) {
  SplitOptions options;
  options.validation_examples = {10, 11, 12, 13, 14};
  options.test_fraction = 0.2;
  EXPECT_EQ(SplitExamples(15, options)->test.size(), 2u);
  options.shares_of = 15;
  EXPECT_EQ(SplitExamples(15, options)->test.size(), 3u);

  SplitOptions masked;
  masked.test_mask.assign(30, false);
  for (int64_t i = 0; i < 20; ++i) masked.test_mask[i] = true;
  masked.validation_fraction = 0.3;
  EXPECT_EQ(SplitExamples(30, masked)->validation.size(), 3u);
}

}  // namespace
}  // namespace rutile
