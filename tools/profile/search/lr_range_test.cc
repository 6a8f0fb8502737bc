#include "tools/profile/search/lr_range.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::vector<double> Rates(int n) {
  std::vector<double> rates;
  for (int i = 0; i < n; ++i) rates.push_back(1e-8 * std::pow(10, 8.0 * i / (n - 1)));
  return rates;
}

// Returns a typical loss of a range test: flat, falling around 1e-4, rising steeply after 1e-2.
std::vector<double> Losses(const std::vector<double>& rates) {
  std::vector<double> losses;
  for (const double rate : rates) losses.push_back(0.2 + 0.8 / (1 + rate / 1e-4) + std::pow(rate / 3e-2, 2));
  return losses;
}

TEST(LrRangeTest, FindsWhereTheLossFallsMostSteeply) {
  const std::vector<double> rates = Rates(100);
  LrRangeOptions options;
  options.smoothing = 0;
  const auto range = FindLearningRate(rates, Losses(rates), options);
  ASSERT_TRUE(range.ok()) << range.status();
  // 1 / (1 + x) falls most steeply over log x at x = 1.
  EXPECT_NEAR(std::log10(range->suggestion), -4, 0.1);
  EXPECT_TRUE(range->diverged);
  EXPECT_LT(range->smoothed.size(), 100);
  EXPECT_GT(rates[range->lowest], range->suggestion);
  EXPECT_NEAR(range->highest, rates[range->lowest] / 10, 1e-15);
  EXPECT_GT(range->fall, 0.6);
}

// The average lags behind by about ten steps.
TEST(LrRangeTest, NoiseIsSmoothed) {
  const std::vector<double> rates = Rates(200);
  std::vector<double> losses = Losses(rates);
  for (size_t i = 0; i < losses.size(); ++i) losses[i] += i % 2 == 0 ? 0.05 : -0.05;
  const auto range = FindLearningRate(rates, losses);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_NEAR(std::log10(range->suggestion), -3.6, 0.5);
}

// Losses of batches differ by a third, so that the smoothed loss falls most steeply among the first, lucky ones.
TEST(LrRangeTest, LuckyBatchesAreNoFall) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<double> rates = Rates(100);
    std::vector<double> losses = Losses(rates);
    RandomStream random(seed, "losses", 0, 0);
    for (double& loss : losses) loss *= 1 + 0.3 * random.Normal();
    losses[0] *= 2;
    const auto range = FindLearningRate(rates, losses);
    ASSERT_TRUE(range.ok()) << seed << ": " << range.status();
    EXPECT_GT(range->suggestion, 1e-5) << seed;
    EXPECT_LT(range->suggestion, 2e-2) << seed;
  }
}

TEST(LrRangeTest, NothingIsSuggestedForNoiseAlone) {
  const std::vector<double> rates = Rates(100);
  RandomStream random(1, "losses", 0, 0);
  std::vector<double> losses;
  for (int i = 0; i < 100; ++i) losses.push_back(1 + 0.3 * random.Normal());
  EXPECT_THAT(FindLearningRate(rates, losses).status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"falls at no rate", "--lr_steps"}));
}

// A single step below the plateau has no slope.
TEST(LrRangeTest, ATenthOfTheLowestWhereTooFewStepsFall) {
  const std::vector<double> rates = Rates(30);
  std::vector<double> losses(30, 2.0);
  losses.back() = 1.9;
  const auto range = FindLearningRate(rates, losses);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_FALSE(range->has_slope);
  EXPECT_EQ(range->lowest, 29u);
  EXPECT_EQ(range->suggestion, rates[29] / 10);
}

TEST(LrRangeTest, TheAverageIsCorrectedForItsStart) {
  const std::vector<double> rates = Rates(30);
  std::vector<double> losses(30, 2.0);
  losses.back() = 1.9;
  const auto range = FindLearningRate(rates, losses);
  ASSERT_TRUE(range.ok());
  EXPECT_NEAR(range->smoothed[0], 2, 1e-12);
  EXPECT_NEAR(range->smoothed[20], 2, 1e-12);
}

TEST(LrRangeTest, ALossThatIsNotFiniteEndsTheCurve) {
  const std::vector<double> rates = Rates(50);
  std::vector<double> losses = Losses(rates);
  losses[30] = std::numeric_limits<double>::infinity();
  const auto range = FindLearningRate(rates, losses);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->smoothed.size(), 30);
  EXPECT_TRUE(range->diverged);
}

TEST(LrRangeTest, SaysWhyThereIsNoSuggestion) {
  const std::vector<double> rates = Rates(40);
  std::vector<double> rising, early(40, NAN);
  for (int i = 0; i < 40; ++i) rising.push_back(1 + 0.01 * i);
  early[0] = 1;
  const auto message = [&](const std::vector<double>& losses) {
    const auto range = FindLearningRate(rates, losses);
    EXPECT_EQ(range.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(range.status().message());
  };
  EXPECT_THAT(message(rising), HasSubstr("falls at no rate"));
  EXPECT_THAT(message(early), HasSubstr("diverges after 1 steps"));
}

TEST(LrRangeTest, RefusesWhatIsNoRangeTest) {
  const auto code = [](const std::vector<double>& rates, const std::vector<double>& losses,
                       LrRangeOptions options = {}) {
    return FindLearningRate(rates, losses, options).status().code();
  };
  using absl::StatusCode;
  EXPECT_EQ(code({1, 2}, {1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({1, 1}, {1, 1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({0, 1}, {1, 1}), StatusCode::kInvalidArgument);
  LrRangeOptions options;
  options.smoothing = 1;
  EXPECT_EQ(code({}, {}, options), StatusCode::kInvalidArgument);
  options = {};
  options.stop_threshold = 1;
  EXPECT_EQ(code({}, {}, options), StatusCode::kInvalidArgument);
  options = {};
  options.plateau = 1;
  EXPECT_EQ(code({}, {}, options), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({}, {}), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace rutile
