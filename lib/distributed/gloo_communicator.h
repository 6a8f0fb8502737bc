// Communicator over TCP, by LibTorch's c10d with Gloo.

#ifndef RUTILE_LIB_DISTRIBUTED_GLOO_COMMUNICATOR_H_
#define RUTILE_LIB_DISTRIBUTED_GLOO_COMMUNICATOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/rank_settings.h"

namespace rutile {

struct GlooOptions {
  absl::Duration timeout = absl::Seconds(30);  // of joining, and of each sum
  std::string interface;                       // network interface ("eth0"); empty: that of the way to rank 0,
                                               // on its own machine to the others
};

// Joins the others; returns when all are there. UNIMPLEMENTED where LibTorch has come without Gloo's headers;
// UNAVAILABLE or DEADLINE_EXCEEDED: the port is in use, rank 0 is not reached, too few came.
// *processors, where it is asked for: how many of this machine's processors fall to this process, at least 1.
absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankSettings& settings, const GlooOptions& options,
                                                       int* processors = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GLOO_COMMUNICATOR_H_
