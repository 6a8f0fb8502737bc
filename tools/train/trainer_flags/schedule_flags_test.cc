#include "tools/train/trainer_flags/schedule_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Flags = std::vector<std::pair<const char*, const char*>>;

// With these flags given, and no others.
absl::StatusOr<ScheduleOptions> Options(const Flags& flags) {
  const gflags::FlagSaver saver;
  for (const auto& [name, value] : flags) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
  return ScheduleOptionsFromFlags();
}

std::string Message(const Flags& flags) { return std::string(Options(flags).status().message()); }

TEST(ScheduleFlagsTest, EachFlagReachesItsOption) {
  EXPECT_EQ(Options({})->kind, ScheduleKind::kConstant);
  const auto multistep = Options({{"lr_scheduler", "multistep"}, {"lr_milestones", "30,60"}, {"lr_factor", "0.5"}});
  EXPECT_THAT(multistep->milestones, ElementsAre(30, 60));
  EXPECT_EQ(multistep->factor, 0.5);
  const auto linear = Options({{"lr_scheduler", "linear"}, {"lr_start_factor", "0.5"}, {"lr_end_factor", "0.1"}});
  EXPECT_EQ(linear->start_factor, 0.5);
  EXPECT_EQ(linear->end_factor, 0.1);
  const auto restarts = Options({{"lr_scheduler", "cosine_restarts"}, {"lr_period", "5"}, {"lr_period_mult", "2"}});
  EXPECT_EQ(restarts->period, 5);
  EXPECT_EQ(restarts->period_mult, 2);
  EXPECT_EQ(Options({{"lr_scheduler", "polynomial"}, {"lr_power", "2"}})->power, 2);
  const auto cycle = Options({{"lr_scheduler", "one_cycle"},
                              {"lr_pct_start", "0.2"},
                              {"lr_div_factor", "10"},
                              {"lr_final_div_factor", "100"},
                              {"lr_anneal", "linear"}});
  EXPECT_EQ(cycle->pct_start, 0.2);
  EXPECT_EQ(cycle->div_factor, 10);
  EXPECT_EQ(cycle->final_div_factor, 100);
  EXPECT_EQ(cycle->anneal, Anneal::kLinear);
  const auto plateau = Options({{"lr_scheduler", "plateau"},
                                {"lr_patience", "3"},
                                {"lr_threshold", "0.01"},
                                {"lr_plateau_cooldown", "2"},
                                {"min_learning_rate", "1e-6"}});
  EXPECT_EQ(plateau->patience, 3);
  EXPECT_EQ(plateau->threshold, 0.01);
  EXPECT_EQ(plateau->cooldown, 2);
  EXPECT_EQ(plateau->min_learning_rate, 1e-6);
  EXPECT_EQ(Options({{"warmup_steps", "7"}})->warmup_steps, 7);
  const auto ramps = Options({{"warmup_epochs", "7"}, {"warmup_start", "0.01"}, {"lr_cooldown_epochs", "3"}});
  EXPECT_EQ(ramps->warmup_epochs, 7);
  EXPECT_EQ(ramps->warmup_start, 0.01);
  EXPECT_EQ(ramps->cooldown_epochs, 3);
  EXPECT_EQ(Options({{"lr_cooldown_steps", "4"}})->cooldown_steps, 4);
}

// Flags that are not given leave the options at their defaults: what a run of an older version had.
TEST(ScheduleFlagsTest, DefaultsAreThoseOfTheOptions) {
  const ScheduleOptions given = *Options({}), expected;
  EXPECT_EQ(given.warmup_start, expected.warmup_start);
  EXPECT_EQ(given.factor, expected.factor);
  EXPECT_EQ(given.power, expected.power);
  EXPECT_EQ(given.pct_start, expected.pct_start);
  EXPECT_EQ(given.div_factor, expected.div_factor);
  EXPECT_EQ(given.final_div_factor, expected.final_div_factor);
  EXPECT_EQ(given.start_factor, expected.start_factor);
  EXPECT_EQ(given.end_factor, expected.end_factor);
  EXPECT_EQ(given.patience, expected.patience);
  EXPECT_EQ(given.threshold, expected.threshold);
}

TEST(ScheduleFlagsTest, OneCycleCountsStepsOfItself) {
  EXPECT_TRUE(Options({{"lr_scheduler", "one_cycle"}})->per_step);
  EXPECT_FALSE(Options({{"lr_scheduler", "one_cycle"}, {"lr_interval", "epoch"}})->per_step);
  EXPECT_FALSE(Options({{"lr_scheduler", "cosine"}})->per_step);
  EXPECT_TRUE(Options({{"lr_scheduler", "cosine"}, {"lr_interval", "step"}})->per_step);
  EXPECT_THAT(Message({{"lr_scheduler", "cosine"}, {"lr_interval", "batch"}}),
              HasSubstr("expected auto, epoch or step"));
}

TEST(ScheduleFlagsTest, RefusesWhatTheScheduleDoesNotUse) {
  const Flags given = {{"lr_interval", "step"},      {"lr_factor", "0.5"},
                       {"lr_period", "3"},           {"lr_period_mult", "2"},
                       {"lr_milestones", "3,4"},     {"lr_start_factor", "0.5"},
                       {"lr_end_factor", "0.5"},     {"lr_power", "2"},
                       {"lr_pct_start", "0.2"},      {"lr_div_factor", "10"},
                       {"lr_final_div_factor", "9"}, {"lr_anneal", "linear"},
                       {"lr_patience", "3"},         {"lr_threshold", "0.1"},
                       {"lr_plateau_cooldown", "3"}, {"min_learning_rate", "1e-5"}};
  const std::vector<std::pair<const char*, std::vector<std::string>>> used = {
      {"constant", {}},
      {"step", {"lr_interval", "lr_factor", "lr_period", "min_learning_rate"}},
      {"multistep", {"lr_interval", "lr_factor", "lr_milestones", "min_learning_rate"}},
      {"exponential", {"lr_interval", "lr_factor", "min_learning_rate"}},
      {"linear", {"lr_interval", "lr_period", "lr_start_factor", "lr_end_factor", "min_learning_rate"}},
      {"cosine", {"lr_interval", "lr_period", "min_learning_rate"}},
      {"cosine_restarts", {"lr_interval", "lr_period", "lr_period_mult", "min_learning_rate"}},
      {"polynomial", {"lr_interval", "lr_period", "lr_power", "min_learning_rate"}},
      {"one_cycle", {"lr_interval", "lr_period", "lr_pct_start", "lr_div_factor", "lr_final_div_factor", "lr_anneal"}},
      {"plateau", {"lr_factor", "lr_patience", "lr_threshold", "lr_plateau_cooldown", "min_learning_rate"}}};
  for (const auto& [schedule, uses] : used) {
    for (const auto& flag : given) {
      const bool is_used = std::find(uses.begin(), uses.end(), flag.first) != uses.end();
      const bool refused = Message({{"lr_scheduler", schedule}, flag}).find("has no effect") != std::string::npos;
      EXPECT_EQ(refused, !is_used) << schedule << " --" << flag.first;
    }
  }
  EXPECT_EQ(Message({{"lr_scheduler", "cosine"}, {"lr_power", "2"}}),
            "--lr_power has no effect with --lr_scheduler=cosine: leave it out");
}

TEST(ScheduleFlagsTest, RampsHaveTheirOwnRules) {
  EXPECT_EQ(Message({{"warmup_start", "0.1"}}),
            "--warmup_start has no effect without --warmup_steps or --warmup_epochs: leave it out");
  EXPECT_EQ(Message({{"warmup_start", "0.1"}, {"warmup_epochs", "1"}}), "");
  EXPECT_THAT(Message({{"warmup_steps", "3"}, {"warmup_epochs", "1"}}), HasSubstr("give one of them"));
  EXPECT_THAT(Message({{"lr_cooldown_steps", "3"}, {"lr_cooldown_epochs", "1"}}), HasSubstr("give one of them"));
  // The cool-down ends at min_learning_rate, whatever the schedule.
  EXPECT_EQ(Message({{"min_learning_rate", "1e-5"}, {"lr_cooldown_steps", "3"}}), "");
  EXPECT_EQ(Message({{"lr_scheduler", "one_cycle"}, {"min_learning_rate", "1e-5"}, {"lr_cooldown_epochs", "3"}}), "");
}

// A third has the same bits, however it is written; flag files of older versions have its decimals.
TEST(ScheduleFlagsTest, WarmupStartsWithAFraction) {
  EXPECT_EQ(gflags::GetCommandLineFlagInfoOrDie("warmup_start").default_value, "1/3");
  for (const char* third : {"1/3", "0.3333333333333333", "2/6"}) {
    const auto options = Options({{"warmup_steps", "2"}, {"warmup_start", third}});
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->warmup_start, 1.0 / 3) << third;
    EXPECT_EQ(options->warmup_start, ScheduleOptions().warmup_start);
  }
  EXPECT_EQ(Options({{"warmup_steps", "2"}, {"warmup_start", "3/4"}})->warmup_start, 0.75);
  for (const char* bad : {"", "a third", "1/", "/3", "1/3/3", "1/0", "1/-3", "-1/3", "4/3", "2", "-0.5", "nan"}) {
    EXPECT_THAT(Options({{"warmup_steps", "2"}, {"warmup_start", bad}}).status(),
                ErrorNames(absl::StatusCode::kInvalidArgument, {"warmup_start"}))
        << bad;
  }
}

TEST(ScheduleFlagsTest, RefusesBadValues) {
  EXPECT_THAT(Message({{"lr_scheduler", "cyclic"}}), HasSubstr("the choices are"));
  EXPECT_THAT(Message({{"lr_scheduler", "multistep"}}), HasSubstr("needs milestones"));
  EXPECT_EQ(Message({{"lr_scheduler", "multistep"}, {"lr_milestones", "30,6x"}}),
            "--lr_milestones=30,6x: \"6x\" is no whole number; expected a list as 30,60");
  EXPECT_THAT(Message({{"lr_scheduler", "multistep"}, {"lr_milestones", "30,,60"}}),
              HasSubstr("\"\" is no whole number"));
  EXPECT_THAT(Message({{"lr_scheduler", "one_cycle"}, {"lr_anneal", "cosine"}}), HasSubstr("cos, linear"));
}

}  // namespace
}  // namespace rutile
