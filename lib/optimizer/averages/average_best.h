// The mean of the k best parameter vectors of a run, by the monitored value (SuperGradients' average_best_models).

#ifndef RUTILE_LIB_OPTIMIZER_AVERAGES_AVERAGE_BEST_H_
#define RUTILE_LIB_OPTIMIZER_AVERAGES_AVERAGE_BEST_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Collects copies of the best models of a run; their mean often generalizes better than the single best one.
class AverageBest {
 public:
  // Allocates k vectors. k: 1 or more; dtype: F32 or F64 (CHECK-fails otherwise). maximize: true if higher is better.
  AverageBest(int64_t k, bool maximize, DType dtype, int64_t num_parameters);

  // Reports a validation. Copies the parameters and returns true if they are among the k best so far. Of equal losses
  // the earlier stays; a NaN loss is never kept.
  bool Observe(double loss, int64_t epoch, int64_t step, const Tensor& parameters);

  int64_t size() const { return static_cast<int64_t>(losses_.size()); }  // models kept so far, at most k
  // Returns the mean [P], summed in fp64. CHECK-fails if no model is kept.
  Tensor Mean() const;

  // Returns parameters [k, P] (unused rows are 0), loss f64 [n], epoch and step i64 [n], n = size(). "parameters"
  // shares memory with this object: write or copy it before the next Observe.
  NamedTensors State() const;
  // Copies the state. INVALID_ARGUMENT, and no change, if a tensor is missing or does not fit.
  absl::Status SetState(const NamedTensors& state);

 private:
  const int64_t k_;
  const bool maximize_;
  Tensor parameters_;           // [k, P]
  std::vector<double> losses_;  // [n], of the first rows
  std::vector<int64_t> epochs_;
  std::vector<int64_t> steps_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_AVERAGES_AVERAGE_BEST_H_
