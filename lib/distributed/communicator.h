// Collective operations of processes that train one model together.
//
// All processes make the same calls in the same order; each call returns when all have called. An error (a process
// died, hangs or is unreachable) is UNAVAILABLE or DEADLINE_EXCEEDED, tells what was waited for and which causes are
// possible, and ends the run: no call is allowed after it.
//
// Example:
//   ASSIGN_OR_RETURN(const std::optional<RankSettings> settings, RankFromEnvironment(std::getenv));
//   if (settings.has_value()) {
//     ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator, JoinGloo(*settings, GlooOptions()));
//     RETURN_IF_ERROR(communicator->Sum(&gradient));  // the same bits in all processes
//   }

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

// Sums (Exchange), sums in the background, and exchange of text. Rank 0 is the process that writes files.
class Communicator : public Exchange {
 public:
  // Starts a Sum in other threads, concurrent with calls of this class, after sums started before. `values` shares the
  // bytes, which must not be accessed until FinishSums.
  virtual void StartSum(Tensor values) = 0;
  // Waits for all sums started, and returns the first error.
  virtual absl::Status FinishSums() = 0;
  // Returns sums on this process's `device` ("cuda:1", "cpu"), or nullptr if sums must go through the host: on CPUs,
  // without NCCL, or if two processes share a GPU. All processes call it and get the same answer.
  virtual absl::StatusOr<std::unique_ptr<DeviceSums>> JoinDevices(const std::string& device) {
    return std::unique_ptr<DeviceSums>();
  }
  // Returns the texts of all processes, by rank.
  virtual absl::StatusOr<std::vector<std::string>> Gather(absl::string_view own) = 0;
};

// Checks that each of rank 0's settings ("key=value" lines) equals every other rank's. FAILED_PRECONDITION naming rank,
// key and both values, in all processes alike.
absl::Status CheckAgreement(Communicator& communicator, const std::vector<std::string>& settings);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_COMMUNICATOR_H_
