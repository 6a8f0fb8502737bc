#include "lib/potential/model/atom_networks.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_testing.h"

namespace rutile {
namespace {

TEST(AtomNetworksTest, AtomEnergiesAreTheGoldenOutputs) {
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase golden = ReadGoldenCase(name);
    Potential potential = GoldenPotential(golden);
    for (size_t s = 0; s < potential.atomic_energies.size(); ++s) potential.atomic_energies[s] = 10.0 * (s + 1);
    AtomNetworks<double> networks(potential);
    std::vector<double> energy(golden.species.size());
    const double total =
        networks.Energies(absl::MakeConstSpan(golden.features), golden.species, absl::MakeSpan(energy));
    double sum = 0;
    for (size_t atom = 0; atom < energy.size(); ++atom) {
      EXPECT_NEAR(
          energy[atom],
          golden.atomic_output[atom] / golden.energy_scaling + golden.energy_shift + 10.0 * (golden.species[atom] + 1),
          1e-10)
          << name;
      sum += energy[atom];
    }
    EXPECT_NEAR(total, sum, 1e-11 * std::max(1.0, std::abs(sum))) << name;
  }
}

TEST(AtomNetworksTest, SlopesAreFiniteDifferences) {
  const GoldenCase golden = ReadGoldenCase("tio2_columbite_12atoms");
  AtomNetworks<double> networks(GoldenPotential(golden));
  std::vector<double> features = golden.features;
  std::vector<double> slopes(features.size());
  networks.Energies(absl::MakeConstSpan(features), golden.species, {});
  networks.Slopes(absl::MakeSpan(slopes));
  constexpr double kStep = 1e-5;
  for (size_t k = 0; k < features.size(); k += 7) {
    const double was = features[k];
    features[k] = was + kStep;
    const double above = networks.Energies(absl::MakeConstSpan(features), golden.species, {});
    features[k] = was - kStep;
    const double below = networks.Energies(absl::MakeConstSpan(features), golden.species, {});
    features[k] = was;
    EXPECT_NEAR(slopes[k], (above - below) / (2 * kStep), 1e-7 * std::max(1.0, std::abs(slopes[k]))) << k;
  }
}

TEST(AtomNetworksTest, EitherTypeOfFeaturesAndArithmetic) {
  const GoldenCase golden = ReadGoldenCase("water_isolated");
  const Potential potential = GoldenPotential(golden);
  AtomNetworks<float> single(potential);
  AtomNetworks<double> twice(potential);
  const std::vector<float> features(golden.features.begin(), golden.features.end());
  EXPECT_NEAR(single.Energies(absl::MakeConstSpan(features), golden.species, {}), golden.energy,
              2e-4 * std::max(1.0, std::abs(golden.energy)));
  EXPECT_NEAR(twice.Energies(absl::MakeConstSpan(features), golden.species, {}), golden.energy,
              1e-5 * std::max(1.0, std::abs(golden.energy)));
  EXPECT_NEAR(single.Energies(absl::MakeConstSpan(golden.features), golden.species, {}), golden.energy,
              2e-4 * std::max(1.0, std::abs(golden.energy)));
}

}  // namespace
}  // namespace rutile
