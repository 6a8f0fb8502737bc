// Where a run keeps its files, and that no run is lost to another by accident.

#ifndef RUTILE_LIB_TRAIN_RUN_DIRECTORY_H_
#define RUTILE_LIB_TRAIN_RUN_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// What to do with a directory that holds a run.
enum class RunMode {
  kNew,          // refuse
  kResume,       // go on from its checkpoint; refuse when it has none
  kResumeOrNew,  // go on where there is a checkpoint, else start: for scripts that run the same command again
  kOverwrite,    // start; the old run's files are removed (RemoveRun)
};

class RunDirectory {
 public:
  explicit RunDirectory(absl::string_view path) : path_(path) {}

  const std::string& path() const { return path_; }
  std::string best() const { return path_ + "/best.safetensors"; }
  std::string last() const { return path_ + "/last.safetensors"; }
  std::string average() const { return path_ + "/average.safetensors"; }
  std::string config() const { return path_ + "/config.json"; }
  std::string log() const { return log_stem() + ".tsv"; }
  std::string log_stem() const { return path_ + "/log"; }  // the forms of log_format.h end in .tsv and .jsonl
  std::string step_log_stem() const { return path_ + "/steps"; }
  std::string flags() const { return path_ + "/flags.txt"; }
  std::string learning_curve() const { return path_ + "/learning-curve.svg"; }
  std::string failed_batch() const { return path_ + "/failed-batch.safetensors"; }
  std::string checkpoint() const { return path_ + "/checkpoints/last.safetensors"; }
  // "checkpoints/epoch-00012.safetensors": kept, for those who look at a run's course.
  std::string epoch_checkpoint(int64_t epoch) const;
  std::string step_checkpoint(int64_t step) const;  // "checkpoints/step-000001200.safetensors"

  std::string named_checkpoint(absl::string_view name) const;   // "checkpoints/NAME"
  absl::Status RemoveCheckpoint(absl::string_view name) const;  // of the name; OK where there is none

  // Any of the files above is there that every run has.
  bool HoldsRun() const;

  // Whether to resume. Makes the directories, and removes nothing yet.
  // ALREADY_EXISTS (kNew), NOT_FOUND (kResume), or an error of the file system.
  absl::StatusOr<bool> Open(RunMode mode) const;

  // Removes the files named above and no others: for a new run, once it is known that it can start.
  absl::Status RemoveRun() const;

 private:
  std::vector<std::string> Files() const;  // but for checkpoints

  std::string path_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_RUN_DIRECTORY_H_
