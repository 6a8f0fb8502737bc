// Influence of structures on their own losses, by the curvature of potential_products.h.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/influence/potential_products.h"

namespace rutile {
namespace {

// The influence of a structure on its own loss is its score as a test, whose loss is its own, whole and by parts, where
// training couples it to the others. Its square has the coupling on both sides.
TEST(SelfInfluenceTest, IsTheScoreOfTheStructureAsATest) {
  const AtomicData data = AwkwardStructures();
  const Potential potential = AwkwardPotential({5, 4}, Activation::kTanh);
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  point.loss_weight = {0.3, 0.7, 2};
  point.preconditioner = Tensor::Zeros(DType::kF64, {0});
  for (const LossCoupling coupling : {LossCoupling::kNone, LossCoupling::kMeans, LossCoupling::kRoots}) {
    for (const bool ek_fac : {false, true}) {
      PotentialProductsOptions options;
      options.loss.force_weight = options.loss.stress_weight = 0.1;
      options.precision = DType::kF64;
      options.gauss_newton.emplace();
      options.gauss_newton->examples = AllAwkward();
      options.gauss_newton->coupling = coupling;
      options.gauss_newton->ek_fac = ek_fac;
      options.num_threads = 2;
      const auto made = MakePotentialProducts(potential, data, data, point, options);
      ASSERT_TRUE(made.ok()) << made.status();
      GradientProducts* const products = made->get();
      const auto num_slices = static_cast<int>(products->slices().size());
      std::vector<ProductPart> parts = {{"first", {0}}, {"rest", {}}};
      for (int s = 1; s < num_slices; ++s) parts[1].slices.push_back(s);
      products->SetParts(parts);
      ASSERT_TRUE(products->SetTests(AllAwkward()).ok());
      ProductTile tile;
      ASSERT_TRUE(products->Products(AllAwkward(), /*squares=*/true, &tile).ok());
      if (coupling == LossCoupling::kNone) {
        EXPECT_TRUE(tile.train_self.empty());
        tile.train_self = tile.train_square;
      }
      ASSERT_EQ(tile.train_self.size(), 2u * kNumAwkward);
      double difference = 0, largest = 0;
      for (int64_t k = 0; k < 2 * kNumAwkward; ++k) {
        const double expected = tile.product[k * kNumAwkward + k % kNumAwkward];
        EXPECT_NEAR(tile.train_self[k], expected, 1e-10 * std::abs(expected) + 1e-14) << k;
        difference = std::max(difference, std::abs(tile.train_self[k] - tile.train_square[k]));
        largest = std::max(largest, std::abs(tile.train_self[k]));
      }
      EXPECT_EQ(difference > 1e-3 * largest, coupling != LossCoupling::kNone);
      ASSERT_TRUE(products->Products(AllAwkward(), /*squares=*/false, &tile).ok());
      EXPECT_TRUE(tile.train_self.empty());
    }
  }
}

}  // namespace
}  // namespace rutile
