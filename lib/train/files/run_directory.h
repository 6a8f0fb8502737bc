// The directory of a run: its file names, and protection against two runs sharing it.

#ifndef RUTILE_LIB_TRAIN_FILES_RUN_DIRECTORY_H_
#define RUTILE_LIB_TRAIN_FILES_RUN_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/file/file.h"
#include "lib/file/file_lock.h"

namespace rutile {

// What to do if the directory already holds a run.
enum class RunMode {
  kNew,          // refuse
  kResume,       // continue from its checkpoint; refuse if it has none, or it is damaged
  kResumeOrNew,  // continue from its newest whole checkpoint, else start: for scripts that rerun one command
  kOverwrite,    // start; the files of the old run are removed (RemoveRun)
};

// The lock on the directory, which a process holds while it trains.
struct RunPlace {
  FileLock lock;
  bool resume = false;
};

// Names the files of a run and changes them in ways that survive a crash. The object holds only the path.
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
  std::string learning_curve() const { return path_ + "/learning_curve.svg"; }
  std::string failed_batch() const { return path_ + "/failed-batch.safetensors"; }
  std::string checkpoint() const { return path_ + "/checkpoints/last.safetensors"; }
  // The files in recovery/ are kept there so that readers of checkpoints/ do not see a state twice.
  std::string previous() const { return path_ + "/recovery/previous.safetensors"; }  // the former `checkpoint`
  std::string next() const { return path_ + "/recovery/next.safetensors"; }          // becomes the next `checkpoint`
  std::string replaced() const {
    return path_ + "/recovery/replaced.safetensors";
  }  // damaged, or abandoned by resuming from an earlier one
  std::string to_remove() const {
    return path_ + "/recovery/remove.txt";
  }  // names to remove once the next checkpoint is written
  // Exists only if the run has ended by its own limits. It is the last file that a run writes, and is removed when the
  // run goes on, so that make can tell a whole run from one that was stopped.
  std::string finished() const { return path_ + "/finished"; }
  std::string lock() const { return path_ + "/lock"; }
  // "checkpoints/epoch-00012.safetensors": a numbered checkpoint, kept for users who study the course of a run.
  std::string epoch_checkpoint(int64_t epoch) const;
  std::string step_checkpoint(int64_t step) const;  // "checkpoints/step-000001200.safetensors"

  std::string named_checkpoint(absl::string_view name) const;   // "checkpoints/NAME"
  absl::Status RemoveCheckpoint(absl::string_view name) const;  // OK if there is none
  // Removes the checkpoints named in to_remove(), except `kept`, and then that file: work that a killed process left.
  absl::Status RemoveNamed(absl::Span<const std::string> kept) const;
  absl::Status RemoveToRemove() const;  // removes to_remove() itself
  absl::Status RemovePrevious() const;
  // Writes finished(): a header and a row, why the run ended ("max_epochs=100") and its epochs and steps.
  absl::Status WriteFinished(absl::string_view reason, int64_t epochs, int64_t steps) const;
  absl::Status RemoveFinished() const;  // OK if there is none
  // Moves numbered checkpoints of later steps to recovery/: a run that went on from an earlier one does not go through
  // them. Damaged files stay.
  absl::Status SetLaterAside(int64_t step) const;
  // Moves log.* and steps.* to recovery/, as logs of another run.
  absl::Status SetLogsAside() const;

  // True if one of the files above exists that every run has.
  bool HoldsRun() const;
  // True if no file is in the directory or in those below it but the lock.
  bool IsEmpty() const;
  // True if a last or previous checkpoint exists, whole or not.
  bool HasCheckpoint() const { return FileExists(checkpoint()) || FileExists(previous()); }
  // Returns the paths of epoch-*, step-* and top-*, ordered by name.
  std::vector<std::string> NumberedCheckpoints() const;
  // True if the file is one of this run's checkpoints, through whichever path it is named.
  bool Holds(absl::string_view checkpoint) const;

  // Checks, before any work, that files can be created and that no other process trains here. PERMISSION_DENIED, or
  // FAILED_PRECONDITION naming the process.
  absl::Status CheckUsable() const;
  // Creates the directories and returns whether to resume. Removes nothing yet. resume_from: a checkpoint of this run,
  // or of another run that continues here; "": the directory's own. ALREADY_EXISTS (kNew; or a run here to which
  // resume_from does not belong), NOT_FOUND (kResume), or an error of the file system.
  absl::StatusOr<bool> Open(RunMode mode, absl::string_view resume_from = "") const;

  // Calls CheckUsable and Open, and locks the directory until the result is destroyed. Removes temporary files of
  // killed processes.
  absl::StatusOr<RunPlace> Enter(RunMode mode, absl::string_view resume_from) const;

  // Renames next() to checkpoint(), and the former checkpoint() to previous(). Two generations are whole at every
  // moment.
  absl::Status Promote() const;
  // Renames next() to checkpoint(), and the former checkpoint() to replaced(); previous() stays.
  absl::Status Replace() const;

  // Removes the files named above and no others. Call it for a new run once it is known that it can start.
  absl::Status RemoveRun() const;

 private:
  std::vector<std::string> Files() const;  // all except checkpoints
  absl::Status RemoveTemporaries() const;
  absl::Status SetAside(const std::string& file) const;  // moves it to recovery/

  std::string path_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_RUN_DIRECTORY_H_
