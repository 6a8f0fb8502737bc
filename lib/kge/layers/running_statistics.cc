#include "lib/kge/layers/running_statistics.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {
namespace {

template <typename T>
void Update(const std::vector<double>& values, int64_t offset, absl::Span<T> parameters) {
  for (size_t k = 0; k < values.size(); ++k) {
    T& running = parameters[offset + k];
    running = static_cast<T>((1 - kBatchNormMomentum) * static_cast<double>(running) + kBatchNormMomentum * values[k]);
  }
}

template <typename T>
void UpdateNorm(const BatchStatistics::Norm& statistics, int64_t mean, int64_t variance, int64_t size,
                absl::Span<T> parameters) {
  if (statistics.mean.empty()) return;
  CHECK(mean >= 0);
  CHECK_EQ(static_cast<int64_t>(statistics.mean.size()), size);
  CHECK_EQ(static_cast<int64_t>(statistics.variance.size()), size);
  Update(statistics.mean, mean, parameters);
  Update(statistics.variance, variance, parameters);
}

template <typename T>
void UpdateAll(const KgeShape& shape, const BatchStatistics& statistics, absl::Span<T> parameters) {
  const KgeShape::Offsets at = shape.offsets();
  UpdateNorm(statistics.bn0, at.bn0_mean, at.bn0_variance, 1, parameters);
  UpdateNorm(statistics.bn1, at.bn1_mean, at.bn1_variance, shape.options.output_channels, parameters);
  UpdateNorm(statistics.bn2, at.bn2_mean, at.bn2_variance, shape.dim(), parameters);
}

}  // namespace

void UpdateRunningStatistics(const KgeShape& shape, const BatchStatistics& statistics, Tensor* parameters) {
  if (parameters->dtype() == DType::kF64) {
    UpdateAll(shape, statistics, parameters->mutable_values<double>());
  } else {
    UpdateAll(shape, statistics, parameters->mutable_values<float>());
  }
}

}  // namespace rutile
