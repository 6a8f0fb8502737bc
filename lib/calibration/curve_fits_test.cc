#include "lib/calibration/curve_fits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

struct Sample {
  std::vector<double> score, target, weight;
};

Sample RandomSample(int n, double scale, uint64_t seed) {
  Sample sample;
  RandomStream random(seed, "sample");
  for (int i = 0; i < n; ++i) {
    const double x = random.Normal();
    sample.score.push_back(scale * x + 3);
    sample.target.push_back(random.Uniform() < 1 / (1 + std::exp(-2 * x + 1)) ? 0.98 : 0.01);
    sample.weight.push_back(random.Uniform(0.5, 2));
  }
  return sample;
}

// At the largest likelihood both derivatives vanish, whatever the scale of the scores.
TEST(FitLogisticTest, DerivativesVanish) {
  for (const double scale : {1e-6, 1.0, 1e4}) {
    const Sample sample = RandomSample(300, scale, 1);
    double slope = 0, offset = 0, of_slope = 0, of_offset = 0;
    FitLogistic(sample.score, sample.target, sample.weight, &slope, &offset);
    for (size_t i = 0; i < sample.score.size(); ++i) {
      const double g = sample.weight[i] * (1 / (1 + std::exp(-slope * sample.score[i] - offset)) - sample.target[i]);
      of_slope += g * (sample.score[i] - 3) / scale;
      of_offset += g;
    }
    EXPECT_NEAR(of_slope, 0, 1e-7) << scale;
    EXPECT_NEAR(of_offset, 0, 1e-7) << scale;
    EXPECT_NEAR(slope * scale, 2, 0.6);
  }
}

TEST(FitLogisticTest, WeightsAreRepetitions) {
  const std::vector<double> score = {-1, 0, 1, 2}, target = {0.1, 0.6, 0.3, 0.9}, weight = {1, 2, 3, 1};
  Sample repeated;
  for (size_t i = 0; i < score.size(); ++i) {
    for (int k = 0; k < weight[i]; ++k) {
      repeated.score.push_back(score[i]);
      repeated.target.push_back(target[i]);
      repeated.weight.push_back(1);
    }
  }
  double a = 0, b = 0, c = 0, d = 0;
  FitLogistic(score, target, weight, &a, &b);
  FitLogistic(repeated.score, repeated.target, repeated.weight, &c, &d);
  EXPECT_NEAR(a, c, 1e-10);
  EXPECT_NEAR(b, d, 1e-10);
}

// Scores that say nothing, or the contrary, give the share of true answers.
TEST(FitLogisticTest, NeverFalls) {
  for (const std::vector<double>& score : {std::vector<double>{3, 2, 1, 0}, {1, 1, 1, 1}}) {
    double slope = 1, offset = 0;
    FitLogistic(score, {0.1, 0.2, 0.8, 0.9}, {1, 1, 1, 1}, &slope, &offset);
    EXPECT_EQ(slope, 0);
    EXPECT_NEAR(offset, 0, 1e-12);
  }
}

TEST(FitLogisticTest, SeparatedAnswersStayFinite) {
  double slope = 0, offset = 0;
  FitLogistic({-1e3, -2, 2, 1e3}, {0.25, 0.25, 0.75, 0.75}, {1, 1, 1, 1}, &slope, &offset);
  EXPECT_GT(slope, 0);
  EXPECT_TRUE(std::isfinite(slope) && std::isfinite(offset));
}

// The value at i is the largest, over starts up to i, of the smallest mean, over ends from i (Barlow et al. 1972).
TEST(FitIsotonicTest, EqualsTheDefinition) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "isotonic");
    Sample sample;
    for (int i = 0; i < 40; ++i) {
      sample.score.push_back(static_cast<double>(random.Below(15)));  // many are equal
      sample.target.push_back(random.Uniform() < 0.05 * sample.score.back() ? 1 : 0);
      sample.weight.push_back(random.Uniform(0.1, 1));
    }
    const Steps steps = FitIsotonic(sample.score, sample.target, sample.weight);
    const auto mean = [&](double low, double high) {
      double sum = 0, weight = 0;
      for (size_t i = 0; i < sample.score.size(); ++i) {
        if (sample.score[i] < low || sample.score[i] > high) continue;
        sum += sample.weight[i] * sample.target[i];
        weight += sample.weight[i];
      }
      return sum / weight;
    };
    for (const double score : sample.score) {
      double expected = -std::numeric_limits<double>::infinity();
      for (const double low : sample.score) {
        if (low > score) continue;
        double least = std::numeric_limits<double>::infinity();
        for (const double high : sample.score) {
          if (high >= score) least = std::min(least, mean(low, high));
        }
        expected = std::max(expected, least);
      }
      size_t step = 0;
      while (steps.last[step] < score) ++step;
      EXPECT_LE(steps.first[step], score);
      EXPECT_NEAR(steps.value[step], expected, 1e-12) << score;
    }
    EXPECT_TRUE(std::is_sorted(steps.value.begin(), steps.value.end()));
  }
}

}  // namespace
}  // namespace rutile
