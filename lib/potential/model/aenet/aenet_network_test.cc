#include "lib/potential/model/aenet/aenet_network.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/network/network_init.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/atom_networks.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

// A potential as training makes it: features of any size, one that was constant, and the range of all.
Potential Trained(std::vector<uint8_t> species, std::vector<int> hidden, Activation activation) {
  Potential p;
  p.descriptor.chebyshev().species = std::move(species);
  const int features = p.descriptor.num_features(), num_species = static_cast<int>(p.descriptor.species().size());
  p.shape = {num_species, features, std::move(hidden), activation};
  p.feature_scaling = {num_species, features, {}, {}};
  RandomStream random(3, "aenet");
  for (int k = 0; k < num_species * features; ++k) {
    const double mean = 3 * random.Normal(), deviation = std::exp(random.Normal());
    p.feature_scaling.mean.push_back(mean);
    p.feature_scaling.scale.push_back(k == 1 ? 0 : 1 / deviation);
    p.feature_range.min.push_back(mean - 3 * deviation);
    p.feature_range.max.push_back(mean + 3 * deviation);
  }
  for (int s = 0; s < num_species; ++s) p.atomic_energies.push_back(-100.5 * (s + 1));
  p.energy_scaling = {0.75, -4.25};
  p.parameters = Tensor::Of(InitialNetworkParameters(p.shape, 1));
  return p;
}

std::vector<AenetNetwork> Networks(const Potential& p) {
  std::vector<AenetNetwork> networks;
  for (size_t s = 0; s < p.descriptor.species().size(); ++s) networks.push_back(*ToAenet(p, static_cast<int>(s)));
  return networks;
}

TEST(AenetNetworkTest, ComesBackWithEnergiesAndSlopes) {
  for (const Activation activation :
       {Activation::kLinear, Activation::kTanh, Activation::kSigmoid, Activation::kMtanh, Activation::kTwist}) {
    for (const std::vector<uint8_t>& species : std::vector<std::vector<uint8_t>>{{14}, {22, 8}, {56, 22, 8}}) {
      for (const std::vector<int>& hidden : std::vector<std::vector<int>>{{}, {7}, {16, 5}}) {
        const Potential p = Trained(species, hidden, activation);
        std::vector<AenetNetwork> networks = Networks(p);
        std::reverse(networks.begin(), networks.end());  // any order of the files
        const std::vector<std::string> names(networks.size(), "X.nn");
        const auto back = FromAenet(networks, names);
        ASSERT_TRUE(back.ok()) << back.status();
        EXPECT_EQ(back->descriptor, p.descriptor);
        EXPECT_EQ(back->shape.hidden, hidden);
        EXPECT_EQ(back->atomic_energies, p.atomic_energies);
        EXPECT_EQ(back->feature_range.min, p.feature_range.min);
        EXPECT_EQ(back->feature_range.max, p.feature_range.max);
        AtomNetworks<double> before(p), after(*back);
        RandomStream random(7, "features");
        for (uint8_t s = 0; s < species.size(); ++s) {
          const int n = p.shape.num_features;
          std::vector<double> features, slopes(n), slopes_after(n);
          for (int f = 0; f < n; ++f) {
            const double scale = p.feature_scaling.scale[s * n + f];
            features.push_back(p.feature_scaling.mean[s * n + f] + (scale > 0 ? random.Normal() / scale : 0));
          }
          // Rounding of mean^2 + variance in aenet's form, relative to energies of some hundred eV.
          EXPECT_NEAR(after.Energies<double>(features, {s}, {}), before.Energies<double>(features, {s}, {}), 1e-11);
          before.Slopes(absl::MakeSpan(slopes));
          after.Slopes(absl::MakeSpan(slopes_after));
          for (int f = 0; f < n; ++f) EXPECT_NEAR(slopes_after[f], slopes[f], 1e-12) << f;
        }
      }
    }
  }
}

TEST(AenetNetworkTest, AConstantFeatureHasScaleZero) {
  std::vector<AenetNetwork> networks = Networks(Trained({22, 8}, {3}, Activation::kTanh));
  networks[1].mean[4] = 2;
  networks[1].square[4] = 4 + 1e-21;  // rounds to 4: the deviation is below aenet's limit
  const auto back = FromAenet(networks, {"Ti.nn", "O.nn"});
  ASSERT_TRUE(back.ok()) << back.status();
  const int n = back->shape.num_features;
  EXPECT_EQ(back->feature_scaling.scale[n + 4], 0);
  EXPECT_GT(back->feature_scaling.scale[n + 5], 0);
}

TEST(AenetNetworkTest, WithoutARangeThereIsNone) {
  std::vector<AenetNetwork> networks = Networks(SmallTiO2Potential(1));
  EXPECT_TRUE(FromAenet(networks, {"Ti.nn", "O.nn"})->feature_range.min.empty());
  networks = Networks(Trained({22, 8}, {3}, Activation::kTanh));
  networks[1].min = networks[1].max;
  EXPECT_TRUE(FromAenet(networks, {"Ti.nn", "O.nn"})->feature_range.min.empty());
}

TEST(AenetNetworkTest, TheLeastDistanceCounts) {
  std::vector<AenetNetwork> networks = Networks(Trained({22, 8}, {3}, Activation::kTanh));
  networks[0].min_distance = 0.75;
  networks[1].min_distance = 0.5;
  EXPECT_EQ(FromAenet(networks, {"Ti.nn", "O.nn"})->descriptor.min_cutoff(), 0.5);
}

TEST(AenetNetworkTest, RefusesByNameWhatOneModelCannotHold) {
  const std::vector<AenetNetwork> whole = Networks(Trained({22, 8}, {4, 3}, Activation::kTanh));
  struct Case {
    std::function<void(AenetNetwork*)> change;  // of the second network, that of O
    std::vector<std::string> facts;
  };
  const std::vector<Case> cases = {
      {[](AenetNetwork* n) { n->basis = "Behler2011"; }, {"O.nn", "basis is Behler2011", "Chebyshev in Ti.nn"}},
      {[](AenetNetwork* n) {
         n->environment = {8, 22};
       },
       {"O.nn", "O,Ti", "Ti,O in Ti.nn", "typespins"}},
      {[](AenetNetwork* n) { n->parameters[0] = 7; }, {"O.nn", "radial cutoff is 7", "6 in Ti.nn"}},
      {[](AenetNetwork* n) { n->parameters[1] = 9; }, {"O.nn", "radial order is 9"}},
      {[](AenetNetwork* n) { n->parameters[2] = 3; }, {"O.nn", "angular cutoff is 3"}},
      {[](AenetNetwork* n) { n->parameters[3] = 2; }, {"O.nn", "angular order is 2"}},
      {[](AenetNetwork* n) { n->scale = 2; }, {"O.nn", "scale", "2 and -4.25", "0.75 and -4.25 in Ti.nn"}},
      {[](AenetNetwork* n) { n->shift = 2; }, {"O.nn", "0.75 and 2"}},
      {[](AenetNetwork* n) { n->atom = 22; }, {"O.nn", "second network of Ti", "Ti.nn"}},
      {[](AenetNetwork* n) { n->atom = 14; }, {"Ti.nn", "that of O is missing"}},
      {[](AenetNetwork* n) { n->nodes[1] = 5; }, {"O.nn", "-5-3-1", "-4-3-1 in Ti.nn"}},
      {[](AenetNetwork* n) { n->nodes[0] = 9; }, {"O.nn", "has 9 features, expected 30"}},
      {[](AenetNetwork* n) { n->functions[1] = 4; }, {"O.nn", "activation twist", "tanh", "Ti.nn"}},
      {[](AenetNetwork* n) { n->functions[2] = 1; }, {"O.nn", "output tanh", "expected linear"}},
      {[](AenetNetwork* n) { n->square[2] = -1; }, {"O.nn", "feature 3", "mean square of -1", "NaN"}},
      {[](AenetNetwork* n) {
         n->types = {22, 14};
       },
       {"O.nn", "Ti,Si", "expected O"}},
  };
  for (const Case& c : cases) {
    std::vector<AenetNetwork> networks = whole;
    c.change(&networks[1]);
    EXPECT_THAT(FromAenet(networks, {"Ti.nn", "O.nn"}), ErrorNames(absl::StatusCode::kInvalidArgument, c.facts))
        << c.facts[1];
  }
  const std::vector<Case> both = {
      {[](AenetNetwork* n) { n->basis = "Behler2011"; }, {"Ti.nn", "Behler2011", "expected Chebyshev"}},
      {[](AenetNetwork* n) { n->parameters[2] = 6.5; }, {"Ti.nn", "6.5 Angstrom", "above the radial one, 6"}},
      {[](AenetNetwork* n) { n->parameters[1] = 10.5; }, {"Ti.nn", "10.5", "whole number"}},
      {[](AenetNetwork* n) { n->parameters[0] = 99; }, {"Ti.nn", "--rad_cutoff=99"}},
      {[](AenetNetwork* n) { n->scale = 0; }, {"Ti.nn", "scale of energies is 0"}},
  };
  for (const Case& c : both) {
    std::vector<AenetNetwork> networks = whole;
    for (AenetNetwork& network : networks) c.change(&network);
    EXPECT_THAT(FromAenet(networks, {"Ti.nn", "O.nn"}), ErrorNames(absl::StatusCode::kInvalidArgument, c.facts))
        << c.facts[1];
  }
}

}  // namespace
}  // namespace rutile
