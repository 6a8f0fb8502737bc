// Divides a machine's processors among the processes on it. Launchers may bind each process to processors of its own
// (Slurm's task/affinity and task/cgroup, mpirun), or let all processes use all.

#ifndef RUTILE_LIB_DISTRIBUTED_PROCESSOR_SHARE_H_
#define RUTILE_LIB_DISTRIBUTED_PROCESSOR_SHARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace rutile {

// Returns a text for the other processes: the machine, the number of processors that this process may use at once, and
// their numbers, like "boot-id 2 0,1,4,5".
std::string OwnPlace();

// Returns the processors that fall to `rank`. places: the OwnPlace of all processes, by rank. A processor that n
// processes may use counts 1/n for each. 0 if there are fewer processors than processes. INVALID_ARGUMENT for a text
// that OwnPlace did not make.
absl::StatusOr<int> ProcessorShare(const std::vector<std::string>& places, int rank);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_PROCESSOR_SHARE_H_
