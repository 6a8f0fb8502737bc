// Each setting of the trainer's tables is a flag, under the same name and with the same help, and reaches the options.

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/resume_config.h"
#include "tools/common/flags/trainer_flags.h"
#include "tools/common/run/given_flags.h"

namespace rutile {
namespace {

TEST(ResumeFlagsTest, EachSettingIsAFlag) {
  ASSERT_TRUE(TrainerOptionsFromFlags().ok());
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
    gflags::CommandLineFlagInfo info;
    const char* old_name = row->old_name.name;
    EXPECT_FALSE(old_name != nullptr && gflags::GetCommandLineFlagInfo(old_name, &info)) << row->name;
  }
}

// Flags that nobody gives mean what the options mean by themselves.
TEST(ResumeFlagsTest, DefaultsAreThoseOfTheOptions) {
  const TrainerOptions flags = TrainerOptionsFromFlags().value(), defaults;
  EXPECT_TRUE(SameSettings(OptimizerSettings(), flags.optimizer, defaults.optimizer));
  EXPECT_TRUE(SameSettings(ParameterGroupSettings(), flags.groups, defaults.groups));
  EXPECT_TRUE(SameSettings(ScheduleSettings(), flags.schedule, defaults.schedule));
  EXPECT_EQ(ResumeConfigJson(flags), ResumeConfigJson(defaults));
}

TEST(ResumeFlagsTest, TheDefaultsOfNumbersAreShort) {
  for (const SettingInfo* row : ResumeSettings()) {
    gflags::CommandLineFlagInfo info;
    if (!gflags::GetCommandLineFlagInfo(row->name, &info) || info.type != "double") continue;
    if (std::string(row->name) == "warmup_start") continue;  // a third
    EXPECT_LE(FlagText(info.type, info.default_value).size(), 6u) << row->name;
  }
}

}  // namespace
}  // namespace rutile
