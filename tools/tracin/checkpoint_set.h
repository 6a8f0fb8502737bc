// The checkpoints or models at which gradients are taken: the arguments of tracin.

#ifndef RUTILE_TOOLS_TRACIN_CHECKPOINT_SET_H_
#define RUTILE_TOOLS_TRACIN_CHECKPOINT_SET_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/files/checkpoint_series.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Either checkpoints of one run, ordered by step, or model files of one kind.
struct CheckpointSet {
  std::vector<std::string> paths;
  std::vector<std::string> sha256;             // SHA-256 of the files
  std::vector<double> rates;                   // weight of each checkpoint's products
  std::vector<CheckpointSummary> checkpoints;  // empty for model files
  std::vector<CheckpointSummary> unrolled;     // with --unrolled: all of them, of which `checkpoints` has the last
  bool is_kge = false;                         // false: a potential
  bool has_group_rates = false;                // groups of parameters may have other rates: GroupRates

  bool are_models() const { return checkpoints.empty(); }
  size_t size() const { return paths.size(); }
};

// Reads the checkpoint set and prints which checkpoints were left out. INVALID_ARGUMENT: no argument, a file of another
// kind, mixed kinds, a file given twice, no learning rate; the errors of OrderCheckpoints.
absl::StatusOr<CheckpointSet> CheckpointsFromArguments(absl::Span<const std::string> arguments,
                                                       const TracinFlags& flags);

// Returns the model file of the run: --model, else best or last in the run directory of the first checkpoint, or the
// first model file. "" if there is none.
std::string ModelPath(const CheckpointSet& checkpoint_set, const TracinFlags& flags);

// Returns "run" for "run/checkpoints/epoch-00002.safetensors", "." for "checkpoints/...", and "" for other paths.
std::string RunDirectoryOf(const std::string& checkpoint);

// Returns F32 or F64 by --precision, for parameters of type `own`.
DType CheckpointPrecision(const TracinFlags& flags, DType own);

// Reads the parameters and the preconditioner of a checkpoint (not of a model file). loss_weight is left empty.
absl::StatusOr<WeightedCheckpoint> ReadWeightedCheckpoint(const CheckpointSet& checkpoint_set, size_t index,
                                                          absl::Span<const ParameterSlice> slices, DType precision,
                                                          bool adam);

// Returns the preconditioner alone: Adam's, or the rates of groups of parameters; without elements if there is none.
absl::StatusOr<Tensor> PreconditionerOf(const CheckpointSet& checkpoint_set, size_t index,
                                        absl::Span<const ParameterSlice> slices, DType precision, bool adam);

// Converts a tensor to `dtype` (F32 or F64).
Tensor ConvertTensor(const Tensor& from, DType dtype);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_CHECKPOINT_SET_H_
