// Checkpoints: everything that a run needs to continue as if it had never stopped (file kind checkpoint/1).
//
// Example:
//   ASSIGN_OR_RETURN(Checkpoint state, LoadCheckpoint(path, task.parameter_slices(), task.parameter_dtype(),
//                                                     static_cast<int>(task.terms().size())));
//   ...  // train: state.parameters, state.step and so on change
//   RETURN_IF_ERROR(SaveCheckpoint(path, state, task.parameter_slices(), provenance));

#ifndef RUTILE_LIB_TRAIN_FILES_CHECKPOINT_H_
#define RUTILE_LIB_TRAIN_FILES_CHECKPOINT_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/task/framed_model.h"
#include "lib/task/loss_terms.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The state of a run. Random numbers are functions of the seed and of the counts below, so there is no generator state.
struct Checkpoint {
  uint64_t seed = 0;
  int64_t epoch = 0;                // epochs completed
  int64_t batch = 0;                // batches done of the next epoch; all of them if only its validation is missing
  int64_t step = 0;                 // optimizer steps done
  Tensor parameters;                // [P]
  TermSums epoch_sums;              // of the batches done
  double learning_rate = 0;         // of the last step
  double rate_sum = 0;              // of all steps; NaN: the run began with a version that did not add them up
  std::vector<double> loss_weight;  // [T] d loss / d sum[t] over the last epoch: what an example's term counted for
  std::vector<double> loss_count;   // [T] values in those sums; empty before the end of the first epoch
  // The best model so far, by the monitored value.
  Tensor best_parameters;  // [P]
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t best_epoch = 0;  // 0: there is none yet
  int64_t best_step = 0;
  NamedTensors optimizer;  // the states of these parts, each checked by its owner
  NamedTensors schedule;
  NamedTensors stopping;
  NamedTensors task;
  NamedTensors ema;           // empty without a moving average
  Tensor ema_parameters;      // [P]; no elements before the average begins
  NamedTensors average_best;  // empty without averaging
  NamedTensors top;           // which checkpoints are the best k; empty if none are kept
  // Weight of each training example, from which this epoch was drawn; empty between epochs and without a policy.
  std::vector<double> sampling_weight;
  int64_t validated_step = -1;  // the step after which the validation set was last evaluated
  int64_t observed_step = -1;   // the step of observed_loss, which need not be a validation's
  double observed_loss = std::numeric_limits<double>::quiet_NaN();  // the monitored value last seen
  int64_t kept_step = -1;   // the step whose numbered checkpoint was written last
  int64_t log_rows = 0;     // of log.tsv that belong to this state
  std::string config;       // JSON: the options that a resumed run must share
  uint64_t data = 0;        // Fingerprint of the split
  std::string data_sha256;  // SHA-256 of the content of the inputs; empty: unknown
  ModelFrame frame;         // of the parameters; empty: the task has none, or the run is of a version without
  // One line for each time that the run went on with other settings or data: "step 12: seed is 2, was 1".
  std::string changes;
};

// Copies all tensors, reusing the memory of `to` where it fits, so that `from` may change while `to` is written.
void CopyCheckpoint(const Checkpoint& from, Checkpoint* to);

// Schema of the file. Parameters are stored by name: "parameters.network.Ti.0.weight", "best.network...".
const Schema& CheckpointSchema();

// Writes the file atomically. `provenance` joins the metadata.
absl::Status SaveCheckpoint(absl::string_view path, const Checkpoint& checkpoint,
                            absl::Span<const ParameterSlice> slices, const Metadata& provenance);

// Reads a checkpoint and verifies its checksums. DATA_LOSS naming path and rule if the file is truncated or damaged;
// NOT_FOUND or another error of the file system if it cannot be read; INVALID_ARGUMENT naming path and tensor if the
// file is intact but no checkpoint, or was made for other parameters. The terms are those of the loss that the run had.
absl::StatusOr<Checkpoint> LoadCheckpoint(absl::string_view path, absl::Span<const ParameterSlice> slices, DType dtype);

// What Checkpoint::changes call other data, and whether they say that the run went on with such.
constexpr char kOtherData[] = "other data";
bool WentOnWithOtherData(absl::string_view changes);
// Reads Checkpoint::changes alone. Returns the errors of LoadCheckpoint, but does not verify checksums.
absl::StatusOr<std::string> ReadCheckpointChanges(absl::string_view path);

// Reads the frame alone; empty if the file has none. Returns the errors of LoadCheckpoint.
absl::StatusOr<ModelFrame> ReadCheckpointFrame(absl::string_view path);

// Position of a checkpoint in its run.
struct CheckpointPlace {
  int64_t epoch = 0;
  int64_t batch = 0;
  int64_t step = 0;
};
// Reads the position without loading the tensors. Returns the errors of LoadCheckpoint, but does not verify checksums.
absl::StatusOr<CheckpointPlace> ReadCheckpointPlace(absl::string_view path);

// Returns a hash of the training and validation examples, to detect that they changed.
uint64_t Fingerprint(int64_t num_examples, absl::Span<const int64_t> train, absl::Span<const int64_t> validation);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_CHECKPOINT_H_
