// Sums over the processes that train one model together, for tasks whose work meets in the middle of a batch.

#ifndef RUTILE_LIB_TASK_EXCHANGE_H_
#define RUTILE_LIB_TASK_EXCHANGE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// All processes make the same calls in the same order; each returns when all have called. An error ends the run:
// nothing can be called after it.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;  // 0 .. size() - 1
  virtual int size() const = 0;

  // In place, the sum over all processes: the same bits in each of them.
  virtual absl::Status Sum(absl::Span<double> values) = 0;
  // The same of a flat tensor, F32 or F64, added in its type.
  virtual absl::Status Sum(Tensor* values) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EXCHANGE_H_
