// The mean of the k best parameter vectors of a run, by the monitored loss (SuperGradients' average_best_models).

#ifndef RUTILE_LIB_OPTIMIZER_AVERAGE_BEST_H_
#define RUTILE_LIB_OPTIMIZER_AVERAGE_BEST_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class AverageBest {
 public:
  // Memory: k vectors. k: 1 or more; dtype: F32 or F64 (CHECK-fails). maximize: a higher value is better.
  AverageBest(int64_t k, bool maximize, DType dtype, int64_t num_parameters);

  // After a validation. Copies the parameters if they are among the k best so far, and says whether. Of equal losses
  // the earlier stays; a loss that is NaN is never kept.
  bool Observe(double loss, int64_t epoch, int64_t step, const Tensor& parameters);

  int64_t size() const { return static_cast<int64_t>(losses_.size()); }  // kept so far, k at most
  // [P], added in fp64. CHECK-fails when nothing is kept.
  Tensor Mean() const;

  // parameters [k, P] (rows not used are 0), loss f64 [n], epoch and step i64 [n], n = size(). "parameters" shares
  // memory with this object: write or copy it before the next Observe.
  NamedTensors State() const;
  // Copies. INVALID_ARGUMENT when something is missing or does not fit; then nothing has changed.
  absl::Status SetState(const NamedTensors& state);

 private:
  const int64_t k_;
  const bool maximize_;
  Tensor parameters_;           // [k, P]
  std::vector<double> losses_;  // of the first rows
  std::vector<int64_t> epochs_;
  std::vector<int64_t> steps_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_AVERAGE_BEST_H_
