#include "lib/trace/call_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>

namespace rutile {
namespace profile_internal {
namespace {

constexpr SamplerLimits kLimits = {/*sampled_below=*/20000, /*alone_above=*/100000000};

struct Outcome {
  int64_t truth = 0, estimate = 0;
  int timed = 0;
  double ratio() const { return static_cast<double>(estimate) / static_cast<double>(truth); }
};

// Simulates calls whose lengths `ticks` gives.
Outcome Simulate(int calls, const std::function<uint64_t(int)>& ticks) {
  CallSampler sampler;
  Outcome outcome;
  for (int i = 0; i < calls; ++i) {
    const uint64_t elapsed = ticks(i);
    outcome.truth += static_cast<int64_t>(elapsed);
    if (!sampler.WantsTime(/*outer_is=*/true, kLimits)) {
      sampler.Skipped();
      continue;
    }
    ++outcome.timed;
    outcome.estimate += sampler.Timed(elapsed, kLimits);
  }
  return outcome;
}

TEST(CallSamplerTest, LongCallsAreAllTimed) {
  const Outcome outcome = Simulate(5000, [](int i) { return 20000 + i; });
  EXPECT_EQ(outcome.timed, 5000);
  EXPECT_EQ(outcome.estimate, outcome.truth);
}

TEST(CallSamplerTest, FirstCallsAreAllTimed) {
  const Outcome outcome = Simulate(CallSampler::kTimedAtFirst, [](int i) { return i % 7; });
  EXPECT_EQ(outcome.timed, CallSampler::kTimedAtFirst);
  EXPECT_EQ(outcome.estimate, outcome.truth);
}

// One call is timed among as many as it is shorter than the limit; the last group may be incomplete.
TEST(CallSamplerTest, ShortCallsStandForOthers) {
  for (const int ticks : {1, 100, 2000, 5000, 10000}) {
    const Outcome outcome = Simulate(100000, [ticks](int) { return ticks; });
    const double one_in = std::min(1 + CallSampler::kMostSkipped / 2.0, 20000.0 / ticks);
    EXPECT_NEAR(100000.0 / outcome.timed, one_in, 0.15 * one_in) << ticks;
    EXPECT_NEAR(outcome.ratio(), 1, 1e-3) << ticks;
  }
}

TEST(CallSamplerTest, RhythmsAreNotMet) {
  for (const int period : {2, 3, 8, 16, 32}) {
    const Outcome outcome = Simulate(200000, [period](int i) { return i % period == 0 ? 6000 : 1000; });
    EXPECT_NEAR(outcome.ratio(), 1, 0.05) << period;
  }
}

// A twentieth of the calls take ten times as long; every thousandth is interrupted for 3 ms of 2 GHz.
TEST(CallSamplerTest, UnequalAndInterruptedCallsAreRightOnAverage) {
  std::mt19937 random(1);
  const Outcome unequal = Simulate(200000, [&](int) { return random() % 20 == 0 ? 20000 : 2000; });
  EXPECT_NEAR(unequal.ratio(), 1, 0.05);
  const Outcome interrupted = Simulate(400000, [&](int) { return 2000 + (random() % 1000 == 0 ? 6000000 : 0); });
  EXPECT_LT(interrupted.timed, 400000 / 5) << "they do not end sampling";
  EXPECT_NEAR(interrupted.ratio(), 1, 0.4);
}

// A call of a second is not multiplied.
TEST(CallSamplerTest, VeryLongCallsStandForThemselves) {
  CallSampler sampler;
  for (int i = 0; i < 1000; ++i) {
    sampler.WantsTime(true, kLimits) ? sampler.Timed(1000, kLimits) : (sampler.Skipped(), 0);
  }
  while (sampler.WantsTime(true, kLimits)) sampler.Timed(1000, kLimits);
  while (!sampler.WantsTime(true, kLimits)) sampler.Skipped();
  EXPECT_LE(sampler.Timed(2000000000, kLimits), 2000000000 + 1000 * CallSampler::kMostSkipped);
}

// A long stage inside a call represents itself, and not the calls that the surrounding call represents.
TEST(CallSamplerTest, WhatIsRegardedByItselfIsNotMultiplied) {
  CallSampler sampler;
  for (int i = 0; i < 1000; ++i) {
    sampler.WantsTime(true, kLimits) ? sampler.Timed(1000, kLimits) : (sampler.Skipped(), 0);
  }
  while (!sampler.WantsTime(true, kLimits)) sampler.Skipped();
  while (sampler.WantsTime(true, kLimits)) sampler.Timed(1000, kLimits);
  int skipped = 0;
  for (; !sampler.WantsTime(true, kLimits); ++skipped) sampler.Skipped();
  ASSERT_GT(skipped, 0);
  sampler.AddRegardedByItself(5000000);
  EXPECT_EQ(sampler.Timed(5001000, kLimits), 5000000 + 1000 * (1 + skipped));
}

TEST(CallSamplerTest, InsideOfUntimedCallsOnlyWhatIsLongOrNew) {
  CallSampler sampler;
  EXPECT_TRUE(sampler.WantsTime(/*outer_is=*/false, kLimits)) << "new";
  for (int i = 0; i < CallSampler::kTimedAtFirst; ++i) sampler.Timed(1000, kLimits);
  EXPECT_FALSE(sampler.WantsTime(/*outer_is=*/false, kLimits));
  EXPECT_TRUE(sampler.WantsTime(/*outer_is=*/true, kLimits));
  CallSampler long_one;
  for (int i = 0; i < CallSampler::kTimedAtFirst; ++i) long_one.Timed(30000, kLimits);
  EXPECT_TRUE(long_one.WantsTime(/*outer_is=*/false, kLimits));
}

}  // namespace
}  // namespace profile_internal
}  // namespace rutile
