// Tests the layout of tiles and the rules of padding; network_kernel_test and network_reference_test cover the numbers.

#include "lib/network/kernels/network_fused_tangent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/simd.h"
#include "lib/network/kernels/network_fused.h"
#include "lib/network/network_shape.h"

namespace rutile {
namespace {

TEST(TangentLayoutTest, DeltasFollowTheValues) {
  const TangentLayout layout({2, 20, {16, 8}, Activation::kTanh});
  EXPECT_EQ(layout.values.num_rows, 45);
  EXPECT_EQ(layout.delta_row, std::vector<int>({45, 61, 69}));
  EXPECT_EQ(layout.curvature_row, std::vector<int>({-1, -1}));
  EXPECT_EQ(layout.num_rows, 70);
  EXPECT_EQ(layout.num_scratch_rows, 44 + 24 + 1);
}

TEST(TangentLayoutTest, CurvaturesAreKeptWhereTheValueDoesNotTell) {
  const TangentLayout layout({1, 3, {4, 2}, Activation::kTwist});
  EXPECT_EQ(layout.values.num_rows, 16);
  EXPECT_EQ(layout.delta_row, std::vector<int>({16, 20, 22}));
  EXPECT_EQ(layout.curvature_row, std::vector<int>({23, 27}));
  EXPECT_EQ(layout.num_rows, 29);
  EXPECT_EQ(TangentLayout({1, 3, {}, Activation::kSilu}).num_rows, 5);
}

using Tile = AlignedBuffer<double>;

// Fills a tile with NaN, as earlier blocks may leave it.
Tile MakeTile(int rows) {
  const int64_t size = rows * TileStride<double>();
  Tile tile(size);
  std::fill_n(tile.data(), size, std::numeric_limits<double>::quiet_NaN());
  return tile;
}

// One hidden layer of three equal neurons: h = tanh(a), a = 0.25 (1 + x_0 + x_1), energy = 0.25 (1 + 3 h).
TEST(AddGradientsBlockTest, PaddingAddsNothingAndTheTileStays) {
  const NetworkShape shape{1, 2, {3}, Activation::kTanh};
  const TangentLayout layout(shape);
  const std::vector<double> parameters(shape.num_parameters(), 0.25), x(2 * 5, 0.5), slopes(5, 2.0), tangents(2 * 5, 3);
  const double h = std::tanh(0.5), slope = 1 - h * h, adot = 0.25 * (3 + 3);
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    Tile tile = MakeTile(layout.num_rows), scratch = MakeTile(layout.num_scratch_rows);
    std::vector<double> x_gradients(x.size());
    ForwardWithInputGradientsBlock(layout, parameters.data(), x.data(), 5, tile.data(), scratch.data(),
                                   x_gradients.data());
    for (int a = 0; a < 5; ++a) {
      EXPECT_NEAR(tile.data()[layout.values.result_row * TileStride<double>() + a], 0.25 * (1 + 3 * h), 1e-15);
    }
    for (const double g : x_gradients) EXPECT_NEAR(g, 3 * 0.25 * slope * 0.25, 1e-15);
    for (int repetition = 0; repetition < 2; ++repetition) {
      Tile fresh = MakeTile(layout.num_scratch_rows);
      std::vector<double> energy(parameters.size(), 0.0), tangent = energy;
      AddGradientsBlock(layout, parameters.data(), 5, slopes.data(), nullptr, tile.data(), fresh.data(), energy.data());
      EXPECT_NEAR(energy[shape.weight_offset(0, 0)], 5 * 2 * 0.25 * slope * 0.5, 1e-14);
      EXPECT_NEAR(energy[shape.bias_offset(0, 0)], 5 * 2 * 0.25 * slope, 1e-14);
      EXPECT_NEAR(energy[shape.weight_offset(0, 1)], 5 * 2 * h, 1e-14);
      EXPECT_EQ(energy[shape.bias_offset(0, 1)], 5 * 2);
      AddGradientsBlock(layout, parameters.data(), 5, nullptr, tangents.data(), tile.data(), fresh.data(),
                        tangent.data());
      const double mu = -2 * h * slope * 0.25 * adot;
      EXPECT_NEAR(tangent[shape.weight_offset(0, 0)], 5 * (0.25 * slope * 3 + mu * 0.5), 1e-14);
      EXPECT_NEAR(tangent[shape.bias_offset(0, 0)], 5 * mu, 1e-14);
      EXPECT_NEAR(tangent[shape.weight_offset(0, 1)], 5 * slope * adot, 1e-14);
      EXPECT_EQ(tangent[shape.bias_offset(0, 1)], 0);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace rutile
