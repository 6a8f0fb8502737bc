// Where a run keeps its files, and that no run is lost to another by accident.

#ifndef RUTILE_LIB_TRAIN_FILES_RUN_DIRECTORY_H_
#define RUTILE_LIB_TRAIN_FILES_RUN_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/file.h"
#include "lib/base/file_lock.h"

namespace rutile {

// What to do with a directory that holds a run.
enum class RunMode {
  kNew,          // refuse
  kResume,       // go on from its checkpoint; refuse when it has none, or it is damaged
  kResumeOrNew,  // go on from its newest whole checkpoint, else start: for scripts that run the same command again
  kOverwrite,    // start; the old run's files are removed (RemoveRun)
};

// Held while a run trains.
struct RunPlace {
  FileLock lock;
  bool resume = false;
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
  // In recovery/, so that what looks at checkpoints/ sees no state twice:
  std::string previous() const {
    return path_ + "/recovery/previous.safetensors";
  }                                                                          // the one that `checkpoint` replaced
  std::string next() const { return path_ + "/recovery/next.safetensors"; }  // about to replace it
  std::string replaced() const { return path_ + "/recovery/replaced.safetensors"; }  // damaged, or left by going back
  std::string to_remove() const { return path_ + "/recovery/remove.txt"; }  // names that the next checkpoint gives up
  std::string lock() const { return path_ + "/lock"; }
  // "checkpoints/epoch-00012.safetensors": kept, for those who look at a run's course.
  std::string epoch_checkpoint(int64_t epoch) const;
  std::string step_checkpoint(int64_t step) const;  // "checkpoints/step-000001200.safetensors"

  std::string named_checkpoint(absl::string_view name) const;   // "checkpoints/NAME"
  absl::Status RemoveCheckpoint(absl::string_view name) const;  // of the name; OK where there is none
  // Removes those that to_remove() names but for `kept`, and then that file: what a process that was killed had to do.
  absl::Status RemoveNamed(absl::Span<const std::string> kept) const;
  absl::Status RemoveToRemove() const;  // that file alone
  absl::Status RemovePrevious() const;
  // Moves log.* and steps.* to recovery/.
  absl::Status SetLogsAside() const;

  // Any of the files above is there that every run has.
  bool HoldsRun() const;
  // A last or previous checkpoint is there, whole or not.
  bool HasCheckpoint() const { return FileExists(checkpoint()) || FileExists(previous()); }
  // Paths of epoch-*, step-* and top-*, in the order of their names.
  std::vector<std::string> NumberedCheckpoints() const;
  // Whether a file is one of this run's checkpoints, wherever its path begins.
  bool Holds(absl::string_view checkpoint) const;

  // Before anything is made: whether files can be, and nobody else trains here. PERMISSION_DENIED, FAILED_PRECONDITION
  // naming the process.
  absl::Status CheckUsable() const;
  // Whether to resume. Makes the directories, and removes nothing yet. resume_from: a checkpoint of this run or of
  // another, which goes on here then; "": the directory's own.
  // ALREADY_EXISTS (kNew; a run here that is not that of resume_from), NOT_FOUND (kResume), or an error of the file
  // system.
  absl::StatusOr<bool> Open(RunMode mode, absl::string_view resume_from = "") const;

  // CheckUsable and Open, and keeps other processes out until the result is gone. Temporary files of processes that
  // were killed are removed.
  absl::StatusOr<RunPlace> Enter(RunMode mode, absl::string_view resume_from) const;

  // next() becomes checkpoint(), which becomes previous(): two generations, each whole at every moment.
  absl::Status Promote() const;
  // next() becomes checkpoint(), which becomes replaced(): previous() stays.
  absl::Status Replace() const;

  // Removes the files named above and no others: for a new run, once it is known that it can start.
  absl::Status RemoveRun() const;

 private:
  std::vector<std::string> Files() const;  // but for checkpoints
  absl::Status RemoveTemporaries() const;

  std::string path_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_RUN_DIRECTORY_H_
