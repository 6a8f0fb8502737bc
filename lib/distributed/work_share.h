// Which part of a batch each of several processes works on.

#ifndef RUTILE_LIB_DISTRIBUTED_WORK_SHARE_H_
#define RUTILE_LIB_DISTRIBUTED_WORK_SHARE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

// The examples of `rank`, in their order: every example is in exactly one share, and shares cost about the same (the
// dearest example first, always to the share that has least; Graham, SIAM J. Appl. Math. 17, 416 (1969)). A function of
// examples and costs alone. A share can be empty.
std::vector<int64_t> WorkShare(const Task& task, absl::Span<const int64_t> examples, int rank, int size);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_WORK_SHARE_H_
