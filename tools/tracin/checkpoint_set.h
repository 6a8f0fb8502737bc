// The checkpoints, or models, at which gradients are taken: the arguments of tracin.

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

// Either checkpoints of one run, in its order, or model files of one kind.
struct CheckpointSet {
  std::vector<std::string> paths;
  std::vector<std::string> sha256;             // of the files
  std::vector<double> rates;                   // what their products count
  std::vector<CheckpointSummary> checkpoints;  // empty: they are model files
  bool is_kge = false;                         // else a potential

  bool are_models() const { return checkpoints.empty(); }
  size_t size() const { return paths.size(); }
};

// INVALID_ARGUMENT: no argument, a file of another kind, kinds mixed, a file twice, no learning rate; the errors of
// OrderCheckpoints. Prints what was left out.
absl::StatusOr<CheckpointSet> PointsFromArguments(absl::Span<const std::string> arguments, const TracinFlags& flags);

// Model file of the run: --model, else best or last in the run directory of the first checkpoint; of models, the first.
// "" where there is none.
std::string ModelPath(const CheckpointSet& points, const TracinFlags& flags);

// "run" of "run/checkpoints/epoch-00002.safetensors"; "." of "checkpoints/...". "" elsewhere.
std::string RunDirectoryOf(const std::string& checkpoint);

// F32 or F64, of --precision, where the parameters have type `own`.
DType PointPrecision(const TracinFlags& flags, DType own);

// Parameters and preconditioner of a checkpoint; not for models. loss_weight is left empty.
absl::StatusOr<WeightedCheckpoint> ReadPoint(const CheckpointSet& points, size_t point,
                                             absl::Span<const ParameterSlice> slices, DType precision, bool adam);

// `from`, as a tensor of `dtype` (F32 or F64).
Tensor ConvertTensor(const Tensor& from, DType dtype);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_CHECKPOINT_SET_H_
