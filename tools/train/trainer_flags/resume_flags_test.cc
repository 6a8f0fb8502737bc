// Each setting of the trainer's tables is a flag, under the same name and with the same help, and reaches the options.

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/resume_config.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/trainer_flags/eager_flags.h"
#include "tools/train/trainer_flags/trainer_flags.h"

namespace rutile {
namespace {

TEST(ResumeFlagsTest, EachSettingIsAFlag) {
  ASSERT_TRUE(TrainerOptionsFromFlags().ok());
  EXPECT_THAT(EagerFlags().names(), ::testing::ElementsAre("precision", "float32_matmul_precision", "device"));
  for (const SettingInfo* row : ResumeSettings()) {
    gflags::CommandLineFlagInfo info;
    const bool is_flag = gflags::GetCommandLineFlagInfo(row->name, &info);
    EXPECT_EQ(is_flag, row->derived == nullptr) << row->name;
    if (!is_flag) continue;
    EXPECT_EQ(info.description, row->help) << row->name;
    EXPECT_TRUE(absl::StartsWith(info.filename, "tools/")) << row->name << " is not in --help";
    EXPECT_TRUE(row->automatic == nullptr || info.default_value == row->automatic) << row->name;
  }
}

// A name of older checkpoints is no flag: it would be a second one for the same thing.
TEST(ResumeFlagsTest, OldNamesAreNoFlags) {
  for (const SettingInfo* row : ResumeSettings()) {
    for (const OldName& old : row->old_names) {
      gflags::CommandLineFlagInfo info;
      EXPECT_FALSE(old.name != nullptr && gflags::GetCommandLineFlagInfo(old.name, &info)) << row->name;
    }
  }
}

// Flags that nobody gives mean what the options mean by themselves.
TEST(ResumeFlagsTest, DefaultsAreThoseOfTheOptions) {
  const TrainerOptions flags = TrainerOptionsFromFlags().value(), defaults;
  EXPECT_EQ(ResumeConfigJson(flags), ResumeConfigJson(defaults));
  EXPECT_EQ(ConfigJson(flags, {}, {}), ConfigJson(defaults, {}, {}));
}

// What runs of testdata/compat wrote of themselves, with the flags that they had.
TEST(ResumeFlagsTest, OlderRunsHadTheSameSettings) {
  using Flags = std::vector<std::pair<const char*, const char*>>;
  const std::vector<std::pair<Flags, const char*>> runs = {
      {{{"batch_size", "4"}, {"seed", "3"}},
       R"({"seed":3,"optimizer":"adam","learning_rate":0.001,"weight_decay":0.0,"batch_size":4,"shuffle":true,
           "gradient_clip_norm":0.0,"beta1":0.9,"beta2":0.999,"epsilon":1e-08,"lr_scheduler":"constant",
           "warmup_steps":0,"warmup_start":0.3333333333333333})"},
      {{{"batch_size", "4"},
        {"seed", "3"},
        {"ema", "true"},
        {"ema_decay", "0.9"},
        {"average_best", "2"},
        {"save_top_k", "2"},
        {"lr_scheduler", "plateau"},
        {"patience", "5"},
        {"val_check_interval", "0.5"},
        {"max_steps", "7"}},
       R"({"seed":3,"optimizer":"adam","learning_rate":0.001,"weight_decay":0.0,"beta1":0.9,"beta2":0.999,
           "epsilon":1e-08,"batch_size":4,"shuffle":true,"gradient_clip_norm":0.0,"lr_scheduler":"plateau",
           "lr_per_step":false,"lr_factor":0.1,"lr_period":0,"min_learning_rate":0.0,"lr_patience":10,
           "lr_threshold":0.0001,"lr_cooldown":0,"warmup_steps":0,"warmup_start":0.3333333333333333,
           "ema_decay_type":"threshold","ema_decay":0.9,"ema_start_step":0,"ema_update_every_n_steps":1,
           "average_best":2,"val_check_interval":0.5})"},
      {{{"batch_size", "4"},
        {"seed", "3"},
        {"optimizer", "adamw"},
        {"lr_scheduler", "cosine"},
        {"lr_period", "18"},
        {"warmup_steps", "3"},
        {"bucket_by_size", "true"},
        {"sampling_policy", "error_weighted"}},
       R"({"seed":3,"optimizer":"adamw","learning_rate":0.001,"weight_decay":0.01,"beta1":0.9,"beta2":0.999,
           "epsilon":1e-08,"batch_size":4,"shuffle":true,"sampling_policy":"error_weighted","bucket_window":50,
           "gradient_clip_norm":0.0,"lr_scheduler":"cosine","lr_per_step":false,"lr_factor":0.1,"lr_period":18,
           "min_learning_rate":0.0,"warmup_steps":3,"warmup_start":0.3333333333333333})"}};
  for (const auto& [flags, then] : runs) {
    const gflags::FlagSaver saver;
    for (const auto& [name, value] : flags) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
    const absl::StatusOr<TrainerOptions> options = TrainerOptionsFromFlags();
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(CheckSameConfig(then, ResumeConfigJson(*options)), absl::OkStatus());
  }
}

TEST(ResumeFlagsTest, TheDefaultsOfNumbersAreShort) {
  for (const SettingInfo* row : ResumeSettings()) {
    gflags::CommandLineFlagInfo info;
    if (!gflags::GetCommandLineFlagInfo(row->name, &info) || info.type != "double") continue;
    EXPECT_LE(FlagText(info.type, info.default_value).size(), 6u) << row->name;
  }
}

}  // namespace
}  // namespace rutile
