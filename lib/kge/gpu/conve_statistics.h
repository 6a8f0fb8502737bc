// What the host makes of the statistics that DeviceConveLayers leaves on the device.

#ifndef RUTILE_LIB_KGE_GPU_CONVE_STATISTICS_H_
#define RUTILE_LIB_KGE_GPU_CONVE_STATISTICS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/kge/gpu/kge_step_shape.h"
#include "lib/kge/layers/batch_statistics.h"

namespace rutile {

// Returns the statistics of a training batch of `size` examples from DeviceConveLayers::statistics(), as
// ConveLayers::Statistics returns them: a norm that saw a single value has none. CHECK-fails if the length is wrong.
BatchStatistics ConveStatistics(const KgeStepShape& shape, int64_t size, absl::Span<const double> values);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_CONVE_STATISTICS_H_
