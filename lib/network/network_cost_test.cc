#include "lib/network/network_cost.h"

#include <gtest/gtest.h>

namespace rutile {
namespace {

TEST(NetworkCostTest, ByHand) {
  NetworkShape shape;
  shape.num_features = 10;
  shape.hidden = {4, 3};
  const NetworkCost cost(shape);
  constexpr int64_t kWeights = 10 * 4 + 4 * 3 + 3, kInner = 4 * 3 + 3, kNodes = 7;
  EXPECT_EQ(cost.forward, 2 * kWeights + NetworkCost::kActivation * kNodes);
  EXPECT_EQ(cost.input_gradients, 2 * kWeights + kNodes);
  EXPECT_EQ(cost.backward, 2 * (kWeights + kInner) + kNodes);
  EXPECT_EQ(cost.tangent_gradients, 6 * kWeights + 4 * kInner + 4 * kNodes);
}

TEST(NetworkCostTest, LinearModel) {
  NetworkShape shape;
  shape.num_features = 10;
  shape.hidden = {};
  const NetworkCost cost(shape);
  EXPECT_EQ(cost.forward, 20);
  EXPECT_EQ(cost.backward, 20);
}

}  // namespace
}  // namespace rutile
