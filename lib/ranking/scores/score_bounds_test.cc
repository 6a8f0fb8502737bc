#include "lib/ranking/scores/score_bounds.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/matrix/bf16/bf16_number.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> Numbers(int64_t n, const char* purpose, double scale) {
  RandomStream stream(1, purpose);
  std::vector<float> values(n);
  for (float& x : values) x = static_cast<float>(scale * stream.Normal());
  return values;
}

TEST(ScoreBoundsTest, NormsAreNotBelowTheExactOnes) {
  ForEachTarget([] {
    for (const int64_t dim : {1, 3, 16, 31, 200, 1000}) {
      for (const double scale : {1.0, 1e-15, 1e-22, 1e-39, 1e15}) {
        constexpr int64_t kRows = 5;
        const std::vector<float> rows = Numbers(kRows * dim, "rows", scale);
        std::vector<float> rounded(kRows), rest(kRows);
        RowNorms(rows.data(), kRows, dim, rounded.data(), rest.data());
        for (int64_t i = 0; i < kRows; ++i) {
          double of_rounded = 0, of_rest = 0;
          for (int64_t k = 0; k < dim; ++k) {
            const float x = rows[i * dim + k];
            const double r = std::abs(x) < 1.2e-38f ? 0 : FromBf16(RoundToBf16(x));
            of_rounded += r * r;
            of_rest += (x - r) * (x - r);
          }
          EXPECT_GE(rounded[i], std::sqrt(of_rounded));
          EXPECT_GE(rest[i], std::sqrt(of_rest));
          if (scale < 1e-10) continue;
          EXPECT_LE(rounded[i], 1.02 * std::sqrt(of_rounded) + 1e-17);
          EXPECT_LE(rest[i], 1.02 * std::sqrt(of_rest) + 1e-17);
        }
      }
    }
  });
}

// Scores of rounded factors in the worst order: decided comparisons agree with the exact ones.
TEST(ScoreBoundsTest, DecidesOnlyWhatIsSure) {
  ForEachTarget([] {
    for (const int64_t dim : {1, 7, 16, 40, 200}) {
      constexpr int64_t kEntities = 301;
      std::vector<float> rows = Numbers(kEntities * dim, "rows", 1);
      const std::vector<float> hidden = Numbers(dim, "hidden", 3);
      std::vector<float> bias = Numbers(kEntities, "bias", 0.1);
      // An entity near the target: its copy with the last digit of one number changed.
      for (int64_t e = 0; e < 20; ++e) {
        for (int64_t k = 0; k < dim; ++k) rows[e * dim + k] = rows[k];
        rows[e * dim] *= 1 + static_cast<float>(e - 10) * 6e-8f;
        bias[e] = bias[0];
      }
      std::vector<float> rounded(kEntities), rest(kEntities), scores(kEntities);
      RowNorms(rows.data(), kEntities, dim, rounded.data(), rest.data());
      float norm = 0, norm_of_rest = 0;
      RowNorms(hidden.data(), 1, dim, &norm, &norm_of_rest);
      std::vector<double> exact(kEntities);
      for (int64_t e = 0; e < kEntities; ++e) {
        for (int64_t k = 0; k < dim; ++k) {
          const float x = rows[e * dim + k];
          exact[e] += static_cast<double>(hidden[k]) * x;
          scores[e] += FromBf16(RoundToBf16(hidden[k])) * FromBf16(RoundToBf16(x));
        }
        exact[e] += bias[e];
      }
      const auto target = static_cast<float>(exact[10]);
      const BoundedBlock block = {kEntities, dim, rows.data(), bias.data(), rounded.data(), rest.data()};
      const QueryBound bound = MakeQueryBound(norm, norm_of_rest, dim);
      int64_t greater = 0;
      std::vector<int32_t> undecided(kEntities + 16);
      int64_t count = CountDecided(block, scores.data(), bound, target, &greater, undecided.data());
      const auto check = [&] {
        int64_t expected = 0, at = 0;
        for (int64_t e = 0; e < kEntities; ++e) {
          if (at < count && undecided[at] == e) {
            ++at;
          } else {
            EXPECT_NE(exact[e], target) << e;
            expected += exact[e] > target ? 1 : 0;
          }
        }
        EXPECT_EQ(at, count) << "not ascending";
        EXPECT_EQ(greater, expected) << dim;
      };
      check();
      EXPECT_GE(count, 20);
      EXPECT_LT(count, kEntities / 2);
      count = CountDecidedByProducts(block, hidden.data(), bound, target, count, &greater, undecided.data());
      check();
      EXPECT_GE(count, 1);
      EXPECT_LE(count, 25);
    }
  });
}

TEST(ScoreBoundsTest, WhatIsNotFiniteIsUndecided) {
  ForEachTarget([] {
    constexpr int64_t kDim = 3;
    for (const float bad : {kInf, -kInf, std::nanf("")}) {
      std::vector<float> rows(20 * kDim, 1), bias(20), rounded(20), rest(20), scores(20, 3);
      rows[0] = bad;
      bias[17] = bad;
      scores[0] = bad;
      RowNorms(rows.data(), 20, kDim, rounded.data(), rest.data());
      const BoundedBlock block = {20, kDim, rows.data(), bias.data(), rounded.data(), rest.data()};
      const float hidden[] = {1, 1, 1};
      float norm = 0, norm_of_rest = 0;
      RowNorms(hidden, 1, kDim, &norm, &norm_of_rest);
      const QueryBound bound = MakeQueryBound(norm, norm_of_rest, kDim);
      int64_t greater = 0;
      std::vector<int32_t> undecided(36);
      int64_t count = CountDecided(block, scores.data(), bound, /*target=*/1, &greater, undecided.data());
      ASSERT_EQ(count, 2);
      count = CountDecidedByProducts(block, hidden, bound, /*target=*/1, count, &greater, undecided.data());
      ASSERT_EQ(count, 2);
      EXPECT_EQ(undecided[0], 0);
      EXPECT_EQ(undecided[1], 17);
      EXPECT_EQ(greater, 18);
      greater = 0;
      EXPECT_EQ(CountDecided(block, scores.data(), bound, std::nanf(""), &greater, undecided.data()), 20);
      EXPECT_EQ(CountDecided(block, scores.data(), {kInf, 0, 0}, 1, &greater, undecided.data()), 20);
      EXPECT_EQ(greater, 0);
    }
  });
}

}  // namespace
}  // namespace rutile
