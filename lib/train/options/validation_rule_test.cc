#include "lib/train/options/validation_rule.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kSteps = 10;  // of an epoch

// Returns the steps of the run that validate, asking in the way the trainer does.
std::vector<int> Validations(const ValidationOptions& options, int epochs) {
  const ValidationRule rule(options, kSteps);
  std::vector<int> found;
  for (int step = 1; step <= epochs * kSteps; ++step) {
    const int epoch_steps = (step - 1) % kSteps + 1;
    const bool due = epoch_steps == kSteps
                         ? rule.AfterEpoch(step / kSteps, step, absl::ZeroDuration())
                         : rule.AfterStep((step - 1) / kSteps, epoch_steps, step, absl::ZeroDuration());
    if (due) found.push_back(step);
  }
  return found;
}

TEST(ValidationRuleTest, EndsOfEpochs) {
  EXPECT_THAT(Validations({}, 3), ElementsAre(10, 20, 30));
  EXPECT_FALSE(ValidationRule({}, kSteps).inside_epochs());
  ValidationOptions options;
  options.every_epochs = 2;
  EXPECT_THAT(Validations(options, 5), ElementsAre(20, 40));
}

TEST(ValidationRuleTest, SharesOfAnEpochEndWithIt) {
  ValidationOptions options;
  options.fraction = 0.5;
  EXPECT_THAT(Validations(options, 2), ElementsAre(5, 10, 15, 20));
  options.fraction = 0.3;
  EXPECT_THAT(Validations(options, 1), ElementsAre(3, 6, 9, 10));
  options.fraction = 0.29;
  EXPECT_TRUE(ValidationRule(options, 100).AfterStep(0, 29, 29, absl::ZeroDuration()));
  EXPECT_FALSE(ValidationRule(options, 100).AfterStep(0, 28, 28, absl::ZeroDuration()));
  options.fraction = 0.01;  // less than a step
  EXPECT_EQ(Validations(options, 1).size(), 10);
  options.fraction = 0.5;
  options.every_epochs = 2;
  EXPECT_THAT(Validations(options, 4), ElementsAre(15, 20, 35, 40));
}

TEST(ValidationRuleTest, StepsOfTheRunDoNotLookAtEpochs) {
  ValidationOptions options;
  options.every_steps = 7;
  EXPECT_THAT(Validations(options, 3), ElementsAre(7, 14, 21, 28));
  options.every_steps = 15;
  EXPECT_THAT(Validations(options, 3), ElementsAre(15, 30));
  EXPECT_TRUE(ValidationRule(options, kSteps).inside_epochs());
}

TEST(ValidationRuleTest, Time) {
  ValidationOptions options;
  options.every_time = absl::Seconds(5);
  EXPECT_THAT(Validations(options, 3), IsEmpty());
  const ValidationRule rule(options, kSteps);
  EXPECT_FALSE(rule.AfterStep(0, 1, 1, absl::Seconds(4.9)));
  EXPECT_TRUE(rule.AfterStep(0, 1, 1, absl::Seconds(5)));
  EXPECT_TRUE(rule.AfterEpoch(1, 10, absl::Seconds(5)));
}

TEST(ValidationRuleTest, TheFlagSetsOneOfThreeIntervals) {
  const Setting<ValidationOptions>& row = *FindSetting(ValidationSettings(), "val_check_interval");
  ValidationOptions options;
  EXPECT_EQ(SettingText(row.Get(options)), "1.0");
  EXPECT_FALSE(row.IsRecorded(options));
  for (const char* text : {"0.25", "500", "10m", "1.0"}) {
    ASSERT_TRUE(row.Set(text, &options).ok()) << text;
    EXPECT_EQ(SettingText(row.Get(options)), text);
    EXPECT_EQ(CheckValidationOptions(options), absl::OkStatus());
  }
  ASSERT_TRUE(row.Set("00:01:00:00", &options).ok());
  EXPECT_EQ(options.every_time, absl::Hours(1));
  for (const char* text : {"often", "2.5", "0", "0.0", "-5", "", "-1h"}) {
    EXPECT_THAT(row.Set(text, &options), ErrorNames(absl::StatusCode::kInvalidArgument, {"0.25", "500", "10m"}))
        << text;
  }
  EXPECT_EQ(options.every_time, absl::Hours(1)) << "what is refused changes nothing";
}

TEST(ValidationRuleTest, EpochsCountOnlyForAShare) {
  const Setting<ValidationOptions>& row = *FindSetting(ValidationSettings(), "check_val_every_n_epoch");
  ValidationOptions options;
  options.fraction = 0.5;
  EXPECT_TRUE(row.HasEffect(options));
  options = ValidationOptions();
  options.every_steps = 5;
  EXPECT_STREQ(row.Unmet(options)->names, "val_check_interval");
}

TEST(ValidationRuleTest, RefusesWhatExcludesEachOther) {
  const auto message = [](void (*change)(ValidationOptions*)) {
    ValidationOptions options;
    change(&options);
    return std::string(CheckValidationOptions(options).message());
  };
  EXPECT_EQ(message([](ValidationOptions*) {}), "");
  EXPECT_THAT(message([](ValidationOptions* o) { o->every_epochs = 0; }), HasSubstr("check_val_every_n_epoch is 0"));
  EXPECT_THAT(message([](ValidationOptions* o) { o->fraction = 1.5; }), HasSubstr("val_check_interval is 1.5"));
  EXPECT_THAT(message([](ValidationOptions* o) { o->every_steps = -1; }), HasSubstr("-1 steps"));
  EXPECT_THAT(message([](ValidationOptions* o) { o->every_time = absl::ZeroDuration(); }), HasSubstr("is 0, expected"));
  EXPECT_THAT(message([](ValidationOptions* o) {
                o->fraction = 0.5;
                o->every_steps = 5;
              }),
              HasSubstr("give one of them"));
  EXPECT_THAT(message([](ValidationOptions* o) {
                o->every_epochs = 2;
                o->every_steps = 5;
              }),
              HasSubstr("check_val_every_n_epoch=2 has no effect"));
}

}  // namespace
}  // namespace rutile
