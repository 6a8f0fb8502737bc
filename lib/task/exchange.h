// Sums over the processes that train one model together, for tasks that must communicate in the middle of a batch.

#ifndef RUTILE_LIB_TASK_EXCHANGE_H_
#define RUTILE_LIB_TASK_EXCHANGE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// An all-reduce. All processes make the same calls in the same order; each call returns when all have made it. An error
// ends the run: nothing may be called after it.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;  // 0 .. size() - 1
  virtual int size() const = 0;

  // Replaces `values` by their sum over all processes, which has the same bits in each of them.
  virtual absl::Status Sum(absl::Span<double> values) = 0;
  // Replaces a flat tensor, F32 or F64, by its sum over all processes, added in its type, with the same bits in each.
  virtual absl::Status Sum(Tensor* values) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EXCHANGE_H_
