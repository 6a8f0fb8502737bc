// Sums and gradients of a step, added up over the processes that train together.

#ifndef RUTILE_LIB_TRAIN_GRADIENT_REDUCER_H_
#define RUTILE_LIB_TRAIN_GRADIENT_REDUCER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/agreement.h"

namespace rutile {

// In two calls, as a loss needs the sums of all before its terms can be weighed. Small gradients go with the sums,
// since each exchange has its own delay; large ones are combined first, which halves the bytes of two terms.
class GradientReducer {
 public:
  // nullptr: alone.
  explicit GradientReducer(Agreement* agreement) : agreement_(agreement) {}

  absl::Status ReduceTerms(TermSums* sums, absl::Span<Tensor> gradients);
  // Where ReduceTerms left them: the combination of the gradients. True when it has changed.
  absl::StatusOr<bool> ReduceCombined(Tensor* combined);

 private:
  bool alone() const { return agreement_ == nullptr || agreement_->alone(); }

  Agreement* const agreement_;
  bool reduced_ = true;
  std::vector<double> buffer_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_GRADIENT_REDUCER_H_
