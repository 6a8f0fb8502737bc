#include "lib/kge/layers/running_statistics.h"

#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

KgeShape Shape() {
  KgeShape shape;
  shape.options.embedding_dim = 6;
  shape.options.embedding_height = 2;
  shape.options.embedding_width = 3;
  shape.options.kernel_height = shape.options.kernel_width = 2;
  shape.options.output_channels = 2;
  shape.num_entities = 3;
  shape.num_relations = 1;
  return shape;
}

TEST(UpdateRunningStatisticsTest, MovesATenthOfTheWay) {
  const KgeShape shape = Shape();
  const KgeShape::Offsets at = shape.offsets();
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Tensor parameters = Tensor::Zeros(dtype, {at.size});
    BatchStatistics statistics;
    statistics.bn1 = {{1, 2}, {3, 4}};
    UpdateRunningStatistics(shape, statistics, &parameters);
    UpdateRunningStatistics(shape, statistics, &parameters);
    std::vector<double> expected(at.size, 0.0);
    expected[at.bn1_mean] = 0.19;
    expected[at.bn1_mean + 1] = 0.38;
    expected[at.bn1_variance] = 0.57;
    expected[at.bn1_variance + 1] = 0.76;
    const std::vector<double> found = parameters.ToDoubles();
    for (int64_t k = 0; k < at.size; ++k) EXPECT_NEAR(found[k], expected[k], 1e-7) << k;
  }
}

TEST(UpdateRunningStatisticsDeathTest, RefusesOtherSizes) {
  const KgeShape shape = Shape();
  Tensor parameters = Tensor::Zeros(DType::kF32, {shape.offsets().size});
  BatchStatistics statistics;
  statistics.bn2 = {{1, 2}, {3, 4}};
  EXPECT_DEATH(UpdateRunningStatistics(shape, statistics, &parameters), "2 vs. 6");
}

}  // namespace
}  // namespace rutile
