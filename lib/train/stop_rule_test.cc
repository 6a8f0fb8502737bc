#include "lib/train/stop_rule.h"

#include <limits>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(StopRuleTest, EndsAtEpochs) {
  StopOptions options;
  options.max_epochs = 3;
  const StopRule rule(options);
  EXPECT_EQ(rule.AfterEpoch(2), "");
  EXPECT_EQ(rule.AfterEpoch(3), "max_epochs=3");
}

TEST(StopRuleTest, EndsAtStepsAndTime) {
  StopOptions options;
  options.max_steps = 10;
  options.max_time = absl::Minutes(2);
  const StopRule rule(options);
  EXPECT_EQ(rule.AfterStep(9, absl::Seconds(119)), "");
  EXPECT_EQ(rule.AfterStep(10, absl::ZeroDuration()), "max_steps=10");
  EXPECT_EQ(rule.AfterStep(1, absl::Seconds(120)), "max_time=2m");
  EXPECT_EQ(StopRule(StopOptions()).AfterStep(1 << 30, absl::Hours(10000)), "");
}

TEST(StopRuleTest, PatienceCountsValidationsInARow) {
  StopOptions options;
  options.patience = 2;
  options.min_delta = 0.1;
  StopRule rule(options);
  for (const double loss : {1.0, 0.95, 0.8, 0.75}) {  // bad, then better, then bad
    rule.Observe(loss);
    EXPECT_EQ(rule.AfterEpoch(1), "") << loss;
  }
  rule.Observe(0.71);  // 0.09 below the best is not enough
  EXPECT_THAT(rule.AfterEpoch(1), HasSubstr("no improvement in 2 validations (best 0.8)"));
}

TEST(StopRuleTest, StateSurvives) {
  StopOptions options;
  options.patience = 2;
  StopRule first(options);
  first.Observe(1);
  first.Observe(1);
  StopRule second(options);
  ASSERT_TRUE(second.SetState(first.State()).ok());
  EXPECT_EQ(second.AfterEpoch(1), "");
  second.Observe(1);
  EXPECT_NE(second.AfterEpoch(1), "");
  EXPECT_FALSE(second.SetState({}).ok());
}

TEST(StopRuleTest, RefusesOptionsOutOfRange) {
  const auto message = [](void (*change)(StopOptions*)) {
    StopOptions options;
    change(&options);
    return std::string(CheckStopOptions(options).message());
  };
  EXPECT_EQ(message([](StopOptions*) {}), "");
  EXPECT_THAT(message([](StopOptions* o) { o->max_epochs = 0; }), HasSubstr("max_epochs is 0"));
  EXPECT_THAT(message([](StopOptions* o) { o->max_steps = 0; }), HasSubstr("max_steps is 0"));
  EXPECT_THAT(message([](StopOptions* o) { o->max_time = absl::ZeroDuration(); }), HasSubstr("max_time is 0"));
  EXPECT_THAT(message([](StopOptions* o) { o->patience = -1; }), HasSubstr("patience is -1"));
  EXPECT_THAT(message([](StopOptions* o) { o->min_delta = std::numeric_limits<double>::quiet_NaN(); }),
              HasSubstr("min_delta is nan"));
}

}  // namespace
}  // namespace rutile
