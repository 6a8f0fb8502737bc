// All that a run needs to go on as if it had never stopped: kind checkpoint/1.

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
#include "lib/task/task.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Random numbers are functions of the seed and of what is counted here, so there is no generator state.
struct Checkpoint {
  uint64_t seed = 0;
  int64_t epoch = 0;                // epochs completed
  int64_t batch = 0;                // batches done of the next epoch; all of them when only its validation is missing
  int64_t step = 0;                 // optimizer steps done
  Tensor parameters;                // [P]
  TermSums epoch_sums;              // of the batches done
  double learning_rate = 0;         // of the last step
  std::vector<double> loss_weight;  // [T] d loss / d sum[t] over the last epoch: what an example's term counted for
  // The best so far, by validation loss (training loss without a validation set).
  Tensor best_parameters;  // [P]
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t best_epoch = 0;  // 0: there is none yet
  int64_t best_step = 0;
  NamedTensors optimizer;  // the states of these parts, each checked by its owner
  NamedTensors schedule;
  NamedTensors stopping;
  NamedTensors task;
  NamedTensors ema;           // empty where there is none
  Tensor ema_parameters;      // [P]; of no elements before the average begins
  NamedTensors average_best;  // empty without averaging
  NamedTensors top;           // which checkpoints are the best k; empty where none are kept
  // Of each training example in this epoch, as drawn from when it began; empty between epochs and without a policy.
  std::vector<double> sampling_weight;
  int64_t validated_step = -1;  // the step after which the validation set was last looked at
  int64_t observed_step = -1;   // likewise the monitored value, which need not be the validation's
  double observed_loss = std::numeric_limits<double>::quiet_NaN();  // it, then
  int64_t kept_step = -1;   // the step whose numbered checkpoint was written last
  int64_t log_rows = 0;     // of log.tsv that belong to this state
  std::string config;       // JSON: the options that decide the course of a run
  uint64_t data = 0;        // Fingerprint of the split
  std::string data_sha256;  // of the content of the inputs; empty: nobody knows
};

// A copy in memory of its own, that of `to` where it fits: `from` may change while `to` is written.
void CopyCheckpoint(const Checkpoint& from, Checkpoint* to);

// What the file holds. Parameters lie in it under their names: "parameters.network.Ti.0.weight", "best.network...".
const Schema& CheckpointSchema();

// Atomic. `provenance` joins the metadata.
absl::Status SaveCheckpoint(absl::string_view path, const Checkpoint& checkpoint,
                            absl::Span<const ParameterSlice> slices, const Metadata& provenance);

// DATA_LOSS naming path and rule when the file is cut off or damaged (checksums are verified); NOT_FOUND and so on when
// it cannot be read. INVALID_ARGUMENT naming path and tensor when the file is whole but no checkpoint, or was made for
// other parameters or another number of terms.
absl::StatusOr<Checkpoint> LoadCheckpoint(absl::string_view path, absl::Span<const ParameterSlice> slices, DType dtype,
                                          int num_terms);

// Where a whole checkpoint is, read without its tensors' content. Errors as LoadCheckpoint's; checksums are not
// verified.
struct CheckpointPlace {
  int64_t epoch = 0;
  int64_t batch = 0;
  int64_t step = 0;
};
absl::StatusOr<CheckpointPlace> ReadCheckpointPlace(absl::string_view path);

// A number that differs when training or validation examples do.
uint64_t Fingerprint(int64_t num_examples, absl::Span<const int64_t> train, absl::Span<const int64_t> validation);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_CHECKPOINT_H_
