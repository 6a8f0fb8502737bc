#include "lib/network/network_init.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

namespace rutile {
namespace {

NetworkShape Shape(int num_species) {
  NetworkShape shape;
  shape.num_species = num_species;
  shape.num_features = 100;
  shape.hidden = {64, 25};
  return shape;
}

// Parameters are uniform in +-1/sqrt(inputs): within the bound, close to it, and with deviation bound/sqrt(3).
TEST(InitialNetworkParametersTest, IsUniformWithinTheBoundOfEachLayer) {
  const NetworkShape shape = Shape(2);
  const std::vector<double> p = InitialNetworkParameters(shape, 7);
  ASSERT_EQ(p.size(), shape.num_parameters());
  for (int species = 0; species < 2; ++species) {
    for (int layer = 0; layer < 2; ++layer) {
      const int64_t begin = shape.weight_offset(species, layer);
      const int64_t count = shape.bias_offset(species, layer) + shape.layer_outputs(layer) - begin;
      const double bound = 1 / std::sqrt(shape.layer_inputs(layer));
      double largest = 0, square = 0;
      for (int64_t i = begin; i < begin + count; ++i) {
        largest = std::max(largest, std::abs(p[i]));
        square += p[i] * p[i];
      }
      EXPECT_LT(largest, bound);
      EXPECT_GT(largest, 0.98 * bound);
      EXPECT_NEAR(std::sqrt(3 * square / count), bound, 0.05 * bound);
    }
  }
}

TEST(InitialNetworkParametersTest, DependsOnTheSeedAndIsStableAgainstMoreSpecies) {
  const std::vector<double> one = InitialNetworkParameters(Shape(1), 7);
  const std::vector<double> two = InitialNetworkParameters(Shape(2), 7);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), two.begin()));
  EXPECT_FALSE(std::equal(one.begin(), one.end(), two.begin() + one.size()));
  EXPECT_NE(one, InitialNetworkParameters(Shape(1), 8));
}

}  // namespace
}  // namespace rutile
