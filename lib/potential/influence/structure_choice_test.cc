#include "lib/potential/influence/structure_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/matrix/cholesky.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

std::vector<double> Random(int64_t n, uint64_t seed) {
  RandomStream random(seed, "rows");
  std::vector<double> values(n);
  for (double& each : values) each = random.Uniform(-1, 1);
  return values;
}

// Returns the sum over targets of g^T (1 + sum over learned of h h^T / noise)^-1 g, by the definition.
double Variances(int64_t size, const std::vector<double>& candidates, const std::vector<int64_t>& learned,
                 const std::vector<double>& targets, double noise) {
  std::vector<double> precision(size * size, 0.0);
  for (int64_t i = 0; i < size; ++i) precision[i * size + i] = 1;
  for (const int64_t l : learned) {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j) {
        precision[i * size + j] += candidates[l * size + i] * candidates[l * size + j] / noise;
      }
    }
  }
  EXPECT_TRUE(FactorCholesky(size, precision.data()));
  double sum = 0;
  for (size_t t = 0; t < targets.size(); t += size) {
    std::vector<double> g(targets.begin() + t, targets.begin() + t + size);
    SolveLower(size, precision.data(), size, 1, g.data());
    for (const double each : g) sum += each * each;
  }
  return sum;
}

TEST(StructureChoiceTest, VarianceFallsAsByTheDefinition) {
  const int64_t size = 7, n = 40, count = 12;
  const std::vector<double> candidates = Random(n * size, 1), others = Random(9 * size, 2);
  for (const double noise : {0.01, 3.0}) {
    for (const bool has_targets : {false, true}) {
      const std::vector<double>& targets = has_targets ? others : candidates;
      std::vector<Choice> one;
      for (const int threads : {1, 2}) {
        ThreadPool pool(threads);
        const auto found = ChooseByVariance(size, candidates, has_targets ? others : std::vector<double>(), noise,
                                            count, /*memory_limit=*/0, &pool);
        ASSERT_TRUE(found.ok()) << found.status();
        ASSERT_EQ(static_cast<int64_t>(found->size()), count);
        std::vector<int64_t> learned;
        double before = Variances(size, candidates, {}, targets, noise);
        for (const Choice& choice : *found) {
          // No other candidate lowers the variances more.
          for (int64_t j = 0; threads == 1 && j < n; ++j) {
            if (std::count(learned.begin(), learned.end(), j) > 0) continue;
            std::vector<int64_t> with = learned;
            with.push_back(j);
            EXPECT_LE(before - Variances(size, candidates, with, targets, noise), choice.score + 1e-10);
          }
          learned.push_back(choice.index);
          const double after = Variances(size, candidates, learned, targets, noise);
          EXPECT_NEAR(choice.score, before - after, 1e-10);
          before = after;
        }
        if (threads == 1) one = *found;
        for (size_t k = 0; k < one.size(); ++k) {
          EXPECT_EQ(one[k].index, (*found)[k].index);
          EXPECT_EQ(one[k].score, (*found)[k].score);
        }
      }
    }
  }
}

TEST(StructureChoiceTest, CopiesAreNotChosenTogether) {
  ThreadPool pool(1);
  // Two copies of a long row, a shorter one, and nothing.
  const std::vector<double> rows = {3, 0, 3, 0, 0, 1, 0, 0};
  const auto found = ChooseByVariance(2, rows, {}, 1e-6, 4, 0, &pool);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].index, 0);
  EXPECT_EQ((*found)[1].index, 2);
  EXPECT_EQ((*found)[2].index, 1);
  EXPECT_EQ((*found)[3].index, 3);
}

TEST(StructureChoiceTest, MemoryIsLimited) {
  ThreadPool pool(1);
  EXPECT_THAT(ChooseByVariance(1, Random(100, 1), {}, 1, 1, 79999, &pool).status(),
              ErrorNames(absl::StatusCode::kResourceExhausted, {"100 structures", "smaller pool"}));
  EXPECT_TRUE(ChooseByVariance(1, Random(100, 1), {}, 1, 1, 80000, &pool).ok());
}

std::vector<int64_t> Indices(const std::vector<Choice>& choices) {
  std::vector<int64_t> indices;
  for (const Choice& choice : choices) indices.push_back(choice.index);
  return indices;
}

TEST(StructureChoiceTest, FarthestFromTheOriginAndEachOther) {
  const std::vector<double> points = {1, 0, 5, 0, 4.5, 0, 0, -4, 0, 3};
  const std::vector<Choice> found = ChooseFarthest(2, points, 5);
  EXPECT_THAT(Indices(found), ElementsAre(1, 3, 4, 0, 2));
  EXPECT_DOUBLE_EQ(found[0].score, 5);
  EXPECT_DOUBLE_EQ(found[1].score, 4);
  EXPECT_DOUBLE_EQ(found[3].score, 1);
  EXPECT_DOUBLE_EQ(found[4].score, 0.5);
}

TEST(StructureChoiceTest, LargestAboveZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Indices(ChooseLargest({0.5, 2, 0, 2, nan, 0.1}, 4)), ElementsAre(4, 1, 3, 0));
  EXPECT_THAT(Indices(ChooseLargest({0, 1, 0}, 3)), ElementsAre(1));
  EXPECT_TRUE(ChooseLargest({}, 1).empty());
}

}  // namespace
}  // namespace rutile
