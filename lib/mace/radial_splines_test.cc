#include "lib/mace/radial_splines.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/mace/mace_layer.h"
#include "lib/mace/mace_testing.h"
#include "lib/mace/radial_network.h"

namespace rutile {
namespace {

class RadialSplinesTest : public ::testing::Test {
 protected:
  void Compute(const RadialSplines& splines, double r) {
    splines.Compute(&r, 1, value_.data(), slope_.data());
    network_.Compute(&r, 1, exact_.data(), exact_slope_.data());
  }

  const MaceModel model_ = RandomMace({{8, 1}, 3, 4, 2, 5, 2, false}, 3);
  const int64_t stride_ = MaceLayerSums::Stride(model_), functions_ = 3 * stride_;
  RadialNetwork network_{model_, model_.layers[1], stride_};
  std::vector<double> value_ = std::vector<double>(functions_), slope_ = value_, exact_ = value_, exact_slope_ = value_;
};

TEST_F(RadialSplinesTest, KnotsHaveTheValuesAndSlopesOfTheNetwork) {
  const RadialSplines splines(&network_, functions_, 3, 12);
  for (int k = 0; k < 12; ++k) {
    Compute(splines, RadialSplines::kFirstKnot + k * (3 - RadialSplines::kFirstKnot) / 11);
    for (int64_t f = 0; f < functions_; ++f) {
      EXPECT_NEAR(value_[f], exact_[f], 1e-12) << k;
      EXPECT_NEAR(slope_[f], exact_slope_[f], 1e-11) << k;
    }
  }
}

TEST_F(RadialSplinesTest, SlopesAreThoseOfTheSplines) {
  const RadialSplines splines(&network_, functions_, 3, 12);
  std::vector<double> above(functions_), below(functions_), alone(functions_);
  for (double r = 0.2; r < 3; r += 0.0317) {
    Compute(splines, r);
    const double high = r + 1e-5, low = r - 1e-5;
    splines.Compute(&high, 1, above.data(), nullptr);
    splines.Compute(&low, 1, below.data(), nullptr);
    splines.Compute(&r, 1, alone.data(), nullptr);
    EXPECT_EQ(alone, value_) << "without slopes";
    for (int64_t f = 0; f < functions_; ++f) EXPECT_NEAR(slope_[f], (above[f] - below[f]) / 2e-5, 1e-7) << r;
  }
}

TEST_F(RadialSplinesTest, NearerThanTheFirstKnotTheNetworkIsExact) {
  const RadialSplines splines(&network_, functions_, 3, 5);
  Compute(splines, 0.2);
  EXPECT_EQ(value_, exact_);
  EXPECT_EQ(slope_, exact_slope_);
}

// Rows do not depend on what else is computed, and distances may be in any order.
TEST_F(RadialSplinesTest, RowsOfManyDistances) {
  const RadialSplines splines(&network_, functions_, 3, 40);
  const std::vector<double> distance = {2.9, 0.1, 3, 1.3, 0.25, 1.30001};
  std::vector<double> value(6 * functions_), slope(value.size());
  splines.Compute(distance.data(), 6, value.data(), slope.data());
  for (int e = 0; e < 6; ++e) {
    Compute(splines, distance[e]);
    for (int64_t f = 0; f < functions_; ++f) {
      EXPECT_EQ(value[e * functions_ + f], value_[f]);
      EXPECT_EQ(slope[e * functions_ + f], slope_[f]);
      if (f % stride_ >= 5) {
        EXPECT_EQ(value_[f], 0) << "padding";
      }
    }
  }
}

TEST_F(RadialSplinesTest, TheErrorIsOfSixthOrder) {
  const SplineError coarse = MeasureSplines(model_, 41), fine = MeasureSplines(model_, 81);
  EXPECT_LT(coarse.value, 1e-3);
  EXPECT_GT(coarse.value / fine.value, 40);
  EXPECT_LT(coarse.value / fine.value, 90);
  EXPECT_GT(coarse.slope / fine.slope, 20);
  EXPECT_LT(coarse.slope / fine.slope, 45);
  // The measure is the largest difference, relative to the largest value.
  const RadialSplines splines(&network_, functions_, 3, 41);
  double off = 0, largest = 0;
  for (double r = RadialSplines::kFirstKnot; r < 3; r += 0.00123) {
    Compute(splines, r);
    for (int64_t f = 0; f < functions_; ++f) {
      off = std::max(off, std::abs(value_[f] - exact_[f]));
      largest = std::max(largest, std::abs(exact_[f]));
    }
  }
  EXPECT_LE(off / largest, 1.05 * coarse.value);
  EXPECT_GT(off / largest, 0);
}

}  // namespace
}  // namespace rutile
