// Divides a batch among processes.

#ifndef RUTILE_LIB_DISTRIBUTED_WORK_SHARE_H_
#define RUTILE_LIB_DISTRIBUTED_WORK_SHARE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

// Returns the examples of `rank`, in their order. Every example is in exactly one share, and shares cost about the
// same: the most expensive example comes first, each goes to the share with the least cost so far (Graham, SIAM J.
// Appl. Math. 17, 416 (1969)). The result depends on examples and costs alone. A share can be empty.
std::vector<int64_t> WorkShare(const Task& task, absl::Span<const int64_t> examples, int rank, int size);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_WORK_SHARE_H_
