#include "lib/optimizer/schedule/schedule_options.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

ScheduleOptions OfKind(ScheduleKind kind) {
  ScheduleOptions options;
  options.kind = kind;
  return options;
}

TEST(ScheduleOptionsTest, Names) {
  for (const char* name : {"constant", "step", "multistep", "exponential", "linear", "cosine", "cosine_restarts",
                           "polynomial", "one_cycle", "plateau"}) {
    EXPECT_EQ(kScheduleNames.Name(kScheduleNames.Parse(name).value()), name);
  }
  EXPECT_EQ(kScheduleNames.Name(ScheduleKind::kPlateau), "plateau");
  EXPECT_THAT(std::string(kScheduleNames.Parse("cyclic").status().message()),
              HasSubstr("the choices are constant, step"));
  for (const char* name : {"cos", "linear"}) EXPECT_EQ(kAnnealNames.Name(kAnnealNames.Parse(name).value()), name);
  EXPECT_THAT(std::string(kAnnealNames.Parse("cosine").status().message()), HasSubstr("the choices are cos, linear"));
}

TEST(ScheduleOptionsTest, RefusesOptionsOutOfRange) {
  const auto message = [](ScheduleKind kind, void (*change)(ScheduleOptions*)) {
    ScheduleOptions options = OfKind(kind);
    change(&options);
    return std::string(CheckScheduleOptions(options).message());
  };
  using K = ScheduleKind;
  using O = ScheduleOptions;
  EXPECT_EQ(message(K::kConstant, [](O*) {}), "");
  EXPECT_EQ(message(K::kStep, [](O*) {}), "lr_period is 0, expected 1 or more");
  EXPECT_THAT(message(K::kCosineRestarts, [](O*) {}), ErrorNames({"lr_period", "0"}));
  EXPECT_THAT(message(K::kCosine, [](O* o) { o->period = -1; }), ErrorNames({"lr_period", "-1"}));
  EXPECT_THAT(message(K::kCosineRestarts, [](O* o) { o->period = 5, o->period_mult = 0; }),
              ErrorNames({"lr_period_mult"}));
  EXPECT_THAT(message(K::kMultistep, [](O*) {}), HasSubstr("needs milestones"));
  EXPECT_THAT(message(K::kMultistep, [](O* o) { o->milestones = {30, 20}; }), HasSubstr("30,20, expected rising"));
  EXPECT_THAT(message(K::kMultistep, [](O* o) { o->milestones = {0, 20}; }), HasSubstr("expected rising"));
  EXPECT_THAT(message(K::kExponential, [](O* o) { o->factor = 10.5; }), ErrorNames({"lr_factor", "0", "10"}));
  EXPECT_THAT(message(K::kStep, [](O* o) { o->factor = 1.5; }), ErrorNames({"lr_factor", "1.5"}));
  EXPECT_THAT(message(K::kPlateau, [](O* o) { o->factor = 1; }), HasSubstr("expected below 1"));
  EXPECT_THAT(message(K::kLinear, [](O* o) { o->start_factor = 1.1; }), ErrorNames({"lr_start_factor", "1.1"}));
  EXPECT_THAT(message(K::kLinear, [](O* o) { o->end_factor = -1; }), ErrorNames({"lr_end_factor", "-1"}));
  EXPECT_THAT(message(K::kPolynomial, [](O* o) { o->power = 0; }), ErrorNames({"lr_power", "0"}));
  EXPECT_THAT(message(K::kOneCycle, [](O* o) { o->pct_start = 30; }), ErrorNames({"lr_pct_start", "30", "0", "1"}));
  EXPECT_THAT(message(K::kOneCycle, [](O* o) { o->div_factor = 0; }), ErrorNames({"lr_div_factor", "0"}));
  EXPECT_THAT(message(K::kOneCycle, [](O* o) { o->final_div_factor = 0; }), ErrorNames({"lr_final_div_factor", "0"}));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->min_learning_rate = -1; }), ErrorNames({"min_learning_rate"}));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->warmup_start = 2; }), ErrorNames({"warmup_start"}));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->warmup_steps = -1; }), ErrorNames({"warmup_steps", "-1"}));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->warmup_steps = 3, o->warmup_epochs = 1; }),
              ErrorNames({"warmup_steps", "warmup_epochs", "3", "1"}));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->cooldown_epochs = -2; }), ErrorNames({"lr_cooldown_epochs", "-2"}));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->patience = -1; }), HasSubstr("patience"));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->threshold = 1; }), HasSubstr("threshold"));
  EXPECT_THAT(message(K::kConstant, [](O* o) { o->cooldown = -1; }), ErrorNames({"lr_plateau_cooldown", "-1"}));
}

TEST(ResolveScheduleTest, SpansTheRun) {
  for (const ScheduleKind kind :
       {ScheduleKind::kLinear, ScheduleKind::kCosine, ScheduleKind::kPolynomial, ScheduleKind::kOneCycle}) {
    ScheduleOptions options = OfKind(kind);
    const auto period = [&](int64_t max_epochs, int64_t max_steps) {
      return ResolveSchedule(options, max_epochs, max_steps, 7).value().period;
    };
    EXPECT_EQ(period(20, -1), 20);
    EXPECT_EQ(period(20, 70), 10);  // the limit that comes first
    EXPECT_EQ(period(20, 71), 11);  // the last epoch is not whole
    EXPECT_EQ(period(-1, 71), 11);
    EXPECT_EQ(period(20, 1000), 20);
    options.per_step = true;
    EXPECT_EQ(period(20, -1), 140);
    EXPECT_EQ(period(20, 71), 71);
    EXPECT_EQ(period(-1, 71), 71);
    options.period = 5;  // what is given stays
    EXPECT_EQ(period(20, 71), 5);
    EXPECT_EQ(period(-1, -1), 5);
  }
}

TEST(ResolveScheduleTest, CountsWarmupAndCoolDownInSteps) {
  ScheduleOptions options = OfKind(ScheduleKind::kCosine);
  options.warmup_epochs = 2;
  options.cooldown_epochs = 3;
  const ScheduleOptions resolved = ResolveSchedule(options, 20, 137, 7).value();
  EXPECT_EQ(resolved.warmup_steps, 14);
  EXPECT_EQ(resolved.warmup_epochs, 0);
  EXPECT_EQ(resolved.cooldown_steps, 21);
  EXPECT_EQ(resolved.cooldown_epochs, 0);
  EXPECT_EQ(resolved.cooldown_from_step, 116);
  EXPECT_EQ(resolved.cooldown_from_epoch, 16);
  EXPECT_EQ(resolved.period, 17);
  EXPECT_EQ(CheckScheduleOptions(resolved), absl::OkStatus());
}

TEST(ResolveScheduleTest, NeedsTheLengthOnlyOfWhatSpansTheRun) {
  ScheduleOptions options = OfKind(ScheduleKind::kStep);
  options.period = 3;
  options.warmup_epochs = 1;
  const absl::StatusOr<ScheduleOptions> resolved = ResolveSchedule(options, -1, -1, 7);
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->warmup_steps, 7);
  EXPECT_EQ(resolved->cooldown_from_step, -1);

  EXPECT_THAT(std::string(ResolveSchedule(OfKind(ScheduleKind::kOneCycle), -1, -1, 7).status().message()),
              ErrorNames({"one_cycle"}));
  options.cooldown_steps = 3;
  EXPECT_THAT(std::string(ResolveSchedule(options, -1, -1, 7).status().message()),
              HasSubstr("cool-down of the learning rate needs the length"));
}

TEST(ResolveScheduleTest, RefusesACoolDownAsLongAsTheRun) {
  ScheduleOptions options;
  options.cooldown_epochs = 10;
  EXPECT_EQ(ResolveSchedule(options, 10, -1, 7).status().message(),
            "lr schedule: the cool-down takes 70 steps, expected fewer than the 70 of the run");
  EXPECT_TRUE(ResolveSchedule(options, 11, -1, 7).ok());
}

TEST(ResolveScheduleTest, HugeLimitsDoNotOverflow) {
  ScheduleOptions options = OfKind(ScheduleKind::kCosine);
  options.per_step = true;
  EXPECT_EQ(ResolveSchedule(options, INT64_MAX, -1, 7).value().period, INT64_MAX);
  EXPECT_EQ(ResolveSchedule(options, INT64_MAX, 100, 7).value().period, 100);
  options.per_step = false;
  EXPECT_GT(ResolveSchedule(options, INT64_MAX, -1, 7).value().period, 1000000);
}

}  // namespace
}  // namespace rutile
