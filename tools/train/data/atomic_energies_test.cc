#include "tools/train/data/atomic_energies.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/model/labels/scaling.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr AtomicEnergyOrigin kGiven = AtomicEnergyOrigin::kGiven, kModel = AtomicEnergyOrigin::kModel,
                             kFitted = AtomicEnergyOrigin::kFitted;

CompositionEnergies Train(std::vector<double> energies, std::vector<int64_t> counts) {
  const std::vector<double> weights(energies.size(), 1.0);
  return {std::move(energies), std::move(counts), weights};
}

// Ti, TiO2 and Ti2O of energies per atom that no atomic energies give.
const CompositionEnergies kOxides = Train({-3.5, -25, -18.4}, {1, 0, 1, 2, 2, 1});

TEST(ChooseAtomicEnergiesTest, WithoutAnyTheFitIsThatOfAllToTheBit) {
  const AtomicEnergies all = ChooseAtomicEnergies({22, 8}, {}, {}, kOxides);
  EXPECT_EQ(all.values, FitAtomicEnergies(kOxides.energies, kOxides.counts, 2, kOxides.weights));
  EXPECT_THAT(all.origin, ElementsAre(kFitted, kFitted));
  EXPECT_THAT(all.determined, ElementsAre(true, true));
}

TEST(ChooseAtomicEnergiesTest, FitsTheMissingOnesBesideThoseThatAreFixed) {
  const AtomicEnergies one = ChooseAtomicEnergies({22, 8}, {{22, -3.1}, {1, -13.6}}, {}, kOxides);
  EXPECT_EQ(one.values[0], -3.1);
  // Least squares of (E + 3.1 n_Ti) / N on n_O / N, over TiO2 and Ti2O.
  const double x = 2 / 3.0, y = 1 / 3.0, e = (-25 + 3.1) / 3, f = (-18.4 + 6.2) / 3;
  EXPECT_NEAR(one.values[1], (x * e + y * f) / (x * x + y * y), 1e-12);
  EXPECT_THAT(one.origin, ElementsAre(kGiven, kFitted));
  EXPECT_THAT(one.determined, ElementsAre(true, true));
  const AtomicEnergies both = ChooseAtomicEnergies({22, 8}, {{22, -3.1}, {8, -2}}, {}, kOxides);
  EXPECT_THAT(both.values, ElementsAre(-3.1, -2));
  EXPECT_THAT(both.origin, ElementsAre(kGiven, kGiven));
}

// One compound determines a single element beside fixed ones, and two of them only together.
TEST(ChooseAtomicEnergiesTest, KnowsWhatCompositionsDetermine) {
  const CompositionEnergies compound = Train({-80, -160}, {2, 4, 0, 4, 8, 0});
  const AtomicEnergies none = ChooseAtomicEnergies({22, 8, 1}, {}, {}, compound);
  EXPECT_THAT(none.values, ElementsAre(DoubleNear(-8, 1e-12), DoubleNear(-16, 1e-12), 0));
  EXPECT_THAT(none.determined, ElementsAre(false, false, true));  // there is no hydrogen
  const AtomicEnergies one = ChooseAtomicEnergies({22, 8, 1}, {{8, -10}}, {}, compound);
  EXPECT_THAT(one.values, ElementsAre(DoubleNear(-20, 1e-12), -10, 0));
  EXPECT_THAT(one.determined, ElementsAre(true, true, true));
  const CompositionEnergies water = Train({-30}, {1, 2, 3});
  const AtomicEnergies rest = ChooseAtomicEnergies({22, 8, 1}, {{22, -4}}, {}, water);
  EXPECT_THAT(rest.values, ElementsAre(-4, DoubleNear(-4, 1e-12), DoubleNear(-6, 1e-12)));  // along (2, 3)
  EXPECT_THAT(rest.determined, ElementsAre(true, false, false));
}

// Copper and silver bind by 3 eV per atom in the model and here, and so does gold.
TEST(ChooseAtomicEnergiesTest, ModelsKeepTheirsAndNewElementsGetTheRest) {
  const BaseEnergies base = {{{29, -2898.0}, {47, -4016.0}}, -3};
  const double gold = -1500, energy = 4 * -2901.0 + 2 * -4019.0 + 2 * (gold - 3);
  const CompositionEnergies alloy = Train({energy}, {4, 2, 2});
  const AtomicEnergies chosen = ChooseAtomicEnergies({29, 47, 79}, {}, base, alloy);
  EXPECT_THAT(chosen.values, ElementsAre(-2898, -4016, DoubleNear(gold, 1e-8)));
  EXPECT_THAT(chosen.origin, ElementsAre(kModel, kModel, kFitted));
  EXPECT_THAT(chosen.determined, ElementsAre(true, true, true));
  // Known elements have energies of another reference here, which their networks are going to make up for.
  const AtomicEnergies moved = ChooseAtomicEnergies({29, 47, 79}, {{29, -2890}, {47, -4008}}, base, alloy);
  EXPECT_THAT(moved.values, ElementsAre(-2890, -4008, DoubleNear(gold + 8, 1e-8)));
  EXPECT_THAT(moved.origin, ElementsAre(kGiven, kGiven, kFitted));
  // What is given of a new element binds like the others, so that the other new one gets what is left.
  const CompositionEnergies more = Train({energy - 13.6 - 3}, {4, 2, 2, 1});
  const AtomicEnergies two = ChooseAtomicEnergies({29, 47, 79, 1}, {{1, -13.6}}, base, more);
  EXPECT_THAT(two.values, ElementsAre(-2898, -4016, DoubleNear(gold, 1e-8), -13.6));
}

TEST(ChooseAtomicEnergiesTest, WeightsAreNumbersOfStructuresAndNoneFitNothing) {
  const BaseEnergies base = {{{22, -4}}, -2};
  CompositionEnergies train = kOxides, twice = Train({-25, -25, -18.4}, {1, 2, 1, 2, 2, 1});
  train.weights = {0, 2, 1};
  train.energies[0] = std::numeric_limits<double>::quiet_NaN();
  const double weighted = ChooseAtomicEnergies({22, 8}, {}, base, train).values[1];
  EXPECT_NEAR(weighted, ChooseAtomicEnergies({22, 8}, {}, base, twice).values[1], 1e-12);
  const AtomicEnergies none = ChooseAtomicEnergies({22, 8}, {}, base, {});
  EXPECT_THAT(none.values, ElementsAre(-4, 0));
}

}  // namespace
}  // namespace rutile
