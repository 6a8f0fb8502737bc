// Processes that train one model together: sums over all of them, and what they must agree on.
//
// All processes make the same calls in the same order; each returns when all have called. An error (a process died,
// hangs or is unreachable) is UNAVAILABLE or DEADLINE_EXCEEDED, says what was waited for and on whom it can lie, and
// ends the run: nothing can be called after it.

#ifndef RUTILE_LIB_TRAIN_COMMUNICATOR_H_
#define RUTILE_LIB_TRAIN_COMMUNICATOR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // 0 .. size() - 1; rank 0 writes
  virtual int size() const = 0;

  // In place, the sum over all processes: the same bits in each of them.
  virtual absl::Status Sum(absl::Span<double> values) = 0;
  // The same of a flat tensor, F32 or F64, added in its type.
  virtual absl::Status Sum(Tensor* values) = 0;
  // Starts the second Sum and returns: other threads do it, beside the calls of this class, after those that were
  // started before. `values` shares the bytes, which nobody may touch until FinishSums.
  virtual void StartSum(Tensor values) = 0;
  // Waits for all that were started. The first error.
  virtual absl::Status FinishSums() = 0;
  // What each process gave, by rank.
  virtual absl::StatusOr<std::vector<std::string>> Gather(absl::string_view own) = 0;
};

// Each of rank 0's settings ("key=value" lines) must be every other's. FAILED_PRECONDITION naming rank, key and both
// values, in all processes alike.
absl::Status CheckAgreement(Communicator& communicator, const std::vector<std::string>& settings);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_COMMUNICATOR_H_
