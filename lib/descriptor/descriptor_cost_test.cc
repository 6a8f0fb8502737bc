#include "lib/descriptor/descriptor_cost.h"

#include <gtest/gtest.h>

namespace rutile {
namespace {

ChebyshevOptions Options() {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_order = 15, options.rad_cutoff = 6;
  options.ang_order = 4, options.ang_cutoff = 3.5;
  return options;
}

// Counted by hand from the formulas of the radial part, for 16 polynomials. Order 0 leaves only one angular feature.
TEST(DescriptorCostTest, RadialPartByHand) {
  ChebyshevOptions options = Options();
  options.ang_order = 0;
  options.ang_cutoff = 0.001;  // no neighbors
  const DescriptorCost cost(options, AngularMethod::kMoments, 4, 6);
  // A pair costs 5 + 1 + 1 + 3 + 9, f_c 2 + 2 + 8 + 2, then 2, and 3 for each polynomial; an atom costs 2 (3 + 16) + 4
  // (16 + 1).
  EXPECT_EQ(cost.Features(1, 100), 100 * (19 + 14 + 2 + 48) + 38 + 68);
}

// Kernels sort the neighbors by species, so that a pair costs as much whatever the number of species.
TEST(DescriptorCostTest, APairCostsTheSameForAnyNumberOfSpecies) {
  ChebyshevOptions one = Options();
  one.species = {14};
  const DescriptorCost of_one(one, AngularMethod::kMoments, 8, 6), of_two(Options(), AngularMethod::kMoments, 8, 6);
  const auto pairs = [](int64_t all, int64_t fewer) { return static_cast<double>(all - fewer); };
  EXPECT_NEAR(pairs(of_one.Features(1, 2000), of_one.Features(1, 1000)),
              pairs(of_two.Features(1, 2000), of_two.Features(1, 1000)), 2);
  EXPECT_NEAR(pairs(of_one.Vjp(1, 2000), of_one.Vjp(1, 1000)), pairs(of_two.Vjp(1, 2000), of_two.Vjp(1, 1000)), 2);
  EXPECT_NEAR(pairs(of_one.Jvp(1, 2000), of_one.Jvp(1, 1000)), pairs(of_two.Jvp(1, 2000), of_two.Jvp(1, 1000)), 2);
}

TEST(DescriptorCostTest, GrowsWithPairsAndAtoms) {
  const DescriptorCost cost(Options(), AngularMethod::kMoments, 8, 6);
  EXPECT_EQ(cost.Features(0, 0), 0);
  // Cost is proportional to the number of neighbors.
  EXPECT_NEAR(static_cast<double>(cost.Features(20, 1600)), 2.0 * cost.Features(10, 800), 4);
  const double one = static_cast<double>(cost.Features(10, 800));
  EXPECT_GT(static_cast<double>(cost.Vjp(10, 800)), one);
  EXPECT_GT(static_cast<double>(cost.Jvp(10, 800)), one);
  EXPECT_LT(static_cast<double>(cost.Vjp(10, 800) + cost.Jvp(10, 800)), 6 * one);
}

// From the notes: 12.4 kflop per atom with 78 neighbors, of which 13 count for angles.
TEST(DescriptorCostTest, IsOfTheRightSize) {
  const DescriptorCost cost(Options(), AngularMethod::kMoments, 8, 6);
  EXPECT_NEAR(static_cast<double>(cost.Features(1, 78)), 10000, 4000);
}

TEST(DescriptorCostTest, TripletsGrowWithTheSquareOfNeighbors) {
  const DescriptorCost triplets(Options(), AngularMethod::kTriplets, 8, 3.5);
  const double ratio =
      static_cast<double>(triplets.Features(1, 2000)) / static_cast<double>(triplets.Features(1, 1000));
  EXPECT_GT(ratio, 3.5);
  EXPECT_LT(ratio, 4);
}

TEST(DescriptorCostTest, LongerListsHoldPairsThatDoNotCount) {
  const DescriptorCost exact(Options(), AngularMethod::kMoments, 8, 6),
      longer(Options(), AngularMethod::kMoments, 8, 12);
  EXPECT_NEAR(static_cast<double>(longer.Features(10, 6400)), static_cast<double>(exact.Features(10, 800)), 2);
}

}  // namespace
}  // namespace rutile
