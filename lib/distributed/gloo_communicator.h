// Communicator over TCP, by Gloo in LibTorch's c10d.

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
  absl::Duration timeout = absl::Seconds(30);  // for joining, and for each sum
  std::string interface;                       // network interface ("eth0"); empty: the one toward rank 0 or,
                                               // on rank 0's machine, toward the others
};

// Joins the other processes; returns when all are connected. UNIMPLEMENTED if LibTorch was installed without Gloo's
// headers; UNAVAILABLE or DEADLINE_EXCEEDED if the port is in use, rank 0 cannot be reached, or too few processes came.
// processors: if not null, receives this process's share of the machine's processors, at least 1.
absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankSettings& settings, const GlooOptions& options,
                                                       int* processors = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GLOO_COMMUNICATOR_H_
