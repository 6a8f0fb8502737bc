#include "lib/train/resume_config.h"

#include <algorithm>
#include <initializer_list>
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
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/ema.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule.h"
#include "lib/task/eager_options.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/files/log_format.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

// What makes descriptors of structures. Species are always said, so that a run without them is of a version that wrote
// none of these: it can be resumed, too.
constexpr char kSpecies[] = "species";
constexpr const char* kDescriptor[] = {kSpecies, "rad_order", "rad_cutoff", "ang_order", "ang_cutoff", "min_cutoff"};

// Names of older versions that are no row of a table.
constexpr const char* kOldNames[][2] = {{"ema_max_epochs", "max_epochs"},
                                        {"ema_max_steps", "max_steps"},
                                        {"gradient_clip_norm", "gradient_clip_val"},
                                        {"gradient_clip_value", "gradient_clip_val"}};

std::string Text(absl::string_view text) { return std::string(text); }

Json ToJson(const SettingValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

template <typename Options>
void Describe(absl::Span<const Setting<Options>> table, const Options& options, Json* json) {
  for (const Setting<Options>& row : table) {
    if (row.IsRecorded(options)) (*json)[row.name] = ToJson(row.Get(options));
  }
}

// The row of that name, or nullptr: not all options have a row.
const SettingInfo* FindRow(absl::string_view name) {
  for (const SettingInfo* row : ResumeSettings()) {
    if (row->name == name) return row;
  }
  return nullptr;
}

// The name that an option has today.
absl::string_view NewName(absl::string_view name) {
  for (const SettingInfo* row : ResumeSettings()) {
    if (row->old_name.name != nullptr && row->old_name.name == name) return row->name;
  }
  for (const auto& [then, now] : kOldNames) {
    if (then == name) return now;
  }
  return name;
}

// What an older version wrote of an option, as it is written today.
Json NewValue(absl::string_view name, const Json& value) {
  const SettingInfo* row = FindRow(name);
  if (row == nullptr) return value;
  for (const OldName::Value& old : row->old_name.values) {
    if (value.dump() == old.then) return old.now;
  }
  return value;
}

// Gives all options of a run the names that they have today.
void Rename(Json* config) {
  Json renamed = Json::object();
  for (const auto& item : config->items()) {
    const std::string name(NewName(item.key()));
    renamed[name] = name == item.key() ? item.value() : NewValue(name, item.value());
    // Older versions had a name for each of the two ways to clip, and wrote the second after the first.
    if (item.key() == "gradient_clip_value") renamed["gradient_clip_algorithm"] = "value";
  }
  *config = std::move(renamed);
}

void DescribeGroups(const ParameterGroupOptions& options, Json* json) {
  for (const ParameterGroup& group : options.groups) {
    Json described = {{"parameters", group.glob}};
    Describe(OptimizerSettings(), group.optimizer, &described);
    (*json)["parameter_groups"].push_back(described);
  }
  Describe(ParameterGroupSettings(), options, json);
}

void DescribeLimit(const char* name, const BatchLimit& limit, Json* json) {
  if (limit.batches >= 0) {
    (*json)[name] = limit.batches;
  } else if (limit.fraction < 1) {
    (*json)[name] = limit.fraction;
  }
}

void DescribeBatches(const TrainerOptions& options, Json* json) {
  if (options.optimizer.kind == OptimizerKind::kLbfgs) return;
  (*json)["batch_size"] = options.batch_size;
  (*json)["shuffle"] = options.shuffle;
  // Runs of versions that did not know of policies can be resumed.
  if (options.sampling_policy != SamplingPolicy::kUniform) {
    (*json)["sampling_policy"] = Text(SamplingPolicyName(options.sampling_policy));
  }
  if (options.bucket_window > 0) (*json)["bucket_window"] = options.bucket_window;
  const bool clips_values = options.gradient_clip_value > 0;
  (*json)["gradient_clip_val"] = clips_values ? options.gradient_clip_value : options.gradient_clip_norm;
  if (clips_values) (*json)["gradient_clip_algorithm"] = "value";
  if (options.accumulate_grad_batches > 1) (*json)["accumulate_grad_batches"] = options.accumulate_grad_batches;
  DescribeLimit("limit_train_batches", options.limit_train_batches, json);
  DescribeLimit("overfit_batches", options.overfit_batches, json);
}

void DescribeEma(const TrainerOptions& options, Json* json) {
  if (!options.ema.has_value()) return;
  Describe(EmaSettings(), *options.ema, json);
  if (options.ema->type != EmaDecay::kExponential) return;
  // Its decay depends on the length of the run.
  (*json)["max_epochs"] = options.stop.max_epochs;
  (*json)["max_steps"] = options.stop.max_steps;
}

// What is monitored, and when: it decides which model is best, and plateau's rate.
void DescribeValidation(const TrainerOptions& options, Json* json) {
  const ValidationOptions& validation = options.validation;
  if (options.average_best > 0) (*json)["average_best"] = options.average_best;
  if (!options.monitor.empty()) (*json)["monitor"] = options.monitor;
  if (validation.every_epochs > 1) (*json)["check_val_every_n_epoch"] = validation.every_epochs;
  if (validation.fraction < 1) (*json)["val_check_interval"] = validation.fraction;
  if (validation.every_steps > 0) (*json)["val_check_interval"] = validation.every_steps;
  if (validation.every_time < absl::InfiniteDuration()) {
    (*json)["val_check_interval"] = absl::FormatDuration(validation.every_time);
  }
  DescribeLimit("limit_val_batches", options.limit_val_batches, json);
}

// The type of parameters is in the checkpoint's tensors. What differs from the default is written, so that runs of
// versions without it can be resumed.
void DescribePrecision(const EagerOptions& eager, Json* json) {
  if (eager.mixed != MixedPrecision::kNone) (*json)["precision"] = Text(MixedPrecisionName(eager.mixed));
  if (eager.matmul != MatmulPrecision::kHighest) {
    (*json)["float32_matmul_precision"] = Text(MatmulPrecisionName(eager.matmul));
  }
}

Json ResumeConfig(const TrainerOptions& options, const std::map<std::string, std::string>& task) {
  Json json = {{"seed", options.seed}};
  Describe(OptimizerSettings(), options.optimizer, &json);
  DescribeGroups(options.groups, &json);
  DescribeBatches(options, &json);
  Describe(ScheduleSettings(), options.schedule, &json);
  DescribeEma(options, &json);
  DescribeValidation(options, &json);
  DescribePrecision(options.eager, &json);
  for (const auto* texts : {&task, &options.config}) {
    for (const auto& [key, value] : *texts) json["task"][key] = value;
  }
  return json;
}

// But for what is an object.
void AddChanges(const Json& before, const Json& after, bool of_task, std::vector<ConfigChange>* changes) {
  const auto value = [](const Json& json, const std::string& key) {
    return json.contains(key) ? json[key].dump() : std::string("not set");
  };
  for (const Json* json : {&after, &before}) {
    for (const auto& item : json->items()) {
      const std::string& key = item.key();
      const bool both = before.contains(key) && after.contains(key);
      if (item.value().is_object() || (both && (before[key] == after[key] || json == &before))) continue;
      changes->push_back({key, value(before, key), value(after, key), of_task});
    }
  }
}

absl::Status ParseConfigs(absl::string_view then, absl::string_view now, Json* before, Json* after) {
  *before = Json::parse(then.begin(), then.end(), nullptr, /*allow_exceptions=*/false);
  *after = Json::parse(now.begin(), now.end(), nullptr, /*allow_exceptions=*/false);
  if (!before->is_object() || !after->is_object()) {
    return absl::FailedPreconditionError("the options of the run to resume cannot be read");
  }
  Rename(before);
  Rename(after);
  return absl::OkStatus();
}

// Mixed precision is the trainer's where LibTorch computes, else the task's: one setting of one run.
void MovePrecisionToTask(Json* config) {
  const auto mixed = config->find("precision");
  if (mixed == config->end()) return;
  (*config)["task"]["precision"] = Json(*mixed);
  config->erase("precision");
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
  if (change.name == "data") return change.after;
  const SettingInfo* row = FindRow(change.name);
  const bool derived = row != nullptr && row->derived != nullptr;
  return absl::StrCat(change.name, derived ? absl::StrCat(" (", row->derived, ")") : "", " is ", change.after,
                      ", but the run to resume has ", change.before);
}

bool IsOneOf(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void AddParts(const SettingInfo& row, bool comes_or_goes, ResetOnResume* parts) {
  if (row.resets_if_it_comes_or_goes && !comes_or_goes) return;
  parts->epoch |= row.Resets(RunPart::kEpoch);
  parts->optimizer |= row.Resets(RunPart::kOptimizer);
  parts->schedule |= row.Resets(RunPart::kSchedule);
  parts->judgment |= row.Resets(RunPart::kBestModel);
  parts->ema |= row.Resets(RunPart::kEma);
  parts->average_best |= row.Resets(RunPart::kAverageBest);
}

template <typename Options>
void AddRows(absl::Span<const Setting<Options>> table, std::vector<const SettingInfo*>* rows) {
  for (const Setting<Options>& row : table) rows->push_back(&row);
}

}  // namespace

absl::Span<const SettingInfo* const> ResumeSettings() {
  static const auto* rows = [] {
    auto* all = new std::vector<const SettingInfo*>();
    AddRows(OptimizerSettings(), all);
    AddRows(ParameterGroupSettings(), all);
    AddRows(ScheduleSettings(), all);
    AddRows(EmaSettings(), all);
    return all;
  }();
  return *rows;
}

std::string ResumeConfigJson(const TrainerOptions& options, const std::map<std::string, std::string>& task) {
  return ResumeConfig(options, task).dump();
}

absl::StatusOr<std::vector<ConfigChange>> ConfigChanges(absl::string_view then, absl::string_view now) {
  Json before, after;
  RETURN_IF_ERROR(ParseConfigs(then, now, &before, &after));
  std::vector<ConfigChange> changes;
  // Runs of versions that did not write the task's options can be resumed.
  const bool have_tasks = before.contains("task") && after.contains("task");
  if (have_tasks) {
    MovePrecisionToTask(&before);
    MovePrecisionToTask(&after);
  }
  AddChanges(before, after, /*of_task=*/false, &changes);
  if (have_tasks) {
    Json known = after["task"];
    if (!before["task"].contains(kSpecies)) {
      for (const char* key : kDescriptor) known.erase(key);
    }
    AddChanges(before["task"], known, /*of_task=*/true, &changes);
  }
  return changes;
}

bool MayChange(absl::string_view option) {
  const SettingInfo* row = FindRow(option);
  return row != nullptr && row->on_resume == OnResume::kMayChange;
}

absl::Status CheckChanges(absl::Span<const ConfigChange> changes, absl::Span<const std::string> overrides) {
  if (Contains(overrides, "all")) return absl::OkStatus();
  std::vector<std::string> names;
  std::string text;
  for (const ConfigChange& change : changes) {
    if (MayChange(change.name) || Overrides(overrides, change.name)) continue;
    names.push_back(change.name);
    absl::StrAppend(&text, names.size() > 1 ? "; " : "", Explain(change));
  }
  if (names.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(text, "; give the same, or --override=", absl::StrJoin(names, ","),
                                                    " to go on all the same, or start a new run"));
}

absl::Status CheckOverrides(absl::string_view then, absl::string_view now, absl::Span<const std::string> overrides) {
  Json before, after;
  RETURN_IF_ERROR(ParseConfigs(then, now, &before, &after));
  std::vector<std::string> names = {"all", "data"};
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

absl::Status CheckSameConfig(absl::string_view then, absl::string_view now) {
  ASSIGN_OR_RETURN(const std::vector<ConfigChange> changes, ConfigChanges(then, now));
  return CheckChanges(changes, {});
}

ResetOnResume PartsToReset(absl::Span<const ConfigChange> changes) {
  ResetOnResume parts;
  parts.finished = !changes.empty();
  for (const ConfigChange& change : changes) {
    const std::string& name = change.name;
    const bool comes_or_goes = change.before == "not set" || change.after == "not set";
    if (MayChange(name)) continue;
    if (const SettingInfo* row = FindRow(name); row != nullptr) {
      AddParts(*row, comes_or_goes, &parts);
      continue;
    }
    if (IsOneOf(name, {"seed", "data", "batch_size", "shuffle", "sampling_policy", "bucket_window",
                       "accumulate_grad_batches", "limit_train_batches", "overfit_batches"})) {
      parts.epoch = true;
    }
    if (IsOneOf(name, {"parameter_groups", "precision"})) parts.optimizer = true;
    if (name == "average_best") parts.average_best = true;
    if (IsOneOf(name, {"data", "sampling_policy", "compile_preset"})) parts.task = true;
    // What measures a model: other examples, another figure, and all that the task says of itself.
    if (IsOneOf(name, {"data", "overfit_batches", "limit_val_batches", "monitor"}) || change.of_task) {
      parts.judgment = true;
    }
  }
  return parts;
}

std::string ConfigJson(const TrainerOptions& options, const std::map<std::string, std::string>& task,
                       const Metadata& provenance) {
  Json json = ResumeConfig(options, task);
  json["max_epochs"] = options.stop.max_epochs;
  json["max_steps"] = options.stop.max_steps;
  json["max_time"] = absl::FormatDuration(options.stop.max_time);
  json["patience"] = options.stop.patience;
  json["min_delta"] = options.stop.min_delta;
  json["min_epochs"] = options.stop.min_epochs;
  json["min_steps"] = options.stop.min_steps;
  json["compile_mode"] = Text(CompileModeName(options.compile_mode));
  json["device"] = options.eager.device;
  json["num_workers"] = options.num_workers;
  json["prefetch_factor"] = options.prefetch_factor;
  json["persistent_workers"] = options.persistent_workers;
  json["logger"] = LogFormatsName(options.log_formats);
  json["log_every_n_steps"] = options.log_every_n_steps;
  for (const auto& [key, value] : provenance) json["provenance"][key] = value;
  const Json more = Json::parse(options.config_json, nullptr, /*allow_exceptions=*/false);
  if (more.is_object()) json.update(more);
  // Bytes that are no UTF-8 (a file name may hold them) are replaced, not thrown at the user.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rutile
