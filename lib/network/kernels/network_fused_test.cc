// Tests the layout of tiles and the rules of blocks; network_kernel_test and network_reference_test cover the numbers.

#include "lib/network/kernels/network_fused.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/simd.h"
#include "lib/network/network_shape.h"

namespace rutile {
namespace {

TEST(BlockLayoutTest, RowsFollowTheLayers) {
  const BlockLayout layout({2, 20, {16, 8}, Activation::kTanh});
  ASSERT_EQ(layout.layers.size(), 3);
  EXPECT_EQ(layout.layers[0].input_row, 0);
  EXPECT_EQ(layout.layers[0].output_row, 20);
  EXPECT_EQ(layout.layers[1].input_row, 20);
  EXPECT_EQ(layout.layers[2].output_row, 20 + 16 + 8);
  EXPECT_EQ(layout.result_row, 44);
  EXPECT_EQ(layout.num_rows, 45);
  EXPECT_EQ(layout.layers[1].weight, 20 * 16 + 16);
}

TEST(BlockLayoutTest, SlopesAreKeptWhereTheValueDoesNotTell) {
  const BlockLayout layout({1, 3, {4, 2}, Activation::kSilu});
  EXPECT_EQ(layout.result_row, 9);
  EXPECT_EQ(layout.layers[0].slope_row, 10);
  EXPECT_EQ(layout.layers[1].slope_row, 14);
  EXPECT_EQ(layout.layers[2].slope_row, -1);
  EXPECT_EQ(layout.num_rows, 16);
  EXPECT_EQ(BlockLayout({1, 3, {}, Activation::kSilu}).num_rows, 4);
}

TEST(TileStrideTest, IsAnOddNumberOfCacheLines) {
  EXPECT_EQ(TileStride<float>() * sizeof(float) / 64 % 2, 1);
  EXPECT_EQ(TileStride<double>() * sizeof(double) / 64 % 2, 1);
}

// Values that an earlier block left in the tile, NaN included, add nothing beyond the atoms of this one.
TEST(BackwardBlockTest, PaddingAddsNothing) {
  const NetworkShape shape{1, 2, {3}, Activation::kTanh};
  const BlockLayout layout(shape);
  const std::vector<double> parameters(shape.num_parameters(), 0.25), x(2 * 5, 0.5);
  const int64_t size = layout.num_rows * TileStride<double>();
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    AlignedBuffer<double> tile(size);
    std::fill_n(tile.data(), size, std::numeric_limits<double>::quiet_NaN());
    ForwardBlock(layout, parameters.data(), x.data(), nullptr, 5, tile.data());
    double* const result = tile.data() + layout.result_row * TileStride<double>();
    const double hidden = std::tanh(0.25 + 2 * 0.25 * 0.5);
    for (int a = 0; a < 5; ++a) EXPECT_NEAR(result[a], 0.25 + 3 * 0.25 * hidden, 1e-15);
    std::fill_n(result, 5, 1.0);
    std::vector<double> gradients(parameters.size(), 0.0), x_gradients(x.size());
    BackwardBlock(layout, parameters.data(), 5, tile.data(), gradients.data(), x_gradients.data());
    const double slope = 0.25 * (1 - hidden * hidden);
    EXPECT_NEAR(gradients[shape.weight_offset(0, 0)], 5 * slope * 0.5, 1e-14);
    EXPECT_NEAR(gradients[shape.bias_offset(0, 0)], 5 * slope, 1e-14);
    EXPECT_NEAR(gradients[shape.weight_offset(0, 1)], 5 * hidden, 1e-14);
    EXPECT_EQ(gradients[shape.bias_offset(0, 1)], 5);
    for (const double g : x_gradients) EXPECT_NEAR(g, 3 * slope * 0.25, 1e-15);
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Covers every remainder of rows beyond whole register tiles, with small integers, which are exact in any order.
TEST(ForwardBlockTest, EveryWidth) {
  constexpr int64_t kStride = TileStride<float>();
  constexpr int kAtoms = 33, kFeatures = 5;
  std::vector<float> x;
  for (int i = 0; i < kAtoms * kFeatures; ++i) x.push_back(static_cast<float>(i % 7 - 3));
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (int width = 1; width <= 19; ++width) {
      const NetworkShape shape{1, kFeatures, {width}, Activation::kLinear};
      std::vector<float> parameters;
      for (int i = 0; i < shape.num_parameters(); ++i) parameters.push_back(static_cast<float>(i % 5 - 2));
      const float* const weight = &parameters[shape.weight_offset(0, 0)];
      const float* const bias = &parameters[shape.bias_offset(0, 0)];
      const float* const last = &parameters[shape.weight_offset(0, 1)];
      for (const GradientForm form : {GradientForm::kLanes, GradientForm::kTransposed}) {
        const BlockLayout layout(shape, form);
        AlignedBuffer<float> tile(layout.num_rows * kStride);
        ForwardBlock(layout, parameters.data(), x.data(), nullptr, kAtoms, tile.data());
        std::vector<float> sums(width * kFeatures), slopes(kFeatures);  // sums over atoms; slopes of one atom
        for (int o = 0; o < width; ++o) {
          for (int f = 0; f < kFeatures; ++f) slopes[f] += last[o] * weight[o * kFeatures + f];
          for (int a = 0; a < kAtoms; ++a) {
            float value = bias[o];
            for (int f = 0; f < kFeatures; ++f) {
              value += weight[o * kFeatures + f] * x[a * kFeatures + f];
              sums[o * kFeatures + f] += last[o] * x[a * kFeatures + f];
            }
            ASSERT_EQ(tile.data()[(kFeatures + o) * kStride + a], value) << width << " " << o << " " << a;
          }
        }
        std::fill_n(tile.data() + layout.result_row * kStride, kAtoms, 1.0f);
        std::vector<float> gradients(parameters.size()), x_gradients(x.size());
        BackwardBlock(layout, parameters.data(), kAtoms, tile.data(), gradients.data(), x_gradients.data());
        for (int i = 0; i < width * kFeatures; ++i) {
          EXPECT_EQ(gradients[shape.weight_offset(0, 0) + i], sums[i]) << width;
        }
        for (int i = 0; i < kAtoms * kFeatures; ++i) EXPECT_EQ(x_gradients[i], slopes[i % kFeatures]) << width;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace rutile
