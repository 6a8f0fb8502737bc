// The files of a run that are written again and again: models and checkpoints.
//
// While training they may be written beside it: the state is copied (what training waits for), and a thread writes the
// copy. One copy at a time is on its way. A device that is full or fails then does not end the run: the old checkpoint
// is whole, the user is told once, and the next save tries again.

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
  std::function<void(absl::string_view)> on_message;  // told of what could not be written
  std::function<absl::Status()> before_checkpoint;    // makes durable what a checkpoint counts on; by any thread
};

// Where nothing else is said, all return the errors of the file system and of Task::WriteModel, and wait for what is on
// its way.
class RunWriter {
 public:
  // `task` must outlive it.
  RunWriter(const Task& task, RunDirectory directory, Metadata provenance, RunWriterOptions options = {});
  ~RunWriter();  // waits

  // state.best_parameters have changed, or the file may be of another time than the state.
  void SetBestChanged() { best_is_written_ = false; }
  // A numbered checkpoint that goes once a checkpoint is durable that does not count on it.
  void RemoveAfterSave(absl::string_view name) { former_.emplace_back(name); }

  // best.safetensors, when it has changed since.
  absl::Status WriteBest(const Checkpoint& state);
  // It and last.safetensors, of `parameters`: the state's, or an average. loss: theirs; NaN when it is not known.
  absl::Status WriteModels(const Checkpoint& state, const Tensor& parameters, double loss);
  // average.safetensors. loss: NaN when it is not known.
  absl::Status WriteAverage(const Checkpoint& state, const Tensor& parameters, double loss);
  // The directory's last checkpoint; the one that it replaces is the previous one. What was to be removed is.
  absl::Status WriteLastCheckpoint(const Checkpoint& state);
  // The same for a run that goes on from another checkpoint: the previous one stays, what was last is `replaced`.
  absl::Status ReplaceLastCheckpoint(const Checkpoint& state);

  // Models, then the checkpoint: until it is replaced, the old one leads to the same files again.
  absl::Status SaveNow(const Checkpoint& state, const Tensor& parameters, double loss);

  // The same while training: tolerant, and beside training if the options say so; then errors come with the next call.
  absl::Status Save(const Checkpoint& state, const Tensor& parameters, double loss);
  // A copy is on its way: not yet time for another.
  bool busy() const;
  // A numbered checkpoint, tolerant.
  absl::Status Keep(const Checkpoint& state, absl::string_view path);
  // OK of RESOURCE_EXHAUSTED and UNAVAILABLE, which the user is told of the first time; other errors stay.
  absl::Status Tolerate(const absl::Status& status);
  int64_t failures() const { return failures_; }  // that were tolerated
  // Tells of them once more, at the end of a run, all of whose files are whole now.
  void ReportFailures() const;
  // What a last save that failed after `what` means to the user.
  absl::Status NotWritten(const absl::Status& status, absl::string_view what) const;

  // What the last checkpoint is of, for people: "the checkpoint of epoch 3, step 120 is whole", "the last checkpoint
  // is whole" (of which it is not known yet), or "there is no checkpoint yet".
  std::string Standing() const;

 private:
  // All that one save writes.
  struct Job {
    Checkpoint state;
    Tensor parameters;
    double loss = 0;
    bool best = false;
    std::vector<std::string> former;
  };

  absl::Status WriteBestModel(const Checkpoint& state) const;
  absl::Status WriteLastModel(const Checkpoint& state, const Tensor& parameters, double loss) const;
  absl::Status WriteCheckpoint(const Checkpoint& state, const std::vector<std::string>& former) const;
  absl::Status Write(const Job& job) const;
  // Waits for what is on its way, and tolerates its error.
  absl::Status Wait();
  absl::Status Finished(const Job& job, const absl::Status& status);

  const Task& task_;
  const RunDirectory directory_;
  const Metadata provenance_;
  const RunWriterOptions options_;
  const std::vector<ParameterSlice> slices_;
  bool best_is_written_ = true;
  std::vector<std::string> former_;
  int64_t failures_ = 0;
  int64_t saved_epoch_ = -1, saved_step_ = -1;
  Job job_;                           // on its way, or the memory of the last one
  std::future<absl::Status> result_;  // valid: it is
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_RUN_WRITER_H_
