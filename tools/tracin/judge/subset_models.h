// The models that were trained on the subsets of a plan, and how they were trained.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_MODELS_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_MODELS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/files/subsets_file.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// How a model was trained.
struct TrainingSetup {
  std::string path;  // of the model, or evaluate's predictions with it
  std::string step;  // number of steps
  // What decided the model: metadata of its shape and loss, and, if its run is beside it, "--flag" of config.json and
  // data_sha256 of the last checkpoint.
  std::map<std::string, std::string> settings;
};

// A model that was trained on a subset.
struct SubsetModel {
  std::string path;
  int64_t subset = 0;
  std::string seed;
  TrainingSetup setup;
};

// Reads how a model was trained. INVALID_ARGUMENT: its run has not ended, or the file does not say.
absl::StatusOr<TrainingSetup> ReadTrainingSetup(const std::string& path);

// Returns the settings of a model file's metadata that decide what was trained; one that is recorded only where it is
// set has its default elsewhere.
std::map<std::string, std::string> SettingsOfModel(const Metadata& metadata);

// INVALID_ARGUMENT naming both files and what they differ in: the number of steps, or a setting that is known of both.
absl::Status CheckSameSetup(const TrainingSetup& first, const TrainingSetup& second);

// Finds the models that `predictions` names: model files or evaluate's predictions with them, lists of these
// (ExpandInputs), directories of runs, whose last.safetensors counts, or globs of files and directories.
// INVALID_ARGUMENT: a model that was not trained on a subset of the plan, or whose run has not ended; models that
// were not trained alike.
absl::StatusOr<std::vector<SubsetModel>> FindModels(absl::Span<const std::string> predictions, const SubsetPlan& plan);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_SUBSET_MODELS_H_
