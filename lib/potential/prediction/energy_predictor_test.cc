#include "lib/potential/prediction/energy_predictor.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"

namespace rutile {
namespace {

TEST(EnergyPredictorTest, MatchesGoldenEnergies) {
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase golden = ReadGoldenCase(name);
    const Potential potential = GoldenPotential(golden);
    EnergyPredictor predictor(potential);
    EXPECT_NEAR(predictor.Predict(golden.features, golden.species), golden.energy,
                1e-10 * std::max(1.0, std::abs(golden.energy)))
        << name;
    Potential single = potential;
    single.parameters =
        Tensor::Of(std::vector<float>(golden.networks.parameters.begin(), golden.networks.parameters.end()));
    EnergyPredictor predictor32(single);
    EXPECT_NEAR(predictor32.Predict(golden.features, golden.species), golden.energy,
                2e-4 * std::max(1.0, std::abs(golden.energy)))
        << name;
  }
}

TEST(EnergyPredictorTest, AtomicEnergiesAndOrderOfAtoms) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  Potential potential = GoldenPotential(golden);
  EnergyPredictor plain(potential);
  potential.atomic_energies = {-3, -2};
  EnergyPredictor referenced(potential);
  const double energy = plain.Predict(golden.features, golden.species);
  EXPECT_NEAR(referenced.Predict(golden.features, golden.species), energy - 4 * 3 - 8 * 2, 1e-10);
  // With the atoms in reverse order, the energy is the same.
  const int features = golden.descriptor.num_features();
  std::vector<double> reversed_features;
  std::vector<uint8_t> reversed_species(golden.species.rbegin(), golden.species.rend());
  for (int64_t atom = static_cast<int64_t>(golden.species.size()) - 1; atom >= 0; --atom) {
    reversed_features.insert(reversed_features.end(), golden.features.begin() + atom * features,
                             golden.features.begin() + (atom + 1) * features);
  }
  EXPECT_NEAR(plain.Predict(reversed_features, reversed_species), energy, 1e-11 * std::abs(energy));
}

}  // namespace
}  // namespace rutile
