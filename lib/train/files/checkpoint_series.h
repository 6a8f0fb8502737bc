// The checkpoints of a run as influence looks at them: places on its course, with parameters and learning rates.

#ifndef RUTILE_LIB_TRAIN_FILES_CHECKPOINT_SERIES_H_
#define RUTILE_LIB_TRAIN_FILES_CHECKPOINT_SERIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Of a file of kind checkpoint/1, read without the content of its large tensors.
struct CheckpointSummary {
  std::string path;
  uint64_t seed = 0;
  int64_t epoch = 0;  // completed
  int64_t step = 0;
  double learning_rate = 0;                   // of the last step; 0 before the first
  std::vector<double> loss_weight;            // [T]; zeros before the end of the first epoch
  uint64_t data = 0;                          // Fingerprint of the split
  std::string data_sha256;                    // of the inputs; empty: nobody knows
  std::map<std::string, std::string> config;  // the options of the run, as text
  std::map<std::string, std::string> task;    // those of its task (Task::Course)
  // Of the parameters, in the order of the file: name, shape. All have the type dtype.
  std::vector<std::pair<std::string, std::vector<int64_t>>> parameters;
  DType dtype = DType::kF32;
};

// Errors of ReadCheckpointPlace (checkpoint.h); INVALID_ARGUMENT for a tensor that breaks a rule.
absl::StatusOr<CheckpointSummary> ReadCheckpointSummary(absl::string_view path);

struct CheckpointSeries {
  std::vector<CheckpointSummary> checkpoints;
  std::vector<std::string> messages;  // for people: what was left out
};

// Puts them in the order of their steps. They must be given so, but for those called last.safetensors, which a shell's
// glob puts elsewhere: one that is where another one is, too, is left out. INVALID_ARGUMENT: none; two of one step, or
// an order that goes back; another run (its seed, its split, its model, names and shapes of parameters): names both
// files.
absl::StatusOr<CheckpointSeries> OrderCheckpoints(std::vector<CheckpointSummary> checkpoints);

// The flat parameters [P], converted to `dtype` (F32 or F64). Checksums are verified. DATA_LOSS for a damaged file,
// INVALID_ARGUMENT naming file and tensor when it was made for other parameters.
absl::StatusOr<Tensor> ReadCheckpointParameters(absl::string_view path, absl::Span<const ParameterSlice> slices,
                                                DType dtype);

// By what Adam and AdamW multiply a gradient's momentum in the step after this checkpoint, [P] of `dtype`:
// 1 / (sqrt(v / (1 - beta2^t)) + epsilon). INVALID_ARGUMENT: the run had another optimizer, or groups of parameters
// with optimizers of their own; a checkpoint before the first step.
absl::StatusOr<Tensor> AdamPreconditioner(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices,
                                          DType dtype);

// INVALID_ARGUMENT where the checkpoint's parameters are not these: names the first that differs.
absl::Status CheckSameParameters(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_CHECKPOINT_SERIES_H_
