// Every setting of a table, whatever it is: what its row says of resuming is what resuming does.

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/eager_options.h"
#include "lib/task/eager_settings.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/options/trainer_settings.h"
#include "lib/train/options/validation_rule.h"
#include "lib/train/resume_config.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// One setting with two runs that differ in it alone, as far as a user can tell.
struct Case {
  const SettingInfo* row = nullptr;
  TrainerOptions then, now;
  SettingValue value;     // of `now`
  bool recorded = false;  // by one of the runs at least
};

// Texts of which each setting takes one at least that is not its default.
std::vector<std::string> Candidates(absl::Span<const absl::string_view> choices) {
  std::vector<std::string> texts = {"0.5",       "0.25", "3",  "true",  "false",           "step",
                                    "epoch",     "5,7",  "2h", "jsonl", "energy_weighted", "val_energy_mae",
                                    "bf16-mixed"};
  for (const absl::string_view choice : choices) texts.emplace_back(choice);
  return texts;
}

// The first value that differs from the options' own, is in range and is recorded; else one that is not recorded.
template <typename Options>
void FindChange(const Setting<Options>& row, const TrainerOptions& then,
                const std::function<Options*(TrainerOptions*)>& part, Case* found) {
  for (const std::string& text : Candidates(row.Choices())) {
    if (found->recorded) return;
    TrainerOptions before = then, after = then;
    const SettingValue value = row.Get(*part(&before));
    if (!row.Set(text, part(&after)).ok() || row.Get(*part(&after)) == value) continue;
    if (!CheckRange(row, row.Get(*part(&after))).ok()) continue;
    found->recorded =
        row.on_resume != OnResume::kNotCompared && (row.IsRecorded(*part(&before)) || row.IsRecorded(*part(&after)));
    found->value = row.Get(*part(&after));
    found->then = before;
    found->now = after;
  }
}

// Tries the row with other values of the other settings, one at a time, as one of them may decide whether the row
// counts.
template <typename Options>
void AddCases(absl::Span<const Setting<Options>> table, const std::function<Options*(TrainerOptions*)>& part,
              std::vector<Case>* cases) {
  for (const Setting<Options>& row : table) {
    Case found;
    found.row = &row;
    TrainerOptions base;
    FindChange(row, base, part, &found);
    for (const Setting<Options>& other : table) {
      for (const std::string& text : Candidates(other.Choices())) {
        TrainerOptions then = base;
        if (&other == &row || found.recorded || !other.Set(text, part(&then)).ok()) continue;
        FindChange(row, then, part, &found);
      }
    }
    ASSERT_NE(SettingText(found.value), "") << row.name << " takes none of the values that the test knows";
    cases->push_back(found);
  }
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const auto table : {TrainingSettings(), BucketSettings(), MonitorSettings(), CheckpointSettings(), LogSettings(),
                           InputSettings()}) {
    AddCases<TrainerOptions>(
        table, [](TrainerOptions* o) { return o; }, &cases);
  }
  AddCases<StopOptions>(
      StopSettings(), [](TrainerOptions* o) { return &o->stop; }, &cases);
  AddCases<ValidationOptions>(
      ValidationSettings(), [](TrainerOptions* o) { return &o->validation; }, &cases);
  AddCases<EagerOptions>(
      EagerSettings(), [](TrainerOptions* o) { return &o->eager; }, &cases);
  AddCases<OptimizerOptions>(
      OptimizerSettings(), [](TrainerOptions* o) { return &o->optimizer; }, &cases);
  AddCases<ParameterGroupOptions>(
      ParameterGroupSettings(), [](TrainerOptions* o) { return &o->groups; }, &cases);
  AddCases<ScheduleOptions>(
      ScheduleSettings(), [](TrainerOptions* o) { return &o->schedule; }, &cases);
  AddCases<EmaOptions>(
      EmaSettings(),
      [](TrainerOptions* o) {
        if (!o->ema.has_value()) o->ema = EmaOptions();
        return &*o->ema;
      },
      &cases);
  return cases;
}

// The change of the setting itself; a choice brings others with it.
std::vector<ConfigChange> OwnChange(const Case& c) {
  std::vector<ConfigChange> own;
  const std::vector<ConfigChange> all = ConfigChanges(ResumeConfigJson(c.then), ResumeConfigJson(c.now)).value();
  for (const ConfigChange& change : all) {
    if (change.name == c.row->name) own.push_back(change);
  }
  return own;
}

unsigned Parts(const ResetOnResume& parts) {
  const auto bit = [](bool is_new, RunPart part) { return is_new ? static_cast<unsigned>(part) : 0u; };
  return bit(parts.epoch, RunPart::kEpoch) | bit(parts.optimizer, RunPart::kOptimizer) |
         bit(parts.schedule, RunPart::kSchedule) | bit(parts.judgment, RunPart::kBestModel) |
         bit(parts.ema, RunPart::kEma) | bit(parts.average_best, RunPart::kAverageBest) |
         bit(parts.task, RunPart::kTask);
}

TEST(ResumeSettingsTest, EachTableIsTriedOut) {
  std::set<const SettingInfo*> tried;
  for (const Case& c : AllCases()) tried.insert(c.row);
  const absl::Span<const SettingInfo* const> all = ResumeSettings();
  EXPECT_EQ(tried, std::set<const SettingInfo*>(all.begin(), all.end()))
      << "a table that is in ResumeSettings() and not in AllCases(), or the other way round";
}

TEST(ResumeSettingsTest, EachNameIsInOneTableAlone) {
  std::set<std::string> names;
  for (const SettingInfo* row : ResumeSettings()) {
    EXPECT_TRUE(names.insert(row->name).second) << row->name;
    for (const OldName& old : row->old_names) {
      EXPECT_TRUE(old.name == nullptr || names.insert(old.name).second) << old.name;
    }
  }
}

TEST(ResumeSettingsTest, EachRowHasAHelpThatIsASentence) {
  for (const SettingInfo* row : ResumeSettings()) EXPECT_THAT(row->help, ::testing::EndsWith(".")) << row->name;
}

// What is counted in epochs is recorded in steps, the inputs by hashes, and groups of parameters as what their text
// means; all else that is compared is in the record of some run.
TEST(ResumeSettingsTest, EachSettingIsRecorded) {
  std::set<std::string> not_recorded;
  for (const Case& c : AllCases()) {
    if (!c.recorded && c.row->on_resume != OnResume::kNotCompared) not_recorded.insert(c.row->name);
  }
  EXPECT_THAT(not_recorded, ::testing::ElementsAre("data", "lr_cooldown_epochs", "parameter_groups", "warmup_epochs"));
}

TEST(ResumeSettingsTest, ResumingWithAnotherValueIsRefusedOrAllowedAsTheRowSays) {
  for (const Case& c : AllCases()) {
    if (!c.recorded) continue;
    SCOPED_TRACE(c.row->name);
    const std::vector<ConfigChange> changes = OwnChange(c);
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_FALSE(changes[0].of_task);
    const absl::Status status = CheckChanges(changes, {});
    if (c.row->on_resume == OnResume::kMayChange) {
      EXPECT_EQ(status, absl::OkStatus());
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      const std::string origin = c.row->derived == nullptr ? "" : absl::StrCat(" (", c.row->derived, ")");
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(absl::StrCat(c.row->name, origin, " is ", changes[0].after)),
                        HasSubstr(absl::StrCat("--override=", c.row->name, " to go on"))));
    }
    EXPECT_EQ(CheckChanges(changes, {c.row->name}), absl::OkStatus());
    EXPECT_EQ(CheckOverrides(ResumeConfigJson(c.then), ResumeConfigJson(c.now), {c.row->name}), absl::OkStatus());
  }
}

TEST(ResumeSettingsTest, ResumingWithAnotherValueResetsWhatTheRowSays) {
  for (const Case& c : AllCases()) {
    if (!c.recorded) continue;
    SCOPED_TRACE(c.row->name);
    ConfigChange change = OwnChange(c).at(0);
    change.before = "1";
    change.after = "2";
    EXPECT_TRUE(PartsToReset({change}).finished);
    EXPECT_EQ(Parts(PartsToReset({change})), c.row->resets_if_it_comes_or_goes ? 0 : c.row->resets);
    change.before = "not set";
    EXPECT_EQ(Parts(PartsToReset({change})), c.row->on_resume == OnResume::kMayChange ? 0 : c.row->resets);
  }
}

TEST(ResumeSettingsTest, ConfigHasTheValueUnderTheSettingsName) {
  for (const Case& c : AllCases()) {
    SCOPED_TRACE(c.row->name);
    const Json config = Json::parse(ConfigJson(c.now, {}, {})), resumed = Json::parse(ResumeConfigJson(c.now));
    if (!resumed.contains(c.row->name)) continue;
    EXPECT_EQ(config[c.row->name], resumed[c.row->name]);
    const Json& value = config[c.row->name];
    EXPECT_EQ(value.is_string() ? value.get<std::string>() : value.dump(),
              std::visit([](const auto& v) { return Json(v); }, c.value).is_string()
                  ? SettingText(c.value)
                  : std::visit([](const auto& v) { return Json(v).dump(); }, c.value));
  }
}

// Limits, logs, files and threads: config.json tells of them, and no checkpoint does.
TEST(ResumeSettingsTest, WhatIsNotComparedIsInConfigJsonAlone) {
  int num_free = 0;
  for (const Case& c : AllCases()) {
    if (c.row->on_resume != OnResume::kNotCompared) continue;
    SCOPED_TRACE(c.row->name);
    ++num_free;
    EXPECT_EQ(ResumeConfigJson(c.then).find(absl::StrCat("\"", c.row->name, "\"")), std::string::npos);
    EXPECT_THAT(OwnChange(c), ::testing::IsEmpty());
    EXPECT_TRUE(Json::parse(ConfigJson(c.now, {}, {})).contains(c.row->name));
  }
  EXPECT_GE(num_free, 20);
}

TEST(ResumeSettingsTest, AnOlderNameIsTheSameSetting) {
  int num_renamed = 0;
  for (const Case& c : AllCases()) {
    for (const OldName& old : c.row->old_names) {
      if (old.name == nullptr || !c.recorded || old.also != nullptr) continue;
      SCOPED_TRACE(old.name);
      ++num_renamed;
      Json then = Json::parse(ResumeConfigJson(c.then));
      Json value = then[c.row->name];
      for (const OldName::Value& each : old.values) {
        if (value == each.now) value = Json::parse(each.then);
      }
      then.erase(c.row->name);
      then[old.name] = value;
      EXPECT_EQ(CheckSameConfig(then.dump(), ResumeConfigJson(c.then)), absl::OkStatus());
      const absl::Status status = CheckSameConfig(then.dump(), ResumeConfigJson(c.now));
      EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("--override=", c.row->name)));
      EXPECT_EQ(CheckOverrides(then.dump(), ResumeConfigJson(c.now), {old.name}), absl::OkStatus());
      EXPECT_EQ(CheckChanges(OwnChange(c), {old.name}), absl::OkStatus());
    }
  }
  EXPECT_GE(num_renamed, 3);
}

}  // namespace
}  // namespace rutile
