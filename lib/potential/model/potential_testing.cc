#include "lib/potential/model/potential_testing.h"

#include <vector>

#include "lib/network/network_init.h"

namespace rutile {

Potential GoldenPotential(const GoldenCase& golden) {
  Potential p;
  p.descriptor = golden.descriptor;
  const int species = static_cast<int>(golden.descriptor.species.size());
  const int features = golden.descriptor.num_features();
  p.shape = {species, features, golden.networks.hidden, Activation::kTanh};
  p.feature_scaling.num_species = species;
  p.feature_scaling.num_features = features;
  for (int s = 0; s < species; ++s) {
    for (int f = 0; f < features; ++f) {
      p.feature_scaling.mean.push_back(golden.feature_mean[f]);
      p.feature_scaling.scale.push_back(1 / golden.feature_deviation[f]);
    }
  }
  p.energy_scaling = {golden.energy_scaling, golden.energy_shift};
  p.atomic_energies.assign(species, 0.0);
  p.parameters = Tensor::Of(golden.networks.parameters);
  return p;
}

Potential SmallTiO2Potential(uint64_t seed) {
  Potential p;
  p.descriptor.chebyshev().species = {22, 8};
  p.descriptor.chebyshev().rad_cutoff = 4;
  p.descriptor.chebyshev().ang_cutoff = 3;
  const int features = p.descriptor.num_features();
  p.shape = {2, features, {5}, Activation::kTanh};
  p.feature_scaling = {2, features, std::vector<double>(2 * features, 0.0), std::vector<double>(2 * features, 0.1)};
  p.atomic_energies = {-3, -2};
  p.parameters = Tensor::Of(InitialNetworkParameters(p.shape, seed));
  return p;
}

}  // namespace rutile
