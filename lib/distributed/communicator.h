// Processes that train one model together: sums over all of them, and what they must agree on.
//
// All processes make the same calls in the same order; each returns when all have called. An error (a process died,
// hangs or is unreachable) is UNAVAILABLE or DEADLINE_EXCEEDED, says what was waited for and on whom it can lie, and
// ends the run: nothing can be called after it.

#ifndef RUTILE_LIB_DISTRIBUTED_COMMUNICATOR_H_
#define RUTILE_LIB_DISTRIBUTED_COMMUNICATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/task/device_sums.h"
#include "lib/task/exchange.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Rank 0 writes.
class Communicator : public Exchange {
 public:
  // Starts Sum of a tensor and returns: other threads do it, beside the calls of this class, after those that were
  // started before. `values` shares the bytes, which nobody may touch until FinishSums.
  virtual void StartSum(Tensor values) = 0;
  // Waits for all that were started. The first error.
  virtual absl::Status FinishSums() = 0;
  // For sums on this process's `device` ("cuda:1", "cpu"); nullptr where they go through the host instead: on
  // processors, without NCCL, or where two processes have one GPU. All processes call it, and come to the same.
  virtual absl::StatusOr<std::unique_ptr<DeviceSums>> JoinDevices(const std::string& device) {
    return std::unique_ptr<DeviceSums>();
  }
  // What each process gave, by rank.
  virtual absl::StatusOr<std::vector<std::string>> Gather(absl::string_view own) = 0;
};

// Each of rank 0's settings ("key=value" lines) must be every other's. FAILED_PRECONDITION naming rank, key and both
// values, in all processes alike.
absl::Status CheckAgreement(Communicator& communicator, const std::vector<std::string>& settings);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_COMMUNICATOR_H_
