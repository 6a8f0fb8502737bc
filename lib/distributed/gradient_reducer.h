// Sums the terms and gradients of a step over processes that train together.

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
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Chooses how gradients travel. The loss needs the sums of all processes before its terms can be weighed, so
//   small gradients travel with the sums, because each exchange has its own latency;
//   a large gradient of a single term travels in buckets, as early as the task announces finished parts;
//   large gradients of several terms are combined first and travel in a second call, which halves the bytes of two;
//   gradients that were summed on GPUs (Agreement::devices) are left alone.
class GradientReducer {
 public:
  // agreement: nullptr for a single process.
  GradientReducer(Agreement* agreement, const Task& task);

  // Excludes frozen slices (Task::SetFrozen) of Task::parameter_slices() from the sums.
  void SetFrozen(const std::vector<ParameterSlice>& all, const std::vector<bool>& slices);

  // Returns the observer for the last batch before ReduceTerms, to be informed of finished gradients. nullptr: none.
  GradientObserver* Watch(absl::Span<Tensor> gradients);

  // Sums terms over all processes, and the gradients unless ReduceCombined must do that.
  absl::Status ReduceTerms(TermSums* sums, absl::Span<Tensor> gradients);
  // Sums the combined gradient if ReduceTerms did not sum the gradients. Returns true if *combined has changed.
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
