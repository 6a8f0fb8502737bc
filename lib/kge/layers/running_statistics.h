// Running statistics of batch norms: buffers among a model's parameters.

#ifndef RUTILE_LIB_KGE_LAYERS_RUNNING_STATISTICS_H_
#define RUTILE_LIB_KGE_LAYERS_RUNNING_STATISTICS_H_

#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Sets running = (1 - kBatchNormMomentum) running + kBatchNormMomentum statistics for each norm that has statistics.
// parameters: flat [P], F32 or F64. CHECK-fails if statistics have another size than the norm.
void UpdateRunningStatistics(const KgeShape& shape, const BatchStatistics& statistics, Tensor* parameters);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_RUNNING_STATISTICS_H_
