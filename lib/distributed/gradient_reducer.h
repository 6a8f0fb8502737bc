// Sums and gradients of a step, added up over the processes that train together.

#ifndef RUTILE_LIB_DISTRIBUTED_GRADIENT_REDUCER_H_
#define RUTILE_LIB_DISTRIBUTED_GRADIENT_REDUCER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/distributed/agreement.h"
#include "lib/distributed/gradient_buckets.h"
#include "lib/task/gradient_observer.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A loss needs the sums of all before its terms can be weighed. So
//   small gradients go with the sums, since each exchange has its own delay;
//   a large one of one term goes in buckets, as far as the task says so while it still works on the rest;
//   large ones of several terms are combined first, in a second call, which halves the bytes of two;
//   what was summed on GPUs (Agreement::devices) is left alone.
class GradientReducer {
 public:
  // agreement: nullptr: alone.
  GradientReducer(Agreement* agreement, const Task& task);

  // Task::SetFrozen's slices of Task::parameter_slices(): no part of what is added up.
  void SetFrozen(const std::vector<ParameterSlice>& all, const std::vector<bool>& slices);

  // Who shall be told of the gradients while the last batch before ReduceTerms is worked on. nullptr: nobody.
  GradientObserver* Watch(absl::Span<Tensor> gradients);

  absl::Status ReduceTerms(TermSums* sums, absl::Span<Tensor> gradients);
  // Where ReduceTerms left them: the combination of the gradients. True when it has changed.
  absl::StatusOr<bool> ReduceCombined(Tensor* combined);

 private:
  bool alone() const { return agreement_ == nullptr || agreement_->alone(); }

  Agreement* const agreement_;
  const size_t num_terms_;
  std::optional<GradientBuckets> buckets_;  // of large gradients
  std::vector<double> buffer_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GRADIENT_REDUCER_H_
