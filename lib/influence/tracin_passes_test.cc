#include "lib/influence/tracin_passes.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Three checkpoints, at which a test takes 100 bytes and 8 bytes for each product with a tile of 7.
struct Problem {
  TracInPasses Choose() const { return *ChoosePasses(checkpoints, 1000, num_tests, options); }

  DenseProducts a{1000, 50, 0}, b{1000, 50, 1}, c{1000, 50, 2};
  std::vector<const GradientProducts*> checkpoints = {&a, &b, &c};
  int64_t num_tests = 50;
  TracInOptions options;
};

TEST(TracInPassesTest, WithoutALimitAllAtOnce) {
  Problem problem;
  problem.b.tile = 9;
  EXPECT_EQ(problem.Choose().tile_size, 9);
  EXPECT_EQ(problem.Choose().tests_per_pass, 50);
  EXPECT_EQ(problem.Choose().at_once, 3);
  EXPECT_EQ(problem.Choose().block_size, 112 * 9);
  problem.num_tests = 0;
  EXPECT_EQ(problem.Choose().tests_per_pass, 1);
}

TEST(TracInPassesTest, TestsOfAPassFitTheLimit) {
  Problem problem;
  problem.options.memory_limit = 10 * 3 * (100 + 8 * 7) + 100;
  EXPECT_EQ(problem.Choose().tests_per_pass, 10);
  problem.options.parts = {{"x", {0}}, {"y", {1}}};
  EXPECT_EQ(problem.Choose().tests_per_pass, (10 * 3 * 156 + 100) / (3 * (100 + 16 * 7)));
  problem.options.memory_limit = 500;
  EXPECT_THAT(std::string(ChoosePasses(problem.checkpoints, 1000, 50, problem.options).status().message()),
              HasSubstr("500 bytes, but one test takes 636 at 3 checkpoints"));
  problem.options.checkpoints_at_once = 2;
  EXPECT_EQ(problem.Choose().tests_per_pass, 1);
}

TEST(TracInPassesTest, InTurnsHalfIsForTestsAndHalfForSums) {
  Problem problem;
  problem.options.checkpoints_at_once = 1;
  problem.options.memory_limit = 2 * 40000;
  TracInPasses passes = problem.Choose();
  EXPECT_EQ(passes.at_once, 1);
  EXPECT_EQ(passes.tests_per_pass, 35);  // within 40000 bytes, four examples for each test
  EXPECT_EQ(passes.block_size, 40000 / 8 / 35 / 7 * 7);
  problem.options.part_scores = true;
  problem.options.parts = {{"x", {0}}, {"y", {1}}};
  passes = problem.Choose();
  EXPECT_EQ(passes.tests_per_pass, 20);
  EXPECT_EQ(passes.block_size, 40000 / 24 / 20 / 7 * 7);
  problem.num_tests = 2;
  EXPECT_EQ(problem.Choose().block_size, 833 / 7 * 7);
  problem.options.memory_limit = 1 << 20;
  EXPECT_EQ(problem.Choose().block_size, 143 * 7);  // no more than there are
  problem.options.checkpoints_at_once = 7;
  EXPECT_EQ(problem.Choose().at_once, 3);
}

}  // namespace
}  // namespace rutile
