#include "lib/train/options/stop_rule.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(StopRuleTest, EndsAtEpochs) {
  StopOptions options;
  options.max_epochs = 3;
  const StopRule rule(options);
  EXPECT_EQ(rule.Limit(2, 0, absl::ZeroDuration()), "");
  EXPECT_EQ(rule.Limit(3, 0, absl::ZeroDuration()), "max_epochs=3");
  options.max_epochs = -1;
  EXPECT_EQ(StopRule(options).Limit(1 << 30, 0, absl::ZeroDuration()), "");
}

TEST(StopRuleTest, EndsAtStepsAndTime) {
  StopOptions options;
  options.max_steps = 10;
  options.max_time = absl::Minutes(2);
  const StopRule rule(options);
  EXPECT_EQ(rule.Limit(0, 9, absl::Seconds(119)), "");
  EXPECT_FALSE(rule.LimitReached(9, absl::Seconds(119)));
  EXPECT_EQ(rule.Limit(0, 10, absl::ZeroDuration()), "max_steps=10");
  EXPECT_TRUE(rule.LimitReached(10, absl::ZeroDuration()));
  EXPECT_EQ(rule.Limit(0, 1, absl::Seconds(120)), "max_time=2m");
  EXPECT_TRUE(rule.LimitReached(1, absl::Seconds(120)));
  EXPECT_EQ(StopRule(StopOptions()).Limit(1, 1 << 30, absl::Hours(10000)), "");
  EXPECT_FALSE(StopRule(StopOptions()).LimitReached(1 << 30, absl::Hours(10000)));
}

TEST(StopRuleTest, PatienceCountsValidationsInARow) {
  StopOptions options;
  options.patience = 2;
  options.min_delta = 0.1;
  StopRule rule(options);
  for (const double loss : {1.0, 0.95, 0.8, 0.75}) {  // bad, then better, then bad
    rule.Observe(loss);
    EXPECT_EQ(rule.Early(1, 1), "") << loss;
  }
  rule.Observe(0.71);  // 0.09 below the best is not enough
  EXPECT_THAT(rule.Early(1, 1), HasSubstr("no improvement in 2 validations (best 0.8)"));
}

TEST(StopRuleTest, MoreCanBeBetter) {
  StopOptions options;
  options.patience = 2;
  options.divergence_threshold = 0.1;
  options.stopping_threshold = 0.9;
  StopRule rule(options, /*maximize=*/true);
  for (const double hits : {0.2, 0.1, 0.3, 0.25}) {
    rule.Observe(hits);
    EXPECT_EQ(rule.Early(1, 1), "") << hits;
  }
  rule.Observe(0.05);
  EXPECT_THAT(rule.Early(1, 1), HasSubstr("no improvement in 2 validations (best 0.3)"));
  rule.Observe(0.95);
  EXPECT_THAT(rule.Early(1, 1), HasSubstr("stopping_threshold=0.9 is reached (0.95)"));
}

TEST(StopRuleTest, Thresholds) {
  StopOptions options;
  options.divergence_threshold = 10;
  options.stopping_threshold = 0.5;
  StopRule rule(options);
  EXPECT_EQ(rule.Early(0, 0), "");  // nothing was seen yet
  rule.Observe(10);
  EXPECT_EQ(rule.Early(1, 1), "");
  rule.Observe(11);
  EXPECT_THAT(rule.Early(1, 1), HasSubstr("divergence_threshold=10 is passed (11)"));
  rule.Observe(0.5);
  EXPECT_THAT(rule.Early(1, 1), HasSubstr("stopping_threshold=0.5 is reached (0.5)"));
}

TEST(StopRuleTest, MinimaHoldBackEarlyStoppingAndNoLimit) {
  StopOptions options;
  options.patience = 1;
  options.min_epochs = 5;
  options.min_steps = 30;
  options.max_steps = 40;
  StopRule rule(options);
  rule.Observe(1);
  rule.Observe(1);
  EXPECT_EQ(rule.Early(4, 30), "");
  EXPECT_EQ(rule.Early(5, 29), "");
  EXPECT_NE(rule.Early(5, 30), "");
  EXPECT_EQ(rule.Limit(1, 40, absl::ZeroDuration()), "max_steps=40");
}

TEST(StopRuleTest, StateSurvives) {
  StopOptions options;
  options.patience = 2;
  options.divergence_threshold = 2;
  StopRule first(options);
  first.Observe(1);
  first.Observe(1);
  StopRule second(options);
  ASSERT_TRUE(second.SetState(first.State()).ok());
  EXPECT_EQ(second.Early(1, 1), "");
  second.Observe(1);
  EXPECT_NE(second.Early(1, 1), "");
  EXPECT_FALSE(second.SetState({}).ok());
  first.Observe(3);
  StopRule third(options);
  ASSERT_TRUE(third.SetState(first.State()).ok());
  EXPECT_NE(third.Early(1, 1), "");
}

TEST(StopRuleTest, SettingsReadTimes) {
  const Setting<StopOptions>& row = *FindSetting(StopSettings(), "max_time");
  StopOptions options;
  EXPECT_EQ(SettingText(row.Get(options)), "");
  EXPECT_EQ(SettingText(row.Record(options)), "inf");
  ASSERT_TRUE(row.Set("01:00:30:00", &options).ok());
  EXPECT_EQ(options.max_time, absl::Hours(24) + absl::Minutes(30));
  EXPECT_EQ(SettingText(row.Get(options)), "24h30m");
  EXPECT_THAT(row.Set("soon", &options), ErrorNames(absl::StatusCode::kInvalidArgument, {"DD:HH:MM:SS"}));
}

TEST(StopRuleTest, TheLengthOfARunIsItsEpochsAndSteps) {
  StopOptions options;
  options.max_epochs = 7;
  options.max_steps = 11;
  std::vector<std::string> rows;
  for (const Setting<StopOptions>& row : LengthSettings()) {
    rows.push_back(absl::StrCat(row.name, "=", SettingText(row.Get(options))));
  }
  EXPECT_THAT(rows, ::testing::ElementsAre("max_epochs=7", "max_steps=11"));
}

TEST(StopRuleTest, MinimaNeedEarlyStopping) {
  const Setting<StopOptions>& row = *FindSetting(StopSettings(), "min_epochs");
  StopOptions options;
  EXPECT_FALSE(row.HasEffect(options));
  EXPECT_TRUE(row.IsRecorded(options));
  options.stopping_threshold = 0.5;
  EXPECT_TRUE(row.HasEffect(options));
  EXPECT_FALSE(FindSetting(StopSettings(), "min_delta")->HasEffect(options));
  options.patience = 1;
  EXPECT_TRUE(FindSetting(StopSettings(), "min_delta")->HasEffect(options));
}

TEST(StopRuleTest, RefusesOptionsOutOfRange) {
  const auto message = [](void (*change)(StopOptions*)) {
    StopOptions options;
    change(&options);
    return std::string(CheckStopOptions(options).message());
  };
  EXPECT_EQ(message([](StopOptions*) {}), "");
  EXPECT_THAT(message([](StopOptions* o) { o->max_epochs = 0; }), ErrorNames({"max_epochs", "0"}));
  EXPECT_THAT(message([](StopOptions* o) { o->max_steps = 0; }), ErrorNames({"max_steps", "0"}));
  EXPECT_THAT(message([](StopOptions* o) { o->max_time = absl::ZeroDuration(); }), ErrorNames({"max_time", "0"}));
  EXPECT_THAT(message([](StopOptions* o) { o->patience = -1; }), ErrorNames({"patience", "-1"}));
  EXPECT_THAT(message([](StopOptions* o) { o->min_epochs = 1001; }), ErrorNames({"min_epochs", "1001"}));
  EXPECT_THAT(message([](StopOptions* o) { o->min_steps = -1; }), ErrorNames({"min_steps", "-1"}));
  EXPECT_THAT(message([](StopOptions* o) { o->stopping_threshold = std::numeric_limits<double>::infinity(); }),
              ErrorNames({"stopping_threshold", "inf"}));
  EXPECT_THAT(message([](StopOptions* o) { o->min_delta = std::numeric_limits<double>::quiet_NaN(); }),
              ErrorNames({"min_delta", "nan"}));
}

}  // namespace
}  // namespace rutile
