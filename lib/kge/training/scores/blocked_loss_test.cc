#include "lib/kge/training/scores/blocked_loss.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

struct Problem {
  int64_t queries, entities;
  std::vector<double> scores, bias;  // [Q, N], [N]
  std::vector<int64_t> positive_offset;
  std::vector<int32_t> positive;
  std::vector<double> base, extra;

  BlockLabels labels() const { return {positive_offset, positive, base, extra}; }
};

// Scores are exact in fp32, too. Labels add up to 1, as a softmax needs them.
Problem MakeProblem(int64_t queries, int64_t entities, double size) {
  Problem p{queries, entities, {}, {}, {0}, {}, {}, {}};
  RandomStream stream(3, "scores", queries, entities);
  for (int64_t i = 0; i < queries * entities; ++i) p.scores.push_back(static_cast<float>(size * stream.Normal()));
  for (int64_t i = 0; i < entities; ++i) p.bias.push_back(static_cast<float>(stream.Normal()));
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t k = 0; k < entities; ++k) {
      if (stream.Uniform() < 0.1 || k == q % entities) p.positive.push_back(k);
    }
    p.positive_offset.push_back(p.positive.size());
    const double count = p.positive_offset[q + 1] - p.positive_offset[q];
    p.base.push_back(0.1 / entities);
    p.extra.push_back(0.9 / count);
  }
  return p;
}

struct Result {
  std::vector<double> losses, gradients, bias_gradients;
};

double Label(const Problem& p, int64_t q, int64_t k) {
  const auto begin = p.positive.begin() + p.positive_offset[q], end = p.positive.begin() + p.positive_offset[q + 1];
  return p.base[q] + (std::find(begin, end, k) != end ? p.extra[q] : 0);
}

// Computes losses and gradients by their definitions.
Result Reference(const Problem& p, bool softmax, double scale) {
  Result r;
  r.bias_gradients.assign(p.entities, 0);
  for (int64_t q = 0; q < p.queries; ++q) {
    double loss = 0, max = -std::numeric_limits<double>::infinity(), sum = 0;
    const double* const row = p.scores.data() + q * p.entities;
    for (int64_t k = 0; k < p.entities; ++k) max = std::max(max, row[k] + p.bias[k]);
    for (int64_t k = 0; k < p.entities; ++k) sum += std::exp(row[k] + p.bias[k] - max);
    for (int64_t k = 0; k < p.entities; ++k) {
      const double x = row[k] + p.bias[k], label = Label(p, q, k);
      double gradient;
      if (softmax) {
        loss += label * (max + std::log(sum) - x);
        gradient = std::exp(x - max) / sum - label;
      } else {
        loss += scale * (std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))) - label * x);
        gradient = scale * (1 / (1 + std::exp(-x)) - label);
      }
      r.gradients.push_back(gradient);
      r.bias_gradients[k] += gradient;
    }
    r.losses.push_back(loss);
  }
  return r;
}

// Computes them in blocks of `size` entities, whose rows have `padding` unused numbers at their ends.
template <typename T>
Result Blocked(const Problem& p, bool softmax, double scale, int64_t size, int64_t padding) {
  Result r;
  r.losses.assign(p.queries, 0);
  r.gradients.assign(p.scores.size(), 0);
  std::vector<T> bias_gradient(p.entities, T(0));
  const std::vector<T> bias(p.bias.begin(), p.bias.end());
  std::vector<SoftmaxState> states(p.queries);
  for (const bool sums : {true, false}) {
    if (sums && !softmax) continue;
    for (int64_t first = 0; first < p.entities; first += size) {
      ScoreBlock<T> block;
      block.first = first;
      block.n = std::min(size, p.entities - first);
      block.stride = block.n + padding;
      std::vector<T> scores(p.queries * block.stride, T(77));
      for (int64_t q = 0; q < p.queries; ++q) {
        for (int64_t k = 0; k < block.n; ++k) {
          scores[q * block.stride + k] = static_cast<T>(p.scores[q * p.entities + first + k]);
        }
      }
      block.scores = scores.data();
      block.bias = bias.data() + first;
      block.bias_gradient = bias_gradient.data() + first;
      if (sums) {
        const std::vector<T> before = scores;
        SoftmaxSums(p.labels(), block, absl::MakeSpan(states));
        EXPECT_EQ(std::memcmp(scores.data(), before.data(), scores.size() * sizeof(T)), 0);
        continue;
      }
      if (softmax) {
        SoftmaxGradients(p.labels(), absl::MakeConstSpan(states), block);
      } else {
        BinaryCrossEntropy(p.labels(), scale, block, absl::MakeSpan(r.losses));
      }
      for (int64_t q = 0; q < p.queries; ++q) {
        for (int64_t k = 0; k < block.n; ++k) {
          r.gradients[q * p.entities + first + k] = scores[q * block.stride + k];
        }
        for (int64_t k = block.n; k < block.stride; ++k) EXPECT_EQ(scores[q * block.stride + k], T(77));
      }
    }
  }
  for (int64_t q = 0; softmax && q < p.queries; ++q) r.losses[q] = states[q].Loss();
  r.bias_gradients.assign(bias_gradient.begin(), bias_gradient.end());
  return r;
}

template <typename T>
class BlockedLossTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockedLossTest, Types);

// Sizes are below, at and above vectors, blocks, and the number of scores that are summed before they are added in
// fp64.
TYPED_TEST(BlockedLossTest, AgreesWithTheDefinitionForAnyBlocks) {
  using T = TypeParam;
  const double epsilon = std::numeric_limits<T>::epsilon();
  for (const bool softmax : {false, true}) {
    for (const int64_t entities : {1, 2, 7, 16, 33, 135, 1100}) {
      for (const double size : {0.01, 3.0, 40.0}) {
        const Problem p = MakeProblem(3, entities, size);
        const double scale = softmax ? 1 : 1.0 / entities;
        const Result expected = Reference(p, softmax, scale);
        ForEachTarget([&] {
          for (const int64_t block : {1, 5, 64, 600, 2000}) {
            if (block == 1 && entities > 100) continue;
            SCOPED_TRACE(std::to_string(softmax) + " " + std::to_string(entities) + " by " + std::to_string(block));
            const Result got = Blocked<T>(p, softmax, scale, block, block % 3);
            for (int64_t q = 0; q < p.queries; ++q) {
              ASSERT_NEAR(got.losses[q], expected.losses[q], 8 * epsilon * (1 + size + std::abs(expected.losses[q])));
            }
            for (size_t i = 0; i < got.gradients.size(); ++i) {
              ASSERT_NEAR(got.gradients[i], expected.gradients[i], (softmax ? 4 + 4 * size : 4.0) * scale * epsilon);
            }
            for (int64_t k = 0; k < entities; ++k) {
              ASSERT_NEAR(got.bias_gradients[k], expected.bias_gradients[k], (20 + 12 * size) * scale * epsilon);
            }
          }
        });
      }
    }
  }
}

// Scores are sure and right, sure and wrong, and beyond the range of e^x.
TYPED_TEST(BlockedLossTest, ScoresOfAnySizeAreExact) {
  using T = TypeParam;
  const double size = sizeof(T) == 4 ? 1e30 : 1e200;
  ForEachTarget([&] {
    Problem p{1, 4, {size, -size, 30, -30}, {0, 0, 0, 0}, {0, 2}, {1, 2}, {0}, {1}};
    Result r = Blocked<T>(p, false, 1, 4, 0);
    EXPECT_NEAR(r.losses[0] / (2 * size), 1, 1e-6);
    EXPECT_EQ(r.gradients[0], 1);
    EXPECT_EQ(r.gradients[1], -1);
    EXPECT_NEAR(r.gradients[2], 0, 1e-12);
    EXPECT_NEAR(r.gradients[3] / std::exp(-30.0), 1, 1e-6);

    p = {1, 3, {-30, -27, -25}, {0, 0, 0}, {0, 0}, {}, {0}, {1}};
    r = Blocked<T>(p, false, 1, 2, 0);
    EXPECT_NEAR(r.losses[0] / (std::exp(-25.0) + std::exp(-27.0) + std::exp(-30.0)), 1, 1e-6);  // no 1 + e swallows it

    p = {1, 3, {size, -size, size}, {0, 0, 0}, {0, 1}, {1}, {0}, {1}};
    r = Blocked<T>(p, true, 1, 1, 0);
    EXPECT_NEAR(r.losses[0] / (2 * size), 1, 1e-6);
    EXPECT_NEAR(r.gradients[0], 0.5, 1e-6);
    EXPECT_NEAR(r.gradients[1], -1, 1e-6);
  });
}

TYPED_TEST(BlockedLossTest, NaNIsSeen) {
  using T = TypeParam;
  ForEachTarget([] {
    for (const bool softmax : {false, true}) {
      for (int64_t bad = 0; bad < 20; ++bad) {
        Problem p = MakeProblem(2, 20, 1);
        p.scores[bad] = std::numeric_limits<double>::quiet_NaN();
        const Result r = Blocked<T>(p, softmax, 1, 20, 0);
        EXPECT_TRUE(std::isnan(r.losses[0]));
        EXPECT_TRUE(std::isnan(r.gradients[bad]));
        EXPECT_TRUE(std::isfinite(r.losses[1]));
        EXPECT_TRUE(std::isfinite(r.gradients[20]));
      }
    }
  });
}

TEST(BlockedLossDeathTest, LengthsMustAgree) {
  const Problem p = MakeProblem(2, 3, 1);
  std::vector<double> losses(1);
  EXPECT_DEATH(BinaryCrossEntropy(p.labels(), 1, ScoreBlock<float>(), absl::MakeSpan(losses)), "1 vs. 2");
}

}  // namespace
}  // namespace rutile
