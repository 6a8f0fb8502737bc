#include "lib/train/resume_config.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/task/eager_options.h"
#include "lib/task/resume_rule.h"
#include "lib/train/files/log_format.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_settings.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const SettingValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

template <typename Options>
void DescribeRow(const Setting<Options>& row, const Options& options, Json* json) {
  (*json)[row.name] = ToJson(row.Record(options));
}

// compared: those alone that a resumed run is compared by.
template <typename Options>
void Describe(absl::Span<const Setting<Options>> table, const Options& options, bool compared, Json* json) {
  for (const Setting<Options>& row : table) {
    if (compared && row.on_resume == OnResume::kNotCompared) continue;
    if (row.IsRecorded(options)) DescribeRow(row, options, json);
  }
}

void DescribeTables(const TrainerOptions& options, bool compared, Json* json) {
  ForEachSettings(options, [&](const auto& table, const auto& part) { Describe(table, part, compared, json); });
}

// The row of that name, or nullptr: not all options have a row.
const SettingInfo* FindRow(absl::string_view name) {
  for (const SettingInfo* row : ResumeSettings()) {
    if (row->name == name) return row;
  }
  return nullptr;
}

// The setting that had the name in an older version, with that name; of no setting: nullptr.
std::pair<const SettingInfo*, const OldName*> FindOldName(absl::string_view name) {
  for (const SettingInfo* row : ResumeSettings()) {
    for (const OldName& old : row->old_names) {
      if (old.name != nullptr && old.name == name) return {row, &old};
    }
  }
  return {nullptr, nullptr};
}

// The name that an option has today.
absl::string_view NewName(absl::string_view name) {
  const SettingInfo* row = FindOldName(name).first;
  return row == nullptr ? name : row->name;
}

// What an older version wrote of an option, as it is written today.
Json NewValue(const OldName& old, const Json& value) {
  for (const OldName::Value& each : old.values) {
    if (value.dump() == each.then) return each.now;
  }
  return value;
}

// Gives all options of a run the names that they have today.
void Rename(Json* config) {
  Json renamed = Json::object();
  for (const auto& item : config->items()) {
    const auto [row, old] = FindOldName(item.key());
    if (row == nullptr) {
      renamed[item.key()] = item.value();
      continue;
    }
    renamed[row->name] = NewValue(*old, item.value());
    if (old->also != nullptr) renamed[old->also] = old->also_value;
  }
  *config = std::move(renamed);
}

constexpr char kGlob[] = "parameters";  // the key of a group's glob in the record of groups

// True if it is a record of groups, as DescribeGroups writes it.
bool AreGroups(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& group) {
           return group.is_object() && group.contains(kGlob) && group[kGlob].is_string();
         });
}

std::string GlobsOf(const Json& groups) {
  return absl::StrJoin(groups, ";", [](std::string* out, const Json& group) { out->append(group[kGlob]); });
}

// The options of groups that differ from those of the same groups in `others`, as --parameter_groups writes them:
// "network.Ti.*:learning_rate=0.001,beta1=0.8;network.O.*:weight_decay=0". Sets *only_rates.
std::string DifferencesOf(const Json& groups, const Json& others, bool* only_rates) {
  std::vector<std::string> texts;
  *only_rates = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    Json all = groups[g];
    all.update(others[g]);
    std::vector<std::string> options;
    for (const auto& item : all.items()) {
      const std::string& key = item.key();
      const auto here = groups[g].find(key), there = others[g].find(key);
      const bool is_here = here != groups[g].end();
      if (is_here && there != others[g].end() && *here == *there) continue;
      *only_rates = *only_rates && key == "learning_rate";
      const std::string value = !is_here ? "" : here->is_string() ? here->get<std::string>() : here->dump();
      options.push_back(is_here ? absl::StrCat(key, "=", value) : absl::StrCat(key, " not set"));
    }
    if (options.empty()) continue;
    texts.push_back(absl::StrCat(groups[g][kGlob].get<std::string>(), ":", absl::StrJoin(options, ",")));
  }
  return absl::StrJoin(texts, ";");
}

// Tells what differs between two records of groups. Where globs differ, the groups are others, and these are told.
ConfigChange GroupsChange(const Json& before, const Json& after) {
  ConfigChange change;
  change.name = ParameterGroupSettings().front().name;
  if (GlobsOf(before) != GlobsOf(after)) {
    change.before = GlobsOf(before);
    change.after = GlobsOf(after);
    return change;
  }
  change.before = DifferencesOf(before, after, &change.only_rates);
  change.after = DifferencesOf(after, before, &change.only_rates);
  return change;
}

void DescribeGroups(const ParameterGroupOptions& options, Json* json) {
  for (const ParameterGroup& group : options.groups) {
    Json described = {{kGlob, group.glob}};
    Describe(OptimizerSettings(), group.optimizer, /*compared=*/true, &described);
    (*json)[ParameterGroupSettings().front().name].push_back(described);
  }
}

// The decay of this average depends on the length of the run, which is then compared.
void DescribeLength(const TrainerOptions& options, Json* json) {
  if (!options.ema.has_value() || options.ema->type != EmaDecay::kExponential) return;
  for (const Setting<StopOptions>& row : LengthSettings()) DescribeRow(row, options.stop, json);
}

Json ResumeConfig(const TrainerOptions& options, const std::map<std::string, std::string>& task) {
  Json json = Json::object();
  DescribeTables(options, /*compared=*/true, &json);
  DescribeGroups(options.groups, &json);
  DescribeLength(options, &json);
  for (const auto* texts : {&task, &options.config}) {
    for (const auto& [key, value] : *texts) json["task"][key] = value;
  }
  return json;
}

// The task's rule for an option, or nullptr: most have none.
const ResumeRule* FindRule(absl::Span<const ResumeRule> rules, absl::string_view name) {
  for (const ResumeRule& rule : rules) {
    if (name == rule.name) return &rule;
  }
  return nullptr;
}

// But for what is an object.
void AddChanges(const Json& before, const Json& after, std::vector<ConfigChange>* changes) {
  const auto value = [](const Json& json, const std::string& key) {
    return json.contains(key) ? json[key].dump() : std::string("not set");
  };
  for (const Json* json : {&after, &before}) {
    for (const auto& item : json->items()) {
      const std::string& key = item.key();
      const bool both = before.contains(key) && after.contains(key);
      if (item.value().is_object() || (both && (before[key] == after[key] || json == &before))) continue;
      if (both && key == ParameterGroupSettings().front().name && AreGroups(before[key]) && AreGroups(after[key])) {
        changes->push_back(GroupsChange(before[key], after[key]));
        continue;
      }
      changes->push_back({key, value(before, key), value(after, key)});
    }
  }
}

// Like AddChanges, of the options of a task.
void AddTaskChanges(const Json& before, Json after, absl::Span<const ResumeRule> rules,
                    std::vector<ConfigChange>* changes) {
  for (const ResumeRule& rule : rules) {
    if (rule.since != nullptr && !before.contains(rule.since)) after.erase(rule.name);
  }
  const size_t first = changes->size();
  AddChanges(before, after, changes);
  for (size_t i = first; i < changes->size(); ++i) {
    ConfigChange& change = (*changes)[i];
    change.of_task = true;
    change.rule = FindRule(rules, change.name);
  }
}

// What callers record among a task's options for a run that goes on, and that decides nothing by itself: the length of
// the run, which may change, and the recipe whose settings are compared one by one.
constexpr const char* kNotCompared[] = {"default_epochs", "kge_recipe"};

// What callers record among a task's options of the examples that are validated on: nothing that is learned from.
constexpr char kRankSample[] = "rank_sample";

absl::Status ParseConfigs(absl::string_view then, absl::string_view now, Json* before, Json* after) {
  *before = Json::parse(then.begin(), then.end(), nullptr, /*allow_exceptions=*/false);
  *after = Json::parse(now.begin(), now.end(), nullptr, /*allow_exceptions=*/false);
  if (!before->is_object() || !after->is_object()) {
    return absl::FailedPreconditionError("the options of the run to resume cannot be read");
  }
  for (Json* json : {before, after}) {
    Rename(json);
    if (!json->contains("task") || !(*json)["task"].is_object()) continue;
    for (const char* name : kNotCompared) (*json)["task"].erase(name);
  }
  return absl::OkStatus();
}

// An option of the trainer that a task has, too, is one setting of the run, whoever obeys it: mixed precision is the
// trainer's where LibTorch computes, else the task's. `tasks` has the options of all tasks in question.
void MoveToTask(const Json& tasks, Json* config) {
  std::vector<std::string> names;
  for (const auto& item : config->items()) {
    if (!item.value().is_object() && tasks.contains(item.key())) names.push_back(item.key());
  }
  for (const std::string& name : names) {
    const Json value = (*config)[name];  // a copy: the object moves what it holds
    (*config)["task"][name] = value;
    config->erase(name);
  }
}

bool Contains(absl::Span<const std::string> names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool Overrides(absl::Span<const std::string> overrides, absl::string_view name) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [name](const std::string& override) { return NewName(override) == name; });
}

// "batch_size is 64, but the run to resume has 32", with the reason where no flag has that name.
std::string Explain(const ConfigChange& change) {
  if (change.before.empty()) return change.after;
  const SettingInfo* row = FindRow(change.name);
  const bool derived = row != nullptr && row->derived != nullptr;
  return absl::StrCat(change.name, derived ? absl::StrCat(" (", row->derived, ")") : "", " is ", change.after,
                      ", but the run to resume has ", change.before);
}

void AddParts(const SettingInfo& row, bool comes_or_goes, ResetOnResume* parts) {
  if (row.resets_if_it_comes_or_goes && !comes_or_goes) return;
  parts->epoch |= row.Resets(RunPart::kEpoch);
  parts->optimizer |= row.Resets(RunPart::kOptimizer);
  parts->schedule |= row.Resets(RunPart::kSchedule);
  parts->judgment |= row.Resets(RunPart::kBestModel);
  parts->ema |= row.Resets(RunPart::kEma);
  parts->average_best |= row.Resets(RunPart::kAverageBest);
  parts->task |= row.Resets(RunPart::kTask);
}

template <typename Options>
void AddRows(absl::Span<const Setting<Options>> table, std::vector<const SettingInfo*>* rows) {
  for (const Setting<Options>& row : table) rows->push_back(&row);
}

}  // namespace

absl::Span<const SettingInfo* const> ResumeSettings() {
  static const auto* rows = [] {
    auto* all = new std::vector<const SettingInfo*>();
    TrainerOptions options;
    options.ema = EmaOptions();
    ForEachSettings(options, [all](const auto& table, const auto&) { AddRows(table, all); });
    return all;
  }();
  return *rows;
}

std::string ResumeConfigJson(const TrainerOptions& options, const std::map<std::string, std::string>& task) {
  return ResumeConfig(options, task).dump();
}

absl::StatusOr<std::vector<ConfigChange>> ConfigChanges(absl::string_view then, absl::string_view now,
                                                        absl::Span<const ResumeRule> rules) {
  Json before, after;
  RETURN_IF_ERROR(ParseConfigs(then, now, &before, &after));
  std::vector<ConfigChange> changes;
  // Runs of versions that did not write the task's options can be resumed.
  const bool have_tasks = before.contains("task") && after.contains("task");
  if (have_tasks) {
    Json tasks = before["task"];
    tasks.update(after["task"]);
    MoveToTask(tasks, &before);
    MoveToTask(tasks, &after);
  }
  AddChanges(before, after, &changes);
  if (have_tasks) AddTaskChanges(before["task"], after["task"], rules, &changes);
  return changes;
}

bool MayChange(absl::string_view option) {
  const SettingInfo* row = FindRow(option);
  return row != nullptr && row->on_resume == OnResume::kMayChange;
}

bool MayChange(const ConfigChange& change) { return change.only_rates || MayChange(change.name); }

std::string ForbiddenChanges(absl::Span<const ConfigChange> changes, absl::Span<const std::string> overrides) {
  if (Contains(overrides, "all")) return "";
  std::vector<std::string> texts;
  for (const ConfigChange& change : changes) {
    if (!MayChange(change) && !Overrides(overrides, change.name)) texts.push_back(Explain(change));
  }
  return absl::StrJoin(texts, "; ");
}

absl::Status CheckChanges(absl::Span<const ConfigChange> changes, absl::Span<const std::string> overrides) {
  for (const ConfigChange& change : changes) {
    if (change.rule != nullptr && change.rule->refusal != nullptr) {
      return absl::FailedPreconditionError(change.rule->refusal);
    }
  }
  const std::string text = ForbiddenChanges(changes, overrides);
  if (text.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const ConfigChange& change : changes) {
    if (!MayChange(change) && !Overrides(overrides, change.name)) names.push_back(change.name);
  }
  return absl::FailedPreconditionError(absl::StrCat(text, "; give the same, or --override=", absl::StrJoin(names, ","),
                                                    " to go on all the same, or start a new run"));
}

absl::Status CheckOverrides(absl::string_view then, absl::string_view now, absl::Span<const std::string> overrides) {
  Json before, after;
  RETURN_IF_ERROR(ParseConfigs(then, now, &before, &after));
  std::vector<std::string> names = {"all"};
  for (const Setting<TrainerOptions>& row : InputSettings()) names.push_back(row.name);
  for (Json* json : {&before, &after}) {
    // A copy: the object grows while it is read from, and moves.
    if (const auto task = json->find("task"); task != json->end()) json->update(Json(*task));
    for (const auto& item : json->items()) {
      if (!item.value().is_object() && !Contains(names, item.key())) names.push_back(item.key());
    }
  }
  for (const std::string& name : overrides) {
    if (Contains(names, NewName(name))) continue;
    return absl::InvalidArgumentError(absl::StrCat("override: \"", name,
                                                   "\" is no option of this run or the one to resume; there are ",
                                                   absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

absl::Status CheckSameConfig(absl::string_view then, absl::string_view now, absl::Span<const ResumeRule> rules) {
  ASSIGN_OR_RETURN(const std::vector<ConfigChange> changes, ConfigChanges(then, now, rules));
  return CheckChanges(changes, {});
}

bool SamplesValidation(absl::string_view config) {
  const Json json = Json::parse(config.begin(), config.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto task = json.find("task");
  return json.contains("limit_val_batches") || (task != json.end() && task->is_object() && task->contains(kRankSample));
}

ResetOnResume PartsToReset(absl::Span<const ConfigChange> changes) {
  ResetOnResume parts;
  parts.finished = !changes.empty();
  for (const ConfigChange& change : changes) {
    const std::string& name = change.name;
    const bool comes_or_goes = change.before == "not set" || change.after == "not set";
    if (MayChange(change)) continue;
    if (const SettingInfo* row = FindRow(name); row != nullptr) AddParts(*row, comes_or_goes, &parts);
    // All that a task records of itself decides what its model is measured by. Unless the task has a rule that says
    // otherwise, it may decide what is learned from, too: sums of both losses would be of neither.
    const bool validates_only = change.of_task && name == kRankSample;
    const bool computes_only = change.rule != nullptr && change.rule->meaning == ResumeRule::kComputesOnly;
    parts.judgment |= change.of_task;
    parts.loss |= name == DataSetting().name || (change.of_task && !computes_only && !validates_only);
    parts.epoch |= parts.loss;
    parts.task |= computes_only;
  }
  return parts;
}

absl::StatusOr<double> NumberOfConfig(absl::string_view config, const std::string& option) {
  const Json json = Json::parse(config.begin(), config.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains(option) && json[option].is_number()) return json[option].get<double>();
  return absl::FailedPreconditionError(
      absl::StrCat("the options of the run to resume have no number \"", option, "\""));
}

absl::StatusOr<std::vector<GroupOfConfig>> GroupsOfConfig(absl::string_view config) {
  const Json json = Json::parse(config.begin(), config.end(), nullptr, /*allow_exceptions=*/false);
  const std::string key = ParameterGroupSettings().front().name;
  std::vector<GroupOfConfig> groups;
  if (!json.is_object() || (json.contains(key) && !AreGroups(json[key]))) {
    return absl::FailedPreconditionError(absl::StrCat("the options of the run to resume have no list \"", key, "\""));
  }
  if (!json.contains(key)) return groups;
  for (const Json& each : json[key]) {
    GroupOfConfig group = {each[kGlob].get<std::string>(), {}};
    for (const auto& item : each.items()) {
      if (item.value().is_number()) group.numbers[item.key()] = item.value().get<double>();
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::string FlagFileAfter(absl::string_view changes, const std::string& text) {
  if (changes.empty() || text.empty()) return text;
  std::string comment = "# does not make this run again, which went on with other settings or data:\n";
  for (const absl::string_view change : absl::StrSplit(changes, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&comment, "#   ", change, "\n");
  }
  const size_t rest = text[0] == '#' ? text.find('\n') + 1 : 0;
  return comment + text.substr(rest);
}

std::string ConfigJson(const TrainerOptions& options, const std::map<std::string, std::string>& task,
                       const Metadata& provenance, absl::Span<const std::string> log_columns,
                       absl::string_view changes) {
  Json json = ResumeConfig(options, task);
  DescribeTables(options, /*compared=*/false, &json);
  for (const auto& [key, value] : provenance) json["provenance"][key] = value;
  if (!log_columns.empty()) json["log_units"] = Json::parse(LogUnits(log_columns));
  const Json more = Json::parse(options.config_json, nullptr, /*allow_exceptions=*/false);
  if (more.is_object()) json.update(more);
  if (const auto file = json.find("flagfile"); file != json.end() && file->is_string()) {
    *file = FlagFileAfter(changes, file->get<std::string>());
  }
  // Bytes that are no UTF-8 (a file name may hold them) are replaced, not thrown at the user.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rutile
