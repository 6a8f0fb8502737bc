#include "tools/profile/search/tune_search.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using State = TuneOutcome::State;

// A machine whose trials take the requested time, and which may slow down meanwhile; gains multiply.
class FakeMachine {
 public:
  std::map<std::string, double> gains;         // of "name=value"
  std::map<std::string, absl::Status> errors;  // likewise
  double drift_per_s = 0;                      // relative
  double overhead_s = 0.2;
  double stop_at = 1e9;
  double clock = 0;
  std::vector<std::string> trials;

  absl::StatusOr<double> Measure(const TuneFlags& flags, double seconds) {
    if (clock >= stop_at) return absl::CancelledError("stopped");
    trials.push_back(TuneFlagsText(flags));
    clock += seconds + overhead_s;
    double rate = 1000 * (1 - drift_per_s * clock);
    for (const auto& [name, value] : flags) {
      const std::string text = name + "=" + value;
      if (errors.count(text) > 0) return errors[text];
      if (gains.count(text) > 0) rate *= gains[text];
    }
    return rate;
  }

  absl::StatusOr<TuneResult> Search(const std::vector<TuneChoice>& choices, double budget_s = 60) {
    TuneOptions options;
    options.budget_s = budget_s;
    options.overhead_s = overhead_s;
    options.now = [this] { return clock; };
    const TuneMeasure measure = [this](const TuneFlags& flags, double s) { return Measure(flags, s); };
    return SearchTune(choices, measure, options);
  }
};

TuneChoice Choice(const std::string& name, const std::string& value, bool allowed = true) {
  return {name, {{name, value}}, allowed, ""};
}

TEST(TuneSearchTest, RecommendsWhatGainsTogether) {
  FakeMachine machine;
  machine.gains = {{"a=1", 1.5}, {"a=2", 1.3}, {"b=1", 1.2}, {"c=1", 0.5}, {"d=1", 1.01}};
  const auto result =
      machine.Search({Choice("c", "1"), Choice("a", "2"), Choice("d", "1"), Choice("b", "1"), Choice("a", "1")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->recommended, (std::vector<int>{4, 3}));
  EXPECT_TRUE(result->confirmed);
  EXPECT_NEAR(result->recommended_gain, 1.8, 1e-9);
  EXPECT_NEAR(result->best_gain, 1.8, 1e-9);
  EXPECT_NEAR(result->outcomes[0].gain, 0.5, 1e-9);
  EXPECT_NEAR(result->baseline_rate, 1000, 1e-9);
  EXPECT_FALSE(result->interrupted);
  EXPECT_LE(machine.clock, 60);
}

// On a machine that slows down steadily later trials look slow, which baselines beside them cancel.
TEST(TuneSearchTest, DriftCancels) {
  FakeMachine machine;
  machine.drift_per_s = 0.004;
  machine.gains = {{"b=1", 1.1}};
  std::vector<TuneChoice> choices;
  for (int i = 0; i < 9; ++i) choices.push_back(Choice("n" + std::to_string(i), "1"));
  choices.push_back(Choice("b", "1"));
  const auto result = machine.Search(choices);
  ASSERT_TRUE(result.ok());
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(result->outcomes[i].gain, 1, 0.03) << i;
  EXPECT_NEAR(result->outcomes[9].gain, 1.1, 0.03);
}

TEST(TuneSearchTest, WhatIsNotAllowedIsMeasuredAlone) {
  FakeMachine machine;
  machine.gains = {{"a=1", 3.0}, {"b=1", 1.2}};
  const auto result = machine.Search({Choice("a", "1", /*allowed=*/false), Choice("b", "1")});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->recommended, std::vector<int>{1});
  EXPECT_NEAR(result->outcomes[0].gain, 3, 1e-9);
  EXPECT_NEAR(result->best_gain, 1.2, 1e-9);
}

TEST(TuneSearchTest, RefusedAndFailedChoicesAreToldOf) {
  FakeMachine machine;
  machine.errors = {{"a=1", absl::InvalidArgumentError("--a has no effect")}, {"b=1", absl::InternalError("crashed")}};
  const auto result = machine.Search({Choice("a", "1"), Choice("b", "1"), Choice("c", "1")});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->outcomes[0].state, State::kRefused);
  EXPECT_EQ(result->outcomes[0].message, "--a has no effect");
  EXPECT_EQ(result->outcomes[1].state, State::kFailed);
  EXPECT_EQ(result->outcomes[2].state, State::kMeasured);
  EXPECT_TRUE(result->recommended.empty());
  EXPECT_EQ(result->recommended_gain, 1);
}

// Two choices of the same kind gain together no more than one.
TEST(TuneSearchTest, WhatDoesNotGoTogetherIsLeftOut) {
  FakeMachine machine;
  machine.gains = {{"a=1", 1.5}, {"b=1", 1.4}};
  TuneOptions options;
  options.budget_s = 60;
  options.overhead_s = 0.2;
  options.now = [&] { return machine.clock; };
  const TuneMeasure measure = [&](const TuneFlags& flags, double s) -> absl::StatusOr<double> {
    absl::StatusOr<double> rate = machine.Measure(flags, s);
    if (rate.ok() && flags.size() == 2) *rate /= 1.5;
    return rate;
  };
  const auto result = SearchTune({Choice("a", "1"), Choice("b", "1")}, measure, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->recommended, std::vector<int>{0});
  EXPECT_NEAR(result->recommended_gain, 1.5, 1e-9);
}

TEST(TuneSearchTest, ABudgetThatIsTooSmallTriesWhatComesFirst) {
  FakeMachine machine;
  machine.overhead_s = 1;
  std::vector<TuneChoice> choices;
  for (int i = 0; i < 20; ++i) choices.push_back(Choice("n" + std::to_string(i), "1"));
  const auto result = machine.Search(choices, 15);
  ASSERT_TRUE(result.ok());
  EXPECT_LE(machine.clock, 15 + 1.3);
  EXPECT_EQ(result->outcomes[0].state, State::kMeasured);
  EXPECT_EQ(result->outcomes[19].state, State::kNotTried);
}

// The search may be stopped at any trial.
TEST(TuneSearchTest, TheBestSoFarWhenInterrupted) {
  for (double stop_at = 1; stop_at < 60; stop_at += 1) {
    FakeMachine machine;
    machine.gains = {{"a=1", 1.5}, {"b=1", 1.2}};
    machine.stop_at = stop_at;
    const auto result = machine.Search({Choice("a", "1"), Choice("b", "1"), Choice("c", "1"), Choice("d", "1")});
    ASSERT_TRUE(result.ok()) << stop_at;
    if (result->outcomes[0].state != State::kMeasured) continue;
    ASSERT_FALSE(result->recommended.empty()) << stop_at;
    EXPECT_EQ(result->recommended[0], 0) << stop_at;
    EXPECT_GT(result->recommended_gain, 1.4) << stop_at;
  }
  FakeMachine machine;
  machine.stop_at = 0;
  EXPECT_EQ(machine.Search({Choice("a", "1")}).status().code(), absl::StatusCode::kCancelled);
}

// A choice whose runs vary is not recommended, however fast some of them are.
TEST(TuneSearchTest, WhatVariesIsNotRecommended) {
  FakeMachine machine;
  TuneOptions options;
  options.budget_s = 60;
  options.overhead_s = 0.2;
  options.now = [&] { return machine.clock; };
  int trial = 0;
  const TuneMeasure measure = [&](const TuneFlags& flags, double s) -> absl::StatusOr<double> {
    absl::StatusOr<double> rate = machine.Measure(flags, s);
    // The choice is fast when it is screened, then in two of three runs.
    if (rate.ok() && !flags.empty()) *rate *= trial++ % 3 == 2 ? 0.5 : 1.4;
    return rate;
  };
  const auto result = SearchTune({Choice("a", "1")}, measure, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->recommended.empty());
  EXPECT_EQ(result->rejected, "a=1");
  EXPECT_GE(result->pairs.size(), 3);
  EXPECT_EQ(result->recommended_gain, 1);
}

// One bad run among many, which occurs on any machine, does not hide a gain.
TEST(TuneSearchTest, OneBadRunIsForgiven) {
  FakeMachine machine;
  TuneOptions options;
  options.budget_s = 100;
  options.overhead_s = 0.2;
  options.max_trial_s = 2;
  options.now = [&] { return machine.clock; };
  int trial = 0;
  const TuneMeasure measure = [&](const TuneFlags& flags, double s) -> absl::StatusOr<double> {
    absl::StatusOr<double> rate = machine.Measure(flags, s);
    if (rate.ok() && !flags.empty()) *rate *= ++trial == 4 ? 0.5 : 1.4;
    return rate;
  };
  const auto result = SearchTune({Choice("a", "1")}, measure, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->recommended, std::vector<int>{0});
  EXPECT_EQ(result->pairs.size(), 7);
  EXPECT_NEAR(result->recommended_gain, 1.4, 1e-9);
}

TEST(TuneSearchTest, ThriftWherePossible) {
  for (const auto& [gain, expected] : {std::pair{1.0, true}, {0.98, false}, {0.9, false}, {1.3, true}}) {
    FakeMachine machine;
    machine.gains = {{"threads=1", gain}, {"b=1", 1.2}};
    TuneChoice one = Choice("threads", "1");
    one.thrifty = true;
    const auto alone = machine.Search({one});
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(!alone->recommended.empty(), expected) << gain;
    EXPECT_EQ(alone->only_thrifty, gain == 1.0) << gain;
    const auto both = machine.Search({one, Choice("b", "1")});
    ASSERT_TRUE(both.ok());
    EXPECT_EQ(both->recommended.size(), expected ? 2 : 1) << gain;
    EXPECT_FALSE(both->only_thrifty);
    EXPECT_NEAR(both->recommended_gain, expected ? 1.2 * gain : 1.2, 1e-9) << gain;
  }
}

TEST(TuneSearchTest, NothingToTryIsNoError) {
  FakeMachine machine;
  const auto result = machine.Search({});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->recommended.empty());
  EXPECT_LT(machine.clock, 60);
}

}  // namespace
}  // namespace rutile
