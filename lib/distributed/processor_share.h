// How many of a machine's processors fall to each of the processes on it. Launchers may bind each to processors of its
// own (Slurm's task/affinity and task/cgroup, mpirun), or let all use all.

#ifndef RUTILE_LIB_DISTRIBUTED_PROCESSOR_SHARE_H_
#define RUTILE_LIB_DISTRIBUTED_PROCESSOR_SHARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace rutile {

// The machine, how many processors this process may use at once, and which, for the others: "boot-id 2 0,1,4,5".
std::string OwnPlace();

// Of all processes' places (OwnPlace), by rank: a processor that several may use counts for each as its part. 0 where
// there are fewer processors than processes. INVALID_ARGUMENT: not of OwnPlace.
absl::StatusOr<int> ProcessorShare(const std::vector<std::string>& places, int rank);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_PROCESSOR_SHARE_H_
