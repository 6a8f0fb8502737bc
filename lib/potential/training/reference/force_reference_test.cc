// Compares the reference with golden values and finite differences.

#include "lib/potential/training/reference/force_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/network/network_init.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/potential/training/force_batch_testing.h"
#include "lib/structure/cell.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

struct Model {
  ChebyshevOptions descriptor;
  NetworkShape shape;
  FeatureScaling features;
  EnergyScaling energies;
  at::Tensor parameters;

  ReferencePrediction Predict(const NamedTensors& batch, bool forces = true) const {
    return PredictReference(descriptor, shape, features, energies, parameters, batch, forces);
  }
};

FeatureScaling SameForAllSpecies(int species, const std::vector<double>& mean, const std::vector<double>& deviation) {
  FeatureScaling scaling{species, static_cast<int>(mean.size()), {}, {}};
  for (int s = 0; s < species; ++s) {
    scaling.mean.insert(scaling.mean.end(), mean.begin(), mean.end());
    for (const double d : deviation) scaling.scale.push_back(1 / d);
  }
  return scaling;
}

Model ModelOf(const GoldenCase& c) {
  const int species = static_cast<int>(c.descriptor.species.size());
  return {c.descriptor,
          {species, c.descriptor.num_features(), c.networks.hidden, Activation::kTanh},
          SameForAllSpecies(species, c.feature_mean, c.feature_deviation),
          {c.energy_scaling, c.energy_shift},
          ToTorch(Tensor::Of(c.networks.parameters))};
}

at::Tensor Vector(const std::vector<double>& values) { return ToTorch(Tensor::Of(values)); }

double Largest(const at::Tensor& t) { return t.abs().max().item<double>(); }

// Returns titanium dioxide, strained and displaced at random, in a cell without symmetry.
Structure Shaken() {
  Structure s;
  s.element = {22, 22, 8, 8, 8, 8};
  s.cell = {4.4, 0.2, -0.1, 0.3, 4.7, 0.2, 0, -0.2, 3.0};
  s.pbc = {true, true, true};
  s.position = {0.1, 0, 0, 2.2, 2.4, 1.6, 1.4, 1.3, 0.1, 3.2, 3.3, -0.1, 0.9, 3.6, 1.4, 3.6, 0.9, 1.6};
  s.force.assign(18, 0.1);
  s.stress = Matrix3{};
  return s;
}

Model SmallModel(Activation activation = Activation::kTwist, std::vector<int> hidden = {4, 3}) {
  Model m;
  m.descriptor.species = {22, 8};
  m.descriptor.rad_order = 3;
  m.descriptor.ang_order = 2;
  m.descriptor.rad_cutoff = 4;
  m.descriptor.ang_cutoff = 3;
  const int f = m.descriptor.num_features();
  m.shape = {2, f, hidden, activation};
  m.features = {2, f, {}, {}};
  RandomStream random(3, "scaling");
  for (int i = 0; i < 2 * f; ++i) {
    m.features.mean.push_back(random.Normal());
    m.features.scale.push_back(random.Uniform(0.02, 0.1));
  }
  m.features.scale[1] = 0;  // a feature that is constant in training
  m.energies = {0.7, -3};
  m.parameters = Vector(InitialNetworkParameters(m.shape, 1));
  return m;
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, EnergiesAndForces) {
  const GoldenCase c = ReadGoldenCase(GetParam());
  const NamedTensors batch = MakeForceBatch({&c.structure, 1}, c.descriptor);
  const ReferencePrediction p = ModelOf(c).Predict(batch);
  EXPECT_NEAR(p.energy_per_atom.item<double>() * c.structure.size(), c.energy, 1e-10);
  EXPECT_LT(Largest(p.force.view({-1}) - Vector(c.force)), 1e-10);
  if (CellVolume(c.structure.cell) == 0) {
    EXPECT_EQ(Largest(p.stress), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, testing::ValuesIn(GoldenCaseNames()),
                         [](const auto& info) { return info.param; });

TEST(ForceReferenceTest, ForcesAreDifferencesOfEnergy) {
  const Model m = SmallModel();
  const Structure s = Shaken();
  const at::Tensor force = m.Predict(MakeForceBatch({&s, 1}, m.descriptor)).force.view({-1});
  constexpr double kStep = 1e-5;
  for (int k = 0; k < 18; ++k) {
    double energy[2];
    for (const int side : {0, 1}) {
      Structure moved = s;
      moved.position[k] += side == 0 ? -kStep : kStep;
      energy[side] = 6 * m.Predict(MakeForceBatch({&moved, 1}, m.descriptor), false).energy_per_atom.item<double>();
    }
    EXPECT_NEAR(force[k].item<double>(), (energy[0] - energy[1]) / (2 * kStep), 1e-8) << k;
  }
}

TEST(ForceReferenceTest, StressIsTheDifferenceOfEnergyByStrain) {
  const Model m = SmallModel();
  const Structure s = Shaken();
  const at::Tensor stress = m.Predict(MakeForceBatch({&s, 1}, m.descriptor)).stress[0];
  EXPECT_EQ(Largest(stress - stress.t()), 0);
  constexpr double kStep = 1e-5;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      double energy[2];
      for (const int side : {0, 1}) {
        const double strain = side == 0 ? -kStep : kStep;
        Structure strained = s;
        for (int i = 0; i < 3; ++i) strained.cell[3 * i + a] += strain * s.cell[3 * i + b];
        for (int i = 0; i < 6; ++i) strained.position[3 * i + a] += strain * s.position[3 * i + b];
        energy[side] =
            6 * m.Predict(MakeForceBatch({&strained, 1}, m.descriptor), false).energy_per_atom.item<double>();
      }
      EXPECT_NEAR(stress[a][b].item<double>(), (energy[1] - energy[0]) / (2 * kStep) / CellVolume(s.cell), 1e-9);
    }
  }
}

// Returns a scalar that depends on all outputs, each with its own weight.
at::Tensor Mixed(const ReferencePrediction& p) {
  const auto weighted = [](const at::Tensor& t) {
    return ((t - 0.3).square() * at::arange(1, t.numel() + 1, at::kDouble).view(t.sizes())).sum();
  };
  return weighted(p.energy_per_atom) + weighted(p.force) + 100 * weighted(p.stress);
}

class ParameterGradientTest : public testing::TestWithParam<Activation> {};

TEST_P(ParameterGradientTest, AreDifferences) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {4, 3}}) {
    Model m = SmallModel(GetParam(), hidden);
    const std::vector<Structure> structures = {Shaken(), Shaken()};
    const NamedTensors batch = MakeForceBatch(structures, m.descriptor, {{}, {true, false}, 0});
    const at::Tensor start = m.parameters;
    m.parameters = start.clone().requires_grad_(true);
    const at::Tensor gradient = torch::autograd::grad({Mixed(m.Predict(batch))}, {m.parameters})[0];
    RandomStream random(9, "direction");
    for (int trial = 0; trial < 3; ++trial) {
      std::vector<double> direction(start.numel());
      for (double& d : direction) d = random.Normal();
      constexpr double kStep = 1e-5;
      m.parameters = start + kStep * Vector(direction);
      const double high = Mixed(m.Predict(batch)).item<double>();
      m.parameters = start - kStep * Vector(direction);
      const double low = Mixed(m.Predict(batch)).item<double>();
      const double expected = (high - low) / (2 * kStep);
      EXPECT_NEAR((gradient * Vector(direction)).sum().item<double>(), expected, 1e-7 * (1 + std::abs(expected)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, ParameterGradientTest,
                         testing::Values(Activation::kLinear, Activation::kTanh, Activation::kSigmoid,
                                         Activation::kMtanh, Activation::kTwist, Activation::kSilu),
                         [](const auto& info) { return std::string(kActivationNames.Name(info.param)); });

TEST(ForceReferenceTest, StructuresOfABatchDoNotMix) {
  const Model m = SmallModel();
  std::vector<Structure> structures = {Shaken(), Shaken(), Shaken()};
  for (double& x : structures[1].position) x *= 1.02;
  structures[2].element.resize(5);
  structures[2].position.resize(15);
  structures[2].force.resize(15);
  const ReferencePrediction all = m.Predict(MakeForceBatch(structures, m.descriptor));
  int64_t atom = 0;
  for (int b = 0; b < 3; ++b) {
    const ReferencePrediction one = m.Predict(MakeForceBatch({&structures[b], 1}, m.descriptor));
    EXPECT_LT(Largest(all.energy_per_atom[b] - one.energy_per_atom[0]), 1e-13);
    EXPECT_LT(Largest(all.force.narrow(0, atom, structures[b].size()) - one.force), 1e-13);
    EXPECT_LT(Largest(all.stress[b] - one.stress[0]), 1e-13);
    atom += structures[b].size();
  }
}

TEST(ForceReferenceTest, GivenFeaturesGiveTheSameEnergyAndNoForce) {
  const Model m = SmallModel();
  const std::vector<Structure> structures = {Shaken(), Shaken()};
  const ReferencePrediction p = m.Predict(MakeForceBatch(structures, m.descriptor, {{}, {false, true}, 0}));
  EXPECT_LT(Largest(p.energy_per_atom[0] - p.energy_per_atom[1]), 1e-12);
  EXPECT_EQ(Largest(p.force.narrow(0, 0, 6)), 0);
  EXPECT_GT(Largest(p.force.narrow(0, 6, 6)), 0.01);
  EXPECT_EQ(Largest(p.stress[0]), 0);
}

TEST(ForceReferenceTest, PairsBeyondTheCutoffDoNotCount) {
  const Model m = SmallModel();
  const Structure s = Shaken();
  const ReferencePrediction near = m.Predict(MakeForceBatch({&s, 1}, m.descriptor));
  const ReferencePrediction far = m.Predict(MakeForceBatch({&s, 1}, m.descriptor, {{}, {}, 1.5}));
  EXPECT_LT(Largest(near.force - far.force), 1e-13);
  EXPECT_LT(Largest(near.stress - far.stress), 1e-13);
}

TEST(ForceReferenceTest, GraphOnlyWhereTheParametersWantOne) {
  Model m = SmallModel();
  const Structure s = Shaken();
  const NamedTensors batch = MakeForceBatch({&s, 1}, m.descriptor);
  const ReferencePrediction plain = m.Predict(batch);
  EXPECT_FALSE(plain.energy_per_atom.requires_grad());
  EXPECT_FALSE(plain.force.requires_grad());
  EXPECT_FALSE(m.Predict(batch, false).force.defined());
  m.parameters = m.parameters.clone().requires_grad_(true);
  const ReferencePrediction graph = m.Predict(batch);
  EXPECT_TRUE(graph.force.requires_grad());
  EXPECT_TRUE(graph.stress.requires_grad());
  EXPECT_EQ(Largest(graph.force - plain.force), 0);
}

TEST(ForceReferenceTest, SinglePrecisionParameters) {
  Model m = SmallModel();
  const Structure s = Shaken();
  const NamedTensors batch = MakeForceBatch({&s, 1}, m.descriptor);
  m.parameters = m.parameters.to(at::kFloat);
  const ReferencePrediction narrow = m.Predict(batch);
  m.parameters = m.parameters.to(at::kDouble).requires_grad_(true);  // the same numbers in fp64
  const ReferencePrediction wide = m.Predict(batch);
  EXPECT_EQ(narrow.force.scalar_type(), at::kDouble);
  EXPECT_LT(Largest(narrow.force - wide.force), 1e-5 * Largest(wide.force));
  const at::Tensor expected = torch::autograd::grad({Mixed(wide)}, {m.parameters})[0];
  m.parameters = m.parameters.detach().to(at::kFloat).requires_grad_(true);
  const at::Tensor gradient = torch::autograd::grad({Mixed(m.Predict(batch))}, {m.parameters})[0];
  EXPECT_EQ(gradient.scalar_type(), at::kFloat);
  EXPECT_LT(Largest(gradient - expected), 1e-5 * Largest(expected));
}

}  // namespace
}  // namespace rutile
