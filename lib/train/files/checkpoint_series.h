// Reads the checkpoints of a run for influence functions: positions in the run, parameters and learning rates.

#ifndef RUTILE_LIB_TRAIN_FILES_CHECKPOINT_SERIES_H_
#define RUTILE_LIB_TRAIN_FILES_CHECKPOINT_SERIES_H_

#include <cstdint>
#include <functional>
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

// Description of a checkpoint/1 file, read without its large tensors.
struct CheckpointSummary {
  std::string path;
  uint64_t seed = 0;
  int64_t epoch = 0;  // completed epochs
  int64_t step = 0;
  int64_t batch = 0;  // done of the epoch after these; 0 at the end of one
  int64_t optimizer_step =
      0;                     // by the optimizer's own count, which begins again with its memory; `step` if it has none
  double learning_rate = 0;  // of the last step; 0 before the first
  double rate_sum = 0;       // of all steps; NaN: the file does not say
  std::vector<double> loss_weight;            // [T] d loss / d sum[t]; zeros before the end of the first epoch
  std::vector<double> loss_count;             // [T] values in those sums; empty: the file does not say
  uint64_t data = 0;                          // Fingerprint of the split
  std::string data_sha256;                    // SHA-256 of the inputs; empty: unknown
  std::map<std::string, std::string> config;  // the options of the run, as text
  std::map<std::string, std::string> task;    // options of its task (Task::ResumeConfig)
  // Name and shape of the parameters, in the order of the file. All have type `dtype`.
  std::vector<std::pair<std::string, std::vector<int64_t>>> parameters;
  DType dtype = DType::kF32;
};

// Reads the summary of a file. Returns the errors of ReadCheckpointPlace (checkpoint.h), or INVALID_ARGUMENT for a
// tensor that breaks a rule.
absl::StatusOr<CheckpointSummary> ReadCheckpointSummary(absl::string_view path);

// The checkpoints of one run, ordered by step.
struct CheckpointSeries {
  std::vector<CheckpointSummary> checkpoints;
  std::vector<std::string> messages;  // for the user: which checkpoints were left out
};

// Returns the settings that all checkpoints of a run have alike, with their values, from what one of them records of
// its task; the first that differs is told. What the record of an older version does not say is left out.
using SettingsOfTask =
    std::function<std::vector<std::pair<std::string, std::string>>(const std::map<std::string, std::string>& task)>;

// Orders checkpoints by step and checks that they belong to one run. Of several of one step in one directory, which
// hold the same parameters under the names that a run gives them (epoch-, step-, top-, last), the first given counts,
// and last.safetensors last. Messages tell what is left out, and another learning rate than before.
// INVALID_ARGUMENT naming both files: a file given twice, two of one step in different directories, or different runs
// (seed, split, names or shapes of parameters, a setting of settings_of that both have). INVALID_ARGUMENT also if none
// is given.
absl::StatusOr<CheckpointSeries> OrderCheckpoints(std::vector<CheckpointSummary> checkpoints,
                                                  const SettingsOfTask& settings_of);

// Returns the flat parameters [P], converted to `dtype` (F32 or F64). Checksums are verified. DATA_LOSS for a damaged
// file, INVALID_ARGUMENT naming file and tensor if it was made for other parameters.
absl::StatusOr<Tensor> ReadCheckpointParameters(absl::string_view path, absl::Span<const ParameterSlice> slices,
                                                DType dtype);

// Returns the diagonal preconditioner of Adam or AdamW in the step after this checkpoint, by which the momentum of a
// gradient is multiplied: 1 / (sqrt(v / (1 - beta2^t)) + epsilon), [P] of `dtype`; v is max_exp_avg_sq of a run with
// amsgrad, else exp_avg_sq. INVALID_ARGUMENT if the run had another optimizer or parameter groups with optimizers of
// their own, or if the checkpoint is from before the first step.
absl::StatusOr<Tensor> AdamPreconditioner(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices,
                                          DType dtype);

// Returns the damping of a Newton step that stands for the rest of this run, [P]: with it, (H + D)^-1 for the Hessian H
// of the loss is what gradient flow in the optimizer's metric M has reached after the sum of rates tau,
// (I - exp(-tau M^-1 H)) H^-1 to first order at both ends: D = M / tau. M is sqrt(v / (1 - beta2^t)) + epsilon for adam
// and adamw, and (1 - momentum) / (1 - dampening) for sgd. Weight decay adds its own curvature: lambda, with adamw
// lambda M. Buffers get 0. INVALID_ARGUMENT if the run had another optimizer or groups of parameters, or if the file
// does not say the sum of rates.
absl::StatusOr<std::vector<double>> RunDamping(const CheckpointSummary& checkpoint,
                                               absl::Span<const ParameterSlice> slices);

// Returns what the run's learning rate was multiplied by for each parameter, [P] of `dtype`, where it had groups of
// parameters with rates of their own; a tensor without elements if all had the run's. INVALID_ARGUMENT naming the file
// if its groups took turns, so that there is no one rate, or cannot be read.
absl::StatusOr<Tensor> GroupRates(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices,
                                  DType dtype);

// Checks that the checkpoint has these parameters. INVALID_ARGUMENT naming the first that differs.
absl::Status CheckSameParameters(const CheckpointSummary& checkpoint, absl::Span<const ParameterSlice> slices);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_CHECKPOINT_SERIES_H_
