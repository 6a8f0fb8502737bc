// Running statistics of batch norms: buffers among a model's parameters.

#ifndef RUTILE_LIB_KGE_LAYERS_RUNNING_STATISTICS_H_
#define RUTILE_LIB_KGE_LAYERS_RUNNING_STATISTICS_H_

#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// running = (1 - kBatchNormMomentum) running + kBatchNormMomentum statistics, for each norm that has any. parameters:
// flat [P], F32 or F64. CHECK-fails on statistics of another size than the norm's.
void UpdateRunningStatistics(const KgeShape& shape, const BatchStatistics& statistics, Tensor* parameters);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_RUNNING_STATISTICS_H_
