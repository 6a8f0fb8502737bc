#include "lib/train/tests/trainer_testing.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/optimizer/optimizer.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/files/run_directory.h"

namespace rutile {

std::string NewRunDirectory() {
  static int count = 0;
  const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(test->test_suite_name(), ".", test->name());
  std::replace(name.begin(), name.end(), '/', '_');
  return absl::StrCat(::testing::TempDir(), "/", name, ++count);
}

std::string FileBytes(const std::string& path) { return std::string(FileContents::Open(path).value().data()); }

Split ToySplit(const Task& task) {
  SplitOptions options;
  options.validation_fraction = 0.2;
  return SplitExamples(task.num_examples(), options).value();
}

TrainerOptions ToyOptions(int64_t max_epochs) {
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions("adam").value();
  options.optimizer.learning_rate = 0.02;
  options.batch_size = 5;
  options.seed = 11;
  options.stop.max_epochs = max_epochs;
  return options;
}

ToyTaskOptions NoisyToy() {
  ToyTaskOptions toy;
  toy.noise = 0.3;
  toy.root = true;
  return toy;
}

absl::StatusOr<TrainResult> TrainToyTask(const ToyTaskOptions& toy, const TrainerOptions& options,
                                         const std::string& directory) {
  ToyTask task(toy);
  return Train(task, ToySplit(task), options, directory, {});
}

absl::StatusOr<TrainResult> TrainNoisyToy(const TrainerOptions& options, const std::string& directory) {
  return TrainToyTask(NoisyToy(), options, directory);
}

Checkpoint LoadToyCheckpoint(const std::string& path) {
  return LoadCheckpoint(path, ToyTask({}).parameter_slices(), DType::kF64).value();
}

Checkpoint LastCheckpoint(const std::string& directory) {
  return LoadToyCheckpoint(RunDirectory(directory).checkpoint());
}

std::vector<std::string> CheckpointNames(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string LogWithoutTimes(const std::string& directory) {
  std::string text;
  const std::string log = FileBytes(RunDirectory(directory).log());
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '\t');
    absl::StrAppend(&text, absl::StrJoin(cells.begin(), cells.end() - 2, " "), "\n");
  }
  return text;
}

}  // namespace rutile
