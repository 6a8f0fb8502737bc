// Sums of batch norms over the processes that train one model together.

#ifndef RUTILE_LIB_KGE_LAYERS_BATCH_SUM_H_
#define RUTILE_LIB_KGE_LAYERS_BATCH_SUM_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace rutile {

// Replaces `values` by their sum over all processes, with the same bits in each. All processes make the same calls in
// the same order. An empty function means that this process is alone, or that its norms use only its own share of the
// batch.
using BatchSum = std::function<absl::Status(absl::Span<double> values)>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_BATCH_SUM_H_
