#include "lib/train/resume_config.h"

#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/eager_options.h"
#include "lib/task/resume_rule.h"
#include "lib/task/sampling_policy.h"
#include "lib/testing/error_names.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// What tasks say of their options: rows of a table that belong to names, a choice of kernels, and two options that
// early versions did not record.
constexpr ResumeRule kRules[] = {
    {"names", ResumeRule::kDecidesLoss, "names", "other names: start a new run"},
    {"kernels", ResumeRule::kComputesOnly},
    {"species", ResumeRule::kDecidesLoss, "species"},
    {"order", ResumeRule::kDecidesLoss, "species"},
};

TEST(ResumeConfigTest, NoOverrideHelpsWhereTheTaskRefuses) {
  const TrainerOptions options;
  const std::string then = ResumeConfigJson(options, {{"names", "1"}, {"width", "1"}}),
                    now = ResumeConfigJson(options, {{"names", "2"}, {"width", "2"}});
  for (const std::string override : {"all", "names", "width"}) {
    EXPECT_EQ(CheckChanges(*ConfigChanges(then, now, kRules), {override}),
              absl::FailedPreconditionError("other names: start a new run"));
  }
  EXPECT_EQ(CheckChanges(*ConfigChanges(then, then, kRules), {}), absl::OkStatus());
  EXPECT_EQ(CheckChanges(*ConfigChanges(then, now), {"all"}), absl::OkStatus()) << "of a task without such a rule";
}

TEST(ResumeConfigTest, TheRecordedLengthIsNotCompared) {
  const TrainerOptions options;
  const std::string then = ResumeConfigJson(options, {{"potential", "many-body"}, {"default_epochs", "200"}}),
                    longer = ResumeConfigJson(options, {{"potential", "many-body"}, {"default_epochs", "300"}}),
                    other = ResumeConfigJson(options, {{"width", "1"}});
  EXPECT_TRUE(ConfigChanges(then, longer)->empty());
  EXPECT_THAT(CheckSameConfig(then, other).message(),
              AllOf(HasSubstr("potential is not set"), Not(HasSubstr("default_epochs"))));
  EXPECT_THAT(CheckOverrides(then, other, {"default_epochs"}).message(), HasSubstr("is no option"));
}

TEST(ResumeConfigTest, OptionsThatAnEarlyVersionDidNotRecord) {
  const auto record = [](const std::map<std::string, std::string>& task) {
    return ResumeConfigJson(TrainerOptions(), task);
  };
  const std::string early = record({{"width", "1"}}),
                    now = record({{"width", "1"}, {"names", "2"}, {"species", "Ti"}, {"order", "3"}});
  EXPECT_EQ(CheckSameConfig(early, now, kRules), absl::OkStatus());
  EXPECT_FALSE(CheckSameConfig(early, now).ok());
  // A version that recorded species recorded the order where it was not the default.
  const absl::Status status = CheckSameConfig(record({{"width", "1"}, {"species", "Ti"}}), now, kRules);
  EXPECT_THAT(status, ErrorNames(absl::StatusCode::kFailedPrecondition, {"order", "3", "not set"}));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("names")));
}

TEST(ResumeConfigTest, NamesWhatDiffers) {
  TrainerOptions then, now;
  EXPECT_EQ(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)), absl::OkStatus());
  now.batch_size = 64;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("batch_size is 64, but the run to resume has 32"));
  now = then;
  now.optimizer = DefaultOptimizerOptions("sgd").value();
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("optimizer is \"sgd\", but the run to resume has \"adam\""));
  now = then;
  now.sampling_policy = SamplingPolicy::kEnergyWeighted;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("sampling_policy is \"energy_weighted\", but the run to resume has not set"));
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(now), ResumeConfigJson(then)).message()),
              HasSubstr("sampling_policy is not set, but the run to resume has \"energy_weighted\""));
  now = then;
  now.eager.precision = Precision::kBf16Mixed;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("precision is \"bf16-mixed\", but the run to resume has not set"));
  now = then;
  now.eager.matmul = FactorRounding::kTwoParts;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("float32_matmul_precision is \"high\", but the run to resume has not set"));
  now = then;
  now.bucket_by_size = true;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("bucket_window is 50, but the run to resume has not set"));
  now = then;
  now.optimizer.epsilon = 1e-9;
  EXPECT_FALSE(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).ok());
  now = then;
  now.schedule.kind = ScheduleKind::kExponential;
  EXPECT_FALSE(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).ok());
  now = then;
  now.groups.decay_biases = false;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("weight_decay_biases is false, but the run to resume has not set"));
  now = then;
  now.groups.lazy_rows = true;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("lazy_rows is true, but the run to resume has not set"));
  now = then;
  now.groups.groups = ParseParameterGroups("network.*:lr_scale=2", now.optimizer).value();
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
              HasSubstr("parameter_groups is [{\"parameters\":\"network.*\",\"optimizer\":\"adam\","));
  EXPECT_EQ(CheckSameConfig(ResumeConfigJson(now), ResumeConfigJson(now)), absl::OkStatus());
  TrainerOptions turns = now;
  turns.groups.alternate_steps = 5;
  EXPECT_THAT(std::string(CheckSameConfig(ResumeConfigJson(now), ResumeConfigJson(turns)).message()),
              HasSubstr("alternate_groups is 5, but the run to resume has not set"));
  EXPECT_FALSE(CheckSameConfig("{", ResumeConfigJson(now)).ok());
  EXPECT_THAT(
      std::string(CheckSameConfig(ResumeConfigJson(then, {{"loss", "mse"}}), ResumeConfigJson(then, {{"loss", "rmse"}}))
                      .message()),
      HasSubstr("loss is \"rmse\", but the run to resume has \"mse\""));
}

// A group's learning rate may change like the run's, which it may be a multiple of.
TEST(ResumeConfigTest, RatesOfGroupsMayChange) {
  const auto config = [](double rate, absl::string_view groups) {
    TrainerOptions options;
    options.optimizer.learning_rate = rate;
    options.groups.groups = ParseParameterGroups(groups, options.optimizer).value();
    return ResumeConfigJson(options);
  };
  constexpr char kGroups[] = "Ti.*:lr_scale=0.5;O.*:learning_rate=0.125,weight_decay=0.25";
  const std::string then = config(0.5, kGroups);
  const std::vector<ConfigChange> rates = ConfigChanges(then, config(0.25, kGroups)).value();
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_EQ(rates[0].name, "learning_rate");
  EXPECT_EQ(rates[1].name, "parameter_groups");
  EXPECT_EQ(rates[1].before, "Ti.*:learning_rate=0.25");
  EXPECT_EQ(rates[1].after, "Ti.*:learning_rate=0.125");
  EXPECT_EQ(CheckChanges(rates, {}), absl::OkStatus());
  EXPECT_FALSE(PartsToReset(rates).optimizer);
  EXPECT_TRUE(PartsToReset(rates).finished);
  // What else differs is told alone, and needs to be asked for.
  const std::vector<ConfigChange> decay =
      ConfigChanges(then, config(0.5, "Ti.*:lr_scale=1;O.*:learning_rate=0.125,weight_decay=0.75")).value();
  EXPECT_EQ(ForbiddenChanges(decay, {}),
            "parameter_groups is Ti.*:learning_rate=0.5;O.*:weight_decay=0.75, but the run to resume has "
            "Ti.*:learning_rate=0.25;O.*:weight_decay=0.25");
  EXPECT_EQ(ForbiddenChanges(decay, {"parameter_groups"}), "");
  EXPECT_TRUE(PartsToReset(decay).optimizer);
  const std::vector<ConfigChange> others = ConfigChanges(then, config(0.5, "Ti.*:lr_scale=0.5")).value();
  EXPECT_EQ(ForbiddenChanges(others, {}), "parameter_groups is Ti.*, but the run to resume has Ti.*;O.*");
  const std::vector<ConfigChange> kind =
      ConfigChanges(then, config(0.5, "Ti.*:lr_scale=0.5;O.*:optimizer=sgd,learning_rate=0.125,weight_decay=0.25"))
          .value();
  EXPECT_THAT(ForbiddenChanges(kind, {}), HasSubstr("optimizer=sgd"));
  EXPECT_THAT(ForbiddenChanges(kind, {}), HasSubstr("beta1 not set"));
}

TEST(ResumeConfigTest, GroupsAreReadBack) {
  TrainerOptions options;
  EXPECT_TRUE(GroupsOfConfig(ResumeConfigJson(options))->empty());
  options.groups.groups = ParseParameterGroups("Ti.*:beta1=0.5;O.*:lr_scale=2", options.optimizer).value();
  const std::vector<GroupOfConfig> groups = GroupsOfConfig(ResumeConfigJson(options)).value();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].glob, "Ti.*");
  EXPECT_EQ(groups[0].numbers.at("beta1"), 0.5);
  EXPECT_EQ(groups[1].numbers.at("beta1"), options.optimizer.beta1);
  for (const char* bad : {"", "[]", "{\"parameter_groups\":1}", "{\"parameter_groups\":[{\"parameters\":1}]}"}) {
    EXPECT_EQ(GroupsOfConfig(bad).status().code(), absl::StatusCode::kFailedPrecondition) << bad;
  }
}

// LibTorch's mixed precision goes on with the kernels' own, and the reverse, as other runs do when --compile_mode
// changes.
TEST(ResumeConfigTest, MixedPrecisionIsOneSettingWhoeverHasIt) {
  TrainerOptions exact, eager;
  eager.eager.precision = Precision::kBf16Mixed;
  const std::map<std::string, std::string> fp32 = {{"precision", "fp32"}}, bf16 = {{"precision", "bf16-mixed"}};
  const std::string by_libtorch = ResumeConfigJson(eager, fp32), by_kernels = ResumeConfigJson(exact, bf16);
  EXPECT_EQ(CheckSameConfig(by_libtorch, by_kernels), absl::OkStatus());
  EXPECT_EQ(CheckSameConfig(by_kernels, by_libtorch), absl::OkStatus());
  for (const std::string& mixed : {by_libtorch, by_kernels}) {
    EXPECT_THAT(std::string(CheckSameConfig(mixed, ResumeConfigJson(exact, fp32)).message()),
                AllOf(HasSubstr("precision is \"fp32\", but the run to resume has \"bf16-mixed\""),
                      HasSubstr("--override=precision to go on")));
  }
}

// So is any other option that the trainer and the task both have, also where one run's task does not write it.
TEST(ResumeConfigTest, AnOptionOfTrainerAndTaskIsOneSetting) {
  TrainerOptions plain, eager;
  eager.eager.matmul = FactorRounding::kTwoParts;
  const std::map<std::string, std::string> task = {{"loss", "mse"}},
                                           high = {{"loss", "mse"}, {"float32_matmul_precision", "high"}};
  const std::string by_libtorch = ResumeConfigJson(eager, task), by_kernels = ResumeConfigJson(plain, high);
  EXPECT_EQ(CheckSameConfig(by_libtorch, by_kernels), absl::OkStatus());
  EXPECT_EQ(CheckSameConfig(by_kernels, by_libtorch), absl::OkStatus());
  EXPECT_THAT(std::string(CheckSameConfig(by_kernels, ResumeConfigJson(plain, task)).message()),
              HasSubstr("float32_matmul_precision is not set, but the run to resume has \"high\""));
}

// As older versions wrote it: a run of theirs can be resumed.
TEST(ResumeConfigTest, DefaultsAddNothing) {
  TrainerOptions options;
  EXPECT_EQ(ResumeConfigJson(options),
            "{\"seed\":0,\"batch_size\":32,\"shuffle\":true,\"gradient_clip_val\":0.0,\"optimizer\":\"adam\","
            "\"learning_rate\":0.001,\"weight_decay\":0.0,\"beta1\":0.9,\"beta2\":0.999,\"epsilon\":1e-08,"
            "\"lr_scheduler\":\"constant\",\"warmup_steps\":0,\"warmup_start\":0.3333333333333333}");
}

TEST(ResumeConfigTest, ChangesAreAllTold) {
  TrainerOptions then, now;
  now.batch_size = 64;
  now.seed = 3;
  now.optimizer.learning_rate = 0.5;
  now.bucket_by_size = true;
  now.bucket_window = 5;
  const std::vector<ConfigChange> changes =
      ConfigChanges(ResumeConfigJson(then, {{"loss", "mse"}}), ResumeConfigJson(now, {{"loss", "rmse"}})).value();
  std::vector<std::string> names;
  for (const ConfigChange& change : changes) names.push_back(change.name);
  EXPECT_THAT(names, ElementsAre("seed", "batch_size", "bucket_window", "learning_rate", "loss"));
  EXPECT_EQ(changes[2].before, "not set");
  EXPECT_EQ(changes[2].after, "5");
  EXPECT_FALSE(changes[3].of_task);
  EXPECT_TRUE(changes[4].of_task);
  // The learning rate needs no leave.
  EXPECT_EQ(
      CheckChanges(changes, {}).message(),
      "seed is 3, but the run to resume has 0; batch_size is 64, but the run to resume has 32; bucket_window is 5, "
      "but the run to resume has not set; loss is \"rmse\", but the run to resume has \"mse\"; give the same, or "
      "--override=seed,batch_size,bucket_window,loss to go on all the same, or start a new run");
  EXPECT_THAT(std::string(CheckChanges(changes, {"seed", "loss"}).message()),
              HasSubstr("or --override=batch_size,bucket_window to"));
  EXPECT_EQ(CheckChanges(changes, {"all"}), absl::OkStatus());
  EXPECT_EQ(CheckChanges(changes, {"seed", "loss", "batch_size", "bucket_window"}), absl::OkStatus());
}

// What the tool made of its inputs counts like what the task says, and nothing else does.
TEST(ResumeConfigTest, TheCallersSettingsArePartOfTheConfig) {
  TrainerOptions then, now;
  now.config["config_weights"] = "bulk=2";
  const std::string before = ResumeConfigJson(then, {{"loss", "mse"}});
  const std::vector<ConfigChange> changes = ConfigChanges(before, ResumeConfigJson(now, {{"loss", "mse"}})).value();
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].before, "not set");
  EXPECT_EQ(changes[0].after, "\"bulk=2\"");
  EXPECT_TRUE(PartsToReset(changes).judgment);
  EXPECT_EQ(CheckOverrides(before, ResumeConfigJson(now, {{"loss", "mse"}}), {"config_weights"}), absl::OkStatus());
  EXPECT_EQ(ResumeConfigJson(now), ResumeConfigJson(TrainerOptions(), {{"config_weights", "bulk=2"}}));
  // The task's rules hold for them, too.
  then.config = {{"species", "Ti,O"}, {"order", "4"}};
  EXPECT_THAT(ConfigChanges(before, ResumeConfigJson(then, {{"loss", "mse"}}), kRules).value(), ::testing::IsEmpty());
  now.config = {{"species", "O,Ti"}};
  EXPECT_EQ(ConfigChanges(ResumeConfigJson(then), ResumeConfigJson(now)).value().size(), 2);
}

TEST(ResumeConfigTest, OverridesThatNameNothing) {
  const std::string then = ResumeConfigJson(TrainerOptions(), {{"loss", "mse"}});
  EXPECT_EQ(CheckOverrides(then, then, {"loss", "seed", "data", "all"}), absl::OkStatus());
  EXPECT_EQ(CheckOverrides(then, then, {"bach_size"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(CheckOverrides(then, then, {"bach_size"}).message()), HasSubstr("batch_size"));
}

// More of them than a small object holds without moving.
TEST(ResumeConfigTest, OverridesOfManyOptions) {
  std::map<std::string, std::string> task;
  for (int i = 0; i < 100; ++i) task[absl::StrCat("an_option_of_the_task_", i)] = "1";
  const std::string then = ResumeConfigJson(TrainerOptions(), task);
  for (const auto& [name, value] : task) EXPECT_EQ(CheckOverrides(then, then, {name}), absl::OkStatus());
  const absl::Status status = CheckOverrides(then, then, {"no_option"});
  for (const auto& [name, value] : task) EXPECT_THAT(std::string(status.message()), HasSubstr(name));
}

TEST(ResumeConfigTest, WhatBeginsAnew) {
  const auto parts = [](std::initializer_list<ConfigChange> changes) {
    const ResetOnResume p = PartsToReset(changes);
    return absl::StrCat(p.epoch ? "epoch " : "", p.loss ? "loss " : "", p.optimizer ? "optimizer " : "",
                        p.schedule ? "schedule " : "", p.judgment ? "judgment " : "", p.ema ? "ema " : "",
                        p.average_best ? "average " : "", p.task ? "task " : "");
  };
  EXPECT_FALSE(PartsToReset({}).finished);
  const std::vector<ConfigChange> rate = {{"learning_rate", "1", "2"}};  // any change may give more to do
  EXPECT_TRUE(PartsToReset(rate).finished);
  EXPECT_EQ(parts({}), "");
  EXPECT_EQ(parts({{"learning_rate", "1", "2"}, {"min_learning_rate", "1", "2"}, {"beta1", "1", "2"}}), "");
  EXPECT_EQ(parts({{"batch_size", "1", "2"}}), "epoch ");
  EXPECT_EQ(parts({{"optimizer", "\"adam\"", "\"sgd\""}}), "optimizer ");
  EXPECT_EQ(parts({{"lr_scheduler", "1", "2"}}), "schedule ");
  EXPECT_EQ(parts({{"lr_decay", "1", "2"}}), "");  // adagrad's
  EXPECT_EQ(parts({{"ema_decay", "1", "2"}}), "");
  EXPECT_EQ(parts({{"ema_decay", "not set", "2"}}), "ema ");
  EXPECT_EQ(parts({{"average_best", "1", "2"}}), "average ");
  EXPECT_EQ(parts({{"monitor", "1", "2"}}), "judgment ");
  EXPECT_EQ(parts({{"loss", "1", "2", /*of_task=*/true}}), "epoch loss judgment ");
  EXPECT_EQ(parts({{"data", "", "other"}}), "epoch loss judgment task ");
  EXPECT_EQ(parts({{"precision", "1", "2"}}), "optimizer ");
  EXPECT_EQ(parts({{"precision", "1", "2", /*of_task=*/true}}), "epoch loss optimizer judgment ");
  EXPECT_EQ(parts({{"parameter_groups", "1", "2"}}), "optimizer ");
  EXPECT_EQ(parts({{"kernels", "1", "2", /*of_task=*/true, &kRules[1]}}), "judgment task ");
  EXPECT_EQ(parts({{"order", "1", "2", /*of_task=*/true, &kRules[3]}}), "epoch loss judgment ");
  EXPECT_EQ(parts({{"rank_sample", "1", "2", /*of_task=*/true}}), "judgment ");
  EXPECT_EQ(parts({{"rank_sample", "1", "2", /*of_task=*/true}, {"loss", "1", "2", /*of_task=*/true}}),
            "epoch loss judgment ");
}

TEST(ResumeConfigTest, KnowsRunsThatValidateOnASample) {
  TrainerOptions options;
  EXPECT_FALSE(SamplesValidation(ResumeConfigJson(options, {{"loss", "mse"}})));
  EXPECT_FALSE(SamplesValidation("no JSON"));
  options.config = {{"rank_sample", "5"}};
  EXPECT_TRUE(SamplesValidation(ResumeConfigJson(options, {{"loss", "mse"}})));
  options.config.clear();
  options.limit_val_batches.batches = 1;
  EXPECT_TRUE(SamplesValidation(ResumeConfigJson(options)));
}

// A run of an older version, which had its own names for the length that exp's decay follows.
TEST(ResumeConfigTest, OlderNamesOfTheLengthOfTheRun) {
  TrainerOptions options;
  options.ema = EmaOptions();
  options.ema->type = EmaDecay::kExponential;
  options.stop.max_epochs = 20;
  const std::string now = ResumeConfigJson(options);
  std::string then = absl::StrReplaceAll(now, {{"max_epochs", "ema_max_epochs"}, {"max_steps", "ema_max_steps"}});
  ASSERT_NE(then, now);
  EXPECT_EQ(CheckSameConfig(then, now), absl::OkStatus());
  EXPECT_EQ(CheckSameConfig(now, then), absl::OkStatus());
  then = absl::StrReplaceAll(then, {{":20", ":10"}});
  const absl::Status status = CheckSameConfig(then, now);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("max_epochs is 20, but the run to resume has 10"),
                                                   HasSubstr("--override=max_epochs"), Not(HasSubstr("ema_max"))));
  const std::vector<ConfigChange> changes = ConfigChanges(then, now).value();
  for (const char* name : {"max_epochs", "ema_max_epochs"}) {
    EXPECT_EQ(CheckOverrides(then, now, {name}), absl::OkStatus());
    EXPECT_EQ(CheckChanges(changes, {name}), absl::OkStatus());
  }
}

// Each of the two ways to clip had a name of its own, which no flag has.
TEST(ResumeConfigTest, OlderNamesOfClipping) {
  TrainerOptions by_norm, by_value;
  by_norm.gradient_clip_val = 0.5;
  by_value.gradient_clip_val = 0.25;
  by_value.gradient_clip_algorithm = GradientClip::kValue;
  const std::string norm = ResumeConfigJson(by_norm), value = ResumeConfigJson(by_value);
  const std::string old_norm = absl::StrReplaceAll(norm, {{"\"gradient_clip_val\":0.5", "\"gradient_clip_norm\":0.5"}});
  const std::string old_value =
      absl::StrReplaceAll(value, {{"\"gradient_clip_val\":0.25,\"gradient_clip_algorithm\":\"value\"",
                                   "\"gradient_clip_norm\":0.0,\"gradient_clip_value\":0.25"}});
  ASSERT_NE(old_norm, norm);
  ASSERT_NE(old_value, value);
  EXPECT_EQ(CheckSameConfig(old_norm, norm), absl::OkStatus());
  EXPECT_EQ(CheckSameConfig(old_value, value), absl::OkStatus());
  EXPECT_EQ(
      CheckSameConfig(old_norm, value).message(),
      "gradient_clip_val is 0.25, but the run to resume has 0.5; gradient_clip_algorithm is \"value\", but the "
      "run to resume has not set; give the same, or --override=gradient_clip_val,gradient_clip_algorithm to go on "
      "all the same, or start a new run");
  EXPECT_EQ(CheckOverrides(old_norm, norm, {"gradient_clip_norm"}), absl::OkStatus());
}

// The user is told of the flag that there is, whatever the version of the run to resume.
TEST(ResumeConfigTest, OlderNamesOfSchedulesOptions) {
  TrainerOptions options;
  options.schedule.kind = ScheduleKind::kPlateau;
  const std::string now = ResumeConfigJson(options);
  EXPECT_THAT(now, AllOf(HasSubstr("\"lr_plateau_cooldown\":0"), HasSubstr("\"lr_interval\":\"epoch\"")));
  std::string then = absl::StrReplaceAll(
      now, {{"lr_plateau_cooldown", "lr_cooldown"}, {"\"lr_interval\":\"epoch\"", "\"lr_per_step\":false"}});
  EXPECT_EQ(CheckSameConfig(then, now), absl::OkStatus());
  options.schedule.cooldown = 5;
  options.schedule.per_step = true;
  const std::string changed = ResumeConfigJson(options);
  EXPECT_EQ(
      CheckSameConfig(then, changed).message(),
      "lr_interval is \"step\", but the run to resume has \"epoch\"; lr_plateau_cooldown is 5, but the run to "
      "resume has 0; give the same, or --override=lr_interval,lr_plateau_cooldown to go on all the same, or start "
      "a new run");
  const std::vector<ConfigChange> changes = ConfigChanges(then, changed).value();
  EXPECT_EQ(CheckChanges(changes, {"lr_cooldown", "lr_per_step"}), absl::OkStatus());
  EXPECT_TRUE(PartsToReset(changes).schedule);
}

// What no flag has the name of is told with the flags that it follows from.
TEST(ResumeConfigTest, OptionsThatFollowFromOthers) {
  TrainerOptions then;
  then.schedule.cooldown_steps = 10;
  then.schedule.cooldown_from_step = 90;
  TrainerOptions now = then;
  now.schedule.cooldown_from_step = 190;
  EXPECT_THAT(
      std::string(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)).message()),
      HasSubstr("lr_cooldown_from_step (which follows from max_epochs, max_steps and lr_cooldown_steps) is 190, "
                "but the run to resume has 90"));
}

// As older versions wrote them: numbers, not the texts of the flags.
TEST(ResumeConfigTest, LimitsOfBatchesAreNumbers) {
  TrainerOptions options;
  options.limit_train_batches.fraction = 0.5;
  options.limit_val_batches.batches = 3;
  options.validation.every_steps = 100;
  EXPECT_THAT(ResumeConfigJson(options),
              AllOf(HasSubstr("\"limit_train_batches\":0.5"), HasSubstr("\"limit_val_batches\":3"),
                    HasSubstr("\"val_check_interval\":100")));
  options.validation.every_steps = 0;
  options.validation.every_time = absl::Minutes(10);
  EXPECT_THAT(ResumeConfigJson(options), HasSubstr("\"val_check_interval\":\"10m\""));
}

TEST(ResumeConfigTest, LimitsAreNotPartOfTheConfig) {
  TrainerOptions then, now;
  now.stop.max_epochs = 7;
  now.stop.patience = 3;
  now.num_workers = 2;
  now.persistent_workers = false;
  now.check_cost = 1;
  now.compile_mode = CompileMode::kNone;
  now.eager.device = "cuda:1";
  now.mode = RunMode::kResume;
  EXPECT_EQ(CheckSameConfig(ResumeConfigJson(then), ResumeConfigJson(now)), absl::OkStatus());
}

TEST(ResumeConfigTest, ConfigIsJson) {
  TrainerOptions options;
  options.stop.max_time = absl::Hours(2);
  const nlohmann::json json = nlohmann::json::parse(
      ConfigJson(options, {{"force_weight", "0.1"}}, {{"command", "train \"x\""}, {"tool", "\xff"}}));
  EXPECT_EQ(json["optimizer"], "adam");
  EXPECT_EQ(json["learning_rate"], 1e-3);
  EXPECT_EQ(json["max_time"], "2h");
  EXPECT_EQ(json["compile_mode"], "compile");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["provenance"]["command"], "train \"x\"");
  EXPECT_EQ(json["logger"], "tsv,jsonl");
  EXPECT_EQ(json["max_epochs"], 1000);
  EXPECT_EQ(json["save_interval"], 10);
  EXPECT_EQ(json["bucket_by_size"], false);
  EXPECT_FALSE(json.contains("bucket_window"));
  EXPECT_FALSE(json.contains("log_units"));
  const nlohmann::json logged = nlohmann::json::parse(ConfigJson(options, {}, {}, {"epoch", "val_loss[eV/atom]"}));
  EXPECT_EQ(logged["log_units"]["val_loss"], "eV/atom");
  EXPECT_EQ(logged["log_units"]["epoch"], "");
}

TEST(ResumeConfigTest, ConfigHoldsWhatTheCallerAdds) {
  TrainerOptions options;
  options.config_json = "{\"flags\":{\"seed\":{\"value\":\"1\",\"origin\":\"default\"}},\"flagfile\":null}";
  const nlohmann::json json = nlohmann::json::parse(ConfigJson(options, {}, {}));
  EXPECT_EQ(json["flags"]["seed"]["value"], "1");
  EXPECT_TRUE(json["flagfile"].is_null());
  EXPECT_EQ(json["optimizer"], "adam");
  EXPECT_EQ(CheckSameConfig(ResumeConfigJson(TrainerOptions()), ResumeConfigJson(options)), absl::OkStatus());
}

}  // namespace
}  // namespace rutile
