#include "tools/tracin/judge/subset_models.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/directory.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/kge/model/kge_options_text.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/files/run_directory.h"
#include "tools/tracin/judge/subset_flags.h"

namespace rutile {
namespace {

// Metadata of potentials that decide what was trained, and what a potential has that lacks one of them. The settings of
// embeddings are in a table of their own (KgeSettings).
struct PotentialKey {
  const char* key;
  const char* value;  // null: each potential has the key
};
constexpr PotentialKey kPotentialKeys[] = {
    {"descriptor", nullptr}, {"hidden", nullptr}, {"activation", nullptr}, {"channels", "none"}, {"layers", "none"}};

// Returns a setting; "" if it is not known: predictions do not have those of their model, nor does a model that was
// copied elsewhere have the flags of its run.
std::string SettingOf(const TrainingSetup& setup, const std::string& name) {
  const auto found = setup.settings.find(name);
  return found == setup.settings.end() ? std::string() : found->second;
}

bool IsDirectory(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string Text(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

// Adds the flags of the run, with their values, that decide the model, and the hash of its data. A model that was
// copied elsewhere has none.
absl::Status AddSettingsOfRun(const std::string& path, std::map<std::string, std::string>* settings) {
  const RunDirectory run(DirectoryOf(path));
  if (!FileExists(run.config())) return absl::OkStatus();
  if (FileExists(run.checkpoint())) {
    ASSIGN_OR_RETURN(const CheckpointSummary last, ReadCheckpointSummary(run.checkpoint()));
    if (!last.data_sha256.empty()) (*settings)["data_sha256"] = last.data_sha256;
  }
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(run.config()));
  const nlohmann::json json = nlohmann::json::parse(contents.data().begin(), contents.data().end(), nullptr, false);
  if (!json.is_object() || !json.contains("flags") || !json["flags"].is_object()) return absl::OkStatus();
  // The length of the run, and the version, decide what the flag means where it is auto.
  const bool by_step = json.contains("lr_per_step") && json["lr_per_step"] == true;
  const std::string interval =
      json.value("lr_interval", json.contains("lr_per_step") ? by_step ? "step" : "epoch" : "");
  for (const auto& [name, flag] : json["flags"].items()) {
    if (!DecidesModel(name) || !flag.is_object() || !flag.contains("value") || !flag["value"].is_string()) continue;
    std::string value = flag["value"].get<std::string>();
    // Earlier versions wrote the default of --warmup_start as a number.
    if (name == "warmup_start" && value == "0.3333333333333333") value = "1/3";
    if (name == "lr_interval" && !interval.empty()) value = interval;
    (*settings)[absl::StrCat("--", name)] = std::move(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<SubsetModel> DescribeModel(const std::string& path, const SubsetPlan& plan) {
  ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(path));
  SubsetModel model;
  model.path = path;
  model.seed = Text(look.metadata, kSubsetSeedKey);
  const std::string subset = Text(look.metadata, kSubsetKey);
  if (subset.empty() || !absl::SimpleAtoi(subset, &model.subset)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": was not trained on a subset: expected a model of train --subset=", plan.path, ":N"));
  }
  if (Text(look.metadata, kSubsetsSha256Key) != SubsetsSha256(plan) || model.subset < 0 ||
      model.subset >= plan.num_subsets) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": was trained on subset ", model.subset, " of another plan than ", plan.path));
  }
  ASSIGN_OR_RETURN(model.setup, ReadTrainingSetup(path));
  return model;
}

// Returns the directories and tensor files among the matches of a glob, sorted by bytes. A judge has the logs of
// its trainings beside them.
absl::StatusOr<std::vector<std::string>> Matches(const std::string& pattern) {
  glob_t matches;
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &matches);
  const absl::Cleanup free_matches = [&matches] { ::globfree(&matches); };
  if (result == GLOB_NOMATCH) {
    return absl::NotFoundError(absl::StrCat(pattern, ": nothing matches, expected models or directories of runs"));
  }
  if (result != 0) return ErrnoStatus(errno, pattern);
  std::vector<std::string> found(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  const auto end = std::remove_if(found.begin(), found.end(), [](const std::string& path) {
    return !IsDirectory(path) && !LooksLikeTensorFile(path);
  });
  if (end == found.begin()) {
    return absl::NotFoundError(absl::StrCat(pattern, ": no match is a directory of a run or a model"));
  }
  found.erase(end, found.end());
  std::sort(found.begin(), found.end());
  return found;
}

absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& word) {
  std::vector<std::string> names = {word};
  if (!FileExists(word) && !IsDirectory(word) && word.find_first_of("*?[") != std::string::npos) {
    ASSIGN_OR_RETURN(names, Matches(word));
  }
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (IsDirectory(name)) {
      files.push_back(RunDirectory(name).last());
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> found, ExpandInputs({name}));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace

std::map<std::string, std::string> SettingsOfModel(const Metadata& metadata) {
  std::map<std::string, std::string> settings;
  for (const PotentialKey& row : kPotentialKeys) {
    if (metadata.count(row.key) > 0) {
      settings[row.key] = Text(metadata, row.key);
    } else if (row.value != nullptr && metadata.count("descriptor") > 0) {
      settings[row.key] = row.value;
    }
  }
  for (const auto& [name, value] : KgeSettingsOf(metadata)) settings[name] = value;
  return settings;
}

absl::StatusOr<TrainingSetup> ReadTrainingSetup(const std::string& path) {
  ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(path));
  TrainingSetup setup;
  setup.path = path;
  setup.step = Text(look.metadata, "step");
  const std::string ended = Text(look.metadata, "run_ended");
  if (setup.step.empty() || ended.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": does not say after how many steps its run ended: it is of an older version; make it again"));
  }
  if (ended != "true") {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is of a run that has not ended (this is step ", setup.step,
                     "): it was stopped, or is still training; train --resume goes on with it"));
  }
  setup.settings = SettingsOfModel(look.metadata);
  RETURN_IF_ERROR(AddSettingsOfRun(path, &setup.settings));
  return setup;
}

absl::Status CheckSameSetup(const TrainingSetup& first, const TrainingSetup& second) {
  const auto refuse = [&](absl::string_view what, const std::string& of_first, const std::string& of_second) {
    return absl::InvalidArgumentError(absl::StrCat(second.path, ": has ", what, " ", of_second, ", and ", first.path,
                                                   " has ", of_first,
                                                   ": models are compared that were trained alike, and as long (of a "
                                                   "run last.safetensors)"));
  };
  if (first.step != second.step) return refuse("step", first.step, second.step);
  std::map<std::string, std::string> all = first.settings;  // for its names
  all.insert(second.settings.begin(), second.settings.end());
  for (const auto& [name, value] : all) {
    const std::string there = SettingOf(first, name), here = SettingOf(second, name);
    if (!there.empty() && !here.empty() && there != here) return refuse(name, there, here);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SubsetModel>> FindModels(absl::Span<const std::string> predictions, const SubsetPlan& plan) {
  std::vector<SubsetModel> models;
  for (const std::string& word : predictions) {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths, FilesOf(word));
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(SubsetModel model, DescribeModel(path, plan));
      if (!models.empty()) RETURN_IF_ERROR(CheckSameSetup(models[0].setup, model.setup));
      models.push_back(std::move(model));
    }
  }
  return models;
}

}  // namespace rutile
