// Writes the files that a run updates repeatedly: models and checkpoints.
//
// They can be written beside training: the state is copied, for which training waits, and a thread writes the copy.
// There is at most one copy at a time. A full or failing device then does not end the run: the old checkpoint is whole,
// the user is told once, and the next save tries again.

#ifndef RUTILE_LIB_TRAIN_FILES_RUN_WRITER_H_
#define RUTILE_LIB_TRAIN_FILES_RUN_WRITER_H_

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"

namespace rutile {

struct RunWriterOptions {
  bool beside_training = false;                       // Save returns before anything is written
  std::function<void(absl::string_view)> on_message;  // called with what could not be written
  std::function<absl::Status()> before_checkpoint;    // flushes files that a checkpoint refers to; called by any thread
};

// Writes models and checkpoints of one run. Unless stated otherwise, members return errors of the file system and of
// Task::WriteModel, and wait for a pending write.
class RunWriter {
 public:
  // `task` must outlive it.
  RunWriter(const Task& task, RunDirectory directory, Metadata provenance, RunWriterOptions options = {});
  ~RunWriter();  // waits for a pending write

  // Must be called if state.best_parameters changed, or if best.safetensors may not match the state.
  void SetBestChanged() { best_is_written_ = false; }
  // Must be called when the run has ended by its own limits: models that are written from now on say so, and
  // best.safetensors is written again if it does not. CHECK-fails while a copy is being written.
  void SetRunEnded();
  // Removes a numbered checkpoint once a new last checkpoint, which does not refer to it, is durable.
  void RemoveAfterSave(absl::string_view name) { former_.emplace_back(name); }

  // Writes best.safetensors if it has changed.
  absl::Status WriteBest(const Checkpoint& state);
  // Writes best.safetensors if it has changed, and last.safetensors from `parameters` (the state's, or an average).
  // loss: of `parameters`; NaN if it is not known.
  absl::Status WriteModels(const Checkpoint& state, const Tensor& parameters, double loss);
  // Writes average.safetensors. loss: NaN if it is not known.
  absl::Status WriteAverage(const Checkpoint& state, const Tensor& parameters, double loss);
  // Writes the last checkpoint; the one before becomes the previous one. Removes checkpoints due (RemoveAfterSave).
  absl::Status WriteLastCheckpoint(const Checkpoint& state);
  // Writes the last checkpoint of a run that resumes another checkpoint: the previous one stays, and the former last
  // one becomes `replaced`.
  absl::Status ReplaceLastCheckpoint(const Checkpoint& state);

  // Writes models, then the checkpoint. Until that is replaced, resuming from the old one leads to the same files
  // again.
  absl::Status SaveNow(const Checkpoint& state, const Tensor& parameters, double loss);

  // Saves during training: tolerates temporary errors and, if the options say so, writes beside training, in which case
  // errors are returned by the next call.
  absl::Status Save(const Checkpoint& state, const Tensor& parameters, double loss);
  // True while a copy is being written, when it is too early for another.
  bool busy() const;
  // Writes a numbered checkpoint; tolerates temporary errors.
  absl::Status Keep(const Checkpoint& state, absl::string_view path);
  // Returns OK for RESOURCE_EXHAUSTED and UNAVAILABLE, and tells the user the first time. Returns other errors.
  absl::Status Tolerate(const absl::Status& status);
  int64_t failures() const { return failures_; }  // number of tolerated errors
  // Tells the user of tolerated errors once more, at the end of a run, when all files are whole.
  void ReportFailures() const;
  // Returns the error of a final save that failed after `what`, with the consequences for the user.
  absl::Status NotWritten(const absl::Status& status, absl::string_view what) const;

  // Describes the last checkpoint for the user: "the checkpoint of epoch 3, step 120 is whole", "the last checkpoint is
  // whole" (if its position is unknown), or "there is no checkpoint yet".
  std::string Standing() const;

 private:
  // The content of one save.
  struct Job {
    Checkpoint state;
    Tensor parameters;
    double loss = 0;
    bool best = false;
    std::vector<std::string> former;
  };

  // Returns the provenance, and whether the run has ended.
  Metadata ModelMetadata() const;
  absl::Status WriteBestModel(const Checkpoint& state) const;
  absl::Status WriteLastModel(const Checkpoint& state, const Tensor& parameters, double loss) const;
  absl::Status WriteCheckpoint(const Checkpoint& state, const std::vector<std::string>& former) const;
  absl::Status Write(const Job& job) const;
  // Waits for the pending write and tolerates its error.
  absl::Status Wait();
  absl::Status Finished(const Job& job, const absl::Status& status);

  const Task& task_;
  const RunDirectory directory_;
  const Metadata provenance_;
  const RunWriterOptions options_;
  const std::vector<ParameterSlice> slices_;
  bool best_is_written_ = true;
  bool run_ended_ = false;
  std::vector<std::string> former_;
  int64_t failures_ = 0;
  int64_t saved_epoch_ = -1, saved_step_ = -1;
  Job job_;                           // being written, or memory for the next copy
  std::future<absl::Status> result_;  // valid while job_ is being written
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_RUN_WRITER_H_
