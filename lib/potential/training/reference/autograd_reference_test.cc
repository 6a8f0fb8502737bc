// Compares two references that share no descriptor, at awkward structures: values, and gradients of squared errors.

#include "lib/potential/training/reference/autograd_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/network/network_init.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/potential/training/force_batch_testing.h"
#include "lib/potential/training/reference/force_reference.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

struct Case {
  std::string name;
  std::vector<uint8_t> species;
  std::vector<Structure> structures;
  std::vector<bool> has_geometry = {};
  double ang_cutoff = 3;
  Activation activation = Activation::kTanh;
  std::vector<AngularSet> nearer = {};
};

Structure Atoms(std::vector<uint8_t> element, std::vector<double> position) {
  Structure s;
  s.element = std::move(element);
  s.position = std::move(position);
  s.force.assign(s.position.size(), 0.5);
  return s;
}

Structure Crystal(Matrix3 cell, std::vector<uint8_t> element, std::vector<double> position) {
  Structure s = Atoms(std::move(element), std::move(position));
  s.cell = cell;
  s.pbc = {true, true, true};
  s.stress = Matrix3{0.1, 0, 0, 0, 0.2, 0, 0, 0, 0.3};
  return s;
}

// Puts atoms at random places of a triclinic cell, no nearer than 1.2 Angstrom.
Structure RandomCrystal(const std::vector<uint8_t>& species, int atoms, uint64_t seed) {
  RandomStream random(seed, "crystal");
  const Matrix3 cell = {4.5, 0.3, 0, -0.4, 5, 0.2, 0.1, 0.3, 4.8};
  Structure s = Crystal(cell, {}, {});
  NeighborList list;
  while (s.size() < atoms) {
    Structure tried = s;
    const double f[3] = {random.Uniform(-1, 1), random.Uniform(-1, 1), random.Uniform(-1, 1)};
    for (int a = 0; a < 3; ++a) tried.position.push_back(f[0] * cell[a] + f[1] * cell[3 + a] + f[2] * cell[6 + a]);
    tried.element.push_back(species[s.size() % species.size()]);
    if (BruteForceNeighborList(tried, 1.2, &list).ok() && list.num_pairs() == 0) s = tried;
  }
  s.force.assign(3 * s.size(), -0.2);
  return s;
}

std::vector<Case> Cases() {
  const std::vector<uint8_t> two = {22, 8}, three = {56, 22, 8}, five = {3, 8, 22, 25, 28};
  const Structure alone = Atoms({22}, {1, 2, 3});
  const Structure apart = Atoms({22, 8, 8}, {0, 0, 0, 30, 0, 0, 0, 30, 0});
  const Structure line = Atoms({8, 22, 8, 8}, {-1.2, 0, 0, 0, 0, 0, 1.3, 0, 0, 2.9, 0, 0});
  const Structure thin = Crystal({1.9, 0, 0, 0.3, 2.1, 0, 0, 0.4, 2.2}, {22}, {5, 5, -7});
  const Structure slab = [] {
    Structure s = Crystal({3, 0, 0, 0, 3.5, 0, 0, 0, 0}, {22, 8}, {0, 0, 0, 1.2, 1.1, 1.4});
    s.pbc = {true, true, false};
    s.stress.reset();
    return s;
  }();
  return {
      {"OneAtom", {22}, {alone}},
      {"OneAtomOfTwoSpecies", two, {alone}},
      {"NoNeighbors", two, {apart}},
      {"Collinear", two, {line}},
      {"ThinCell", two, {thin}},
      {"ThinCellOneSpecies", {22}, {thin}, {}, 4},
      {"Slab", two, {slab}},
      {"ThreeSpecies", three, {RandomCrystal(three, 7, 1)}},
      {"FiveSpecies", five, {RandomCrystal(five, 9, 2)}, {}, 3, Activation::kTwist},
      {"FiveSpeciesOfWhichTwoAreThere", five, {RandomCrystal({8, 25}, 5, 3)}},
      {"Batch",
       two,
       {RandomCrystal(two, 6, 4), alone, line, thin, apart, RandomCrystal(two, 3, 5)},
       {},
       3,
       Activation::kSilu},
      {"SomeWithoutGeometry",
       two,
       {RandomCrystal(two, 6, 6), line, thin, RandomCrystal(two, 4, 7)},
       {false, true, false, true}},
      {"AllWithoutGeometry", two, {RandomCrystal(two, 6, 6), line}, {false, false}},
      {"TwoAngularCutoffs", {22}, {thin}, {}, 3, Activation::kTanh, {{2, 2.2}}},
      {"ThreeAngularCutoffs", three, {RandomCrystal(three, 7, 1)}, {}, 4, Activation::kTanh, {{6, 3}, {1, 2}}},
  };
}

// Returns a sum of squares of all errors.
at::Tensor Loss(const ReferencePrediction& p, const NamedTensors& batch) {
  const auto squares = [&](const at::Tensor& t, const char* target) {
    return (t - ToTorch(batch.At(target)).view(t.sizes())).square().sum();
  };
  return squares(p.energy_per_atom, "target") + squares(p.force, "force") + squares(p.stress, "stress");
}

void ExpectNear(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_LT((a - b).abs().max().item<double>(), 1e-10 * std::max(1.0, b.abs().max().item<double>()));
}

class AutogradReferenceTest : public testing::TestWithParam<Case> {};

TEST_P(AutogradReferenceTest, AgreesWithTheDescriptorsDerivatives) {
  const Case& c = GetParam();
  ChebyshevOptions options;
  options.species = c.species;
  options.rad_order = 5;
  options.ang_order = 4;
  options.rad_cutoff = 4;
  options.ang_cutoff = c.ang_cutoff;
  options.nearer = c.nearer;
  const NamedTensors batch = MakeForceBatch(c.structures, options, {{}, c.has_geometry, 0.3});
  const int num_species = static_cast<int>(c.species.size()), num_features = options.num_features();
  const NetworkShape shape{num_species, num_features, {6, 5}, c.activation};
  FeatureScaling scaling{num_species, num_features, {}, {}};
  RandomStream random(8, "scaling");
  for (int f = 0; f < num_species * num_features; ++f) {
    scaling.mean.push_back(random.Normal());
    scaling.scale.push_back(f == 3 ? 0 : random.Uniform(0.05, 0.3));
  }
  const EnergyScaling energies{0.6, -2.5};
  const at::Tensor parameters = ToTorch(Tensor::Of(InitialNetworkParameters(shape, 2))).clone().requires_grad_(true);

  const ReferencePrediction actual = PredictReference(options, shape, scaling, energies, parameters, batch, true);
  const ReferencePrediction expected = PredictByAutograd(options, shape, scaling, energies, parameters, batch, true);
  ExpectNear(actual.energy_per_atom, expected.energy_per_atom);
  ExpectNear(actual.force, expected.force);
  ExpectNear(actual.stress, expected.stress);
  const at::Tensor gradient = torch::autograd::grad({Loss(actual, batch)}, {parameters})[0];
  ExpectNear(gradient, torch::autograd::grad({Loss(expected, batch)}, {parameters})[0]);
  EXPECT_GT(gradient.abs().max().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, AutogradReferenceTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(AutogradReferenceTest, GoldenForces) {
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase c = ReadGoldenCase(name);
    const int species = static_cast<int>(c.descriptor.species.size());
    FeatureScaling scaling{species, c.descriptor.num_features(), {}, {}};
    for (int s = 0; s < species; ++s) {
      for (size_t f = 0; f < c.feature_mean.size(); ++f) {
        scaling.mean.push_back(c.feature_mean[f]);
        scaling.scale.push_back(1 / c.feature_deviation[f]);
      }
    }
    const ReferencePrediction p =
        PredictByAutograd(c.descriptor, {species, scaling.num_features, c.networks.hidden, Activation::kTanh}, scaling,
                          {c.energy_scaling, c.energy_shift}, ToTorch(Tensor::Of(c.networks.parameters)),
                          MakeForceBatch({&c.structure, 1}, c.descriptor), true);
    EXPECT_NEAR(p.energy_per_atom.item<double>() * c.structure.size(), c.energy, 1e-10) << name;
    EXPECT_LT((p.force.view({-1}) - ToTorch(Tensor::Of(c.force))).abs().max().item<double>(), 1e-10) << name;
    EXPECT_FALSE(p.force.requires_grad());
  }
}

}  // namespace
}  // namespace rutile
