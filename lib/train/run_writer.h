// The files of a run that are written again and again: models and checkpoints.

#ifndef RUTILE_LIB_TRAIN_RUN_WRITER_H_
#define RUTILE_LIB_TRAIN_RUN_WRITER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/task/task.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/checkpoint.h"
#include "lib/train/run_directory.h"

namespace rutile {

// All return the errors of the file system and of Task::WriteModel.
class RunWriter {
 public:
  // `task` must outlive it.
  RunWriter(const Task& task, RunDirectory directory, Metadata provenance)
      : task_(task),
        directory_(std::move(directory)),
        provenance_(std::move(provenance)),
        slices_(task.parameter_slices()) {}

  // state.best_parameters have changed, or the file may be of another time than the state.
  void SetBestChanged() { best_is_written_ = false; }
  // best.safetensors, when it has changed since.
  absl::Status WriteBest(const Checkpoint& state);
  // It and last.safetensors, of `parameters`: the state's, or an average. loss: theirs; NaN when it is not known.
  absl::Status WriteModels(const Checkpoint& state, const Tensor& parameters, double loss);
  // average.safetensors. loss: NaN when it is not known.
  absl::Status WriteAverage(const Checkpoint& state, const Tensor& parameters, double loss) const;
  absl::Status WriteCheckpoint(const Checkpoint& state, absl::string_view path) const;
  // Models, then the checkpoint: until it is replaced, the old one leads to the same files again.
  absl::Status Save(const Checkpoint& state, const Tensor& parameters, double loss);

 private:
  const Task& task_;
  const RunDirectory directory_;
  const Metadata provenance_;
  const std::vector<ParameterSlice> slices_;
  bool best_is_written_ = true;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_RUN_WRITER_H_
