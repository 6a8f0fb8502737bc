#include "lib/kge/gpu/conve_statistics.h"

#include "lib/base/logging.h"
#include "lib/kge/gpu/conve_view-inl.h"

namespace rutile {

BatchStatistics ConveStatistics(const KgeStepShape& shape, int64_t size, absl::Span<const double> values) {
  const ConveStatisticsLayout layout(shape);
  CHECK_EQ(static_cast<int64_t>(values.size()), layout.size);
  const auto norm_of = [&](int64_t at, int64_t channels, int64_t values_of_channel) {
    BatchStatistics::Norm norm;
    if (values_of_channel < 2) return norm;
    const auto n = static_cast<double>(values_of_channel);
    for (int64_t c = 0; c < channels; ++c) {
      norm.mean.push_back(values[at + c]);
      norm.variance.push_back(values[at + channels + c] * (n / (n - 1)));
    }
    return norm;
  };
  BatchStatistics statistics;
  if (shape.has_input_norm) statistics.bn0 = norm_of(layout.bn0, 1, size * 2 * shape.dim);
  statistics.bn1 = norm_of(layout.bn1, shape.channels, size * shape.map_size());
  statistics.bn2 = norm_of(layout.bn2, shape.dim, size);
  return statistics;
}

}  // namespace rutile
