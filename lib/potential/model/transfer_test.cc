#include "lib/potential/model/transfer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/moment_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Makes a potential with random parameters and scaling.
Potential Make(std::vector<uint8_t> species, uint64_t seed, DType dtype = DType::kF64) {
  Potential potential;
  potential.descriptor.chebyshev().species = std::move(species);
  potential.descriptor.chebyshev().rad_order = 2;
  potential.descriptor.chebyshev().ang_order = 1;
  const int m = static_cast<int>(potential.descriptor.chebyshev().species.size()),
            f = potential.descriptor.num_features();
  potential.shape.num_species = m;
  potential.shape.num_features = f;
  potential.shape.hidden = {4, 3};
  RandomStream random(seed, "potential", 0, 0);
  const auto uniform = [&](double low, double high) { return random.Uniform(low, high); };
  potential.feature_scaling = {m, f, {}, {}};
  for (int i = 0; i < m * f; ++i) {
    potential.feature_scaling.mean.push_back(uniform(-1, 1));
    potential.feature_scaling.scale.push_back(uniform(0.5, 2));
  }
  potential.energy_scaling.scale = uniform(0.5, 2);
  potential.energy_scaling.shift = uniform(-1, 1);
  for (int i = 0; i < m; ++i) potential.atomic_energies.push_back(uniform(-10, 10));
  std::vector<double> parameters;
  for (int64_t i = 0; i < potential.shape.num_parameters(); ++i) parameters.push_back(uniform(-1, 1));
  potential.parameters = dtype == DType::kF64 ? Tensor::Of(parameters)
                                              : Tensor::Of(std::vector<float>(parameters.begin(), parameters.end()));
  return potential;
}

// Computes an atom's energy by the formula of potential_file.h.
double AtomEnergy(const Potential& p, const Tensor& parameters, int species, const std::vector<double>& features) {
  const int f = p.shape.num_features;
  const std::vector<double> values = parameters.ToDoubles();
  std::vector<double> x;
  for (int k = 0; k < f; ++k) {
    x.push_back((features[k] - p.feature_scaling.mean[species * f + k]) * p.feature_scaling.scale[species * f + k]);
  }
  for (int layer = 0; layer < p.shape.num_layers(); ++layer) {
    std::vector<double> y;
    for (int o = 0; o < p.shape.layer_outputs(layer); ++o) {
      double sum = values[p.shape.bias_offset(species, layer) + o];
      for (size_t i = 0; i < x.size(); ++i) {
        sum += values[p.shape.weight_offset(species, layer) + o * x.size() + i] * x[i];
      }
      y.push_back(layer + 1 < p.shape.num_layers() ? std::tanh(sum) : sum);
    }
    x = y;
  }
  return x[0] / p.energy_scaling.scale + p.energy_scaling.shift + p.atomic_energies[species];
}

std::vector<double> Features(const Potential& p, uint64_t seed) {
  RandomStream random(seed, "features", 0, 0);
  std::vector<double> features;
  for (int k = 0; k < p.shape.num_features; ++k) features.push_back(random.Uniform(-2, 2));
  return features;
}

TEST(TransferTest, EnergiesAreTheSame) {
  const Potential from = Make({22, 8}, 1), to = Make({22, 8}, 2);
  const absl::StatusOr<Transfer> transfer = TransferParameters(from, to);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  EXPECT_THAT(transfer->taken, ElementsAre("Ti", "O"));
  EXPECT_THAT(transfer->begun, IsEmpty());
  EXPECT_THAT(transfer->messages, IsEmpty());
  for (int species = 0; species < 2; ++species) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const std::vector<double> features = Features(from, seed);
      const double energy = AtomEnergy(from, from.parameters, species, features);
      EXPECT_NEAR(AtomEnergy(to, transfer->parameters, species, features), energy, 1e-12 * std::abs(energy));
    }
  }
}

TEST(TransferTest, SpeciesByNameAndInEitherType) {
  const Potential from = Make({22, 8, 40}, 1), to = Make({8, 14, 22}, 2, DType::kF32);
  const absl::StatusOr<Transfer> transfer = TransferParameters(from, to);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  EXPECT_THAT(transfer->taken, ElementsAre("O", "Ti"));
  EXPECT_THAT(transfer->begun, ElementsAre("Si"));
  EXPECT_THAT(transfer->messages, ElementsAre(HasSubstr("the species are not the model's")));
  ASSERT_EQ(transfer->parameters.dtype(), DType::kF32);
  const std::vector<double> features = Features(from, 1);
  EXPECT_NEAR(AtomEnergy(to, transfer->parameters, 0, features), AtomEnergy(from, from.parameters, 1, features), 1e-4);
  EXPECT_NEAR(AtomEnergy(to, transfer->parameters, 2, features), AtomEnergy(from, from.parameters, 0, features), 1e-4);
  EXPECT_EQ(AtomEnergy(to, transfer->parameters, 1, features), AtomEnergy(to, to.parameters, 1, features));
  EXPECT_NE(transfer->parameters.data(), to.parameters.data());
}

// Features of scale 0 are at their mean in every training structure.
TEST(TransferTest, ConstantFeatures) {
  Potential from = Make({8}, 1), to = Make({8}, 2);
  from.feature_scaling.scale[1] = 0;  // the network of `from` does not use it
  to.feature_scaling.scale[2] = to.feature_scaling.scale[3] = 0;
  const Transfer transfer = TransferParameters(from, to).value();
  EXPECT_THAT(transfer.messages, ElementsAre(HasSubstr("2 features of O do not vary in the training set")));
  std::vector<double> features = Features(from, 1);
  features[2] = to.feature_scaling.mean[2];
  features[3] = to.feature_scaling.mean[3];
  EXPECT_NEAR(AtomEnergy(to, transfer.parameters, 0, features), AtomEnergy(from, from.parameters, 0, features), 1e-12);
}

TEST(TransferTest, WithoutHiddenLayers) {
  Potential from = Make({8}, 1), to = Make({8}, 2);
  for (Potential* potential : {&from, &to}) {
    potential->shape.hidden.clear();
    potential->parameters = potential->parameters.Slice(0, {potential->shape.num_parameters()});
  }
  const Transfer transfer = TransferParameters(from, to).value();
  const std::vector<double> features = Features(from, 1);
  EXPECT_NEAR(AtomEnergy(to, transfer.parameters, 0, features), AtomEnergy(from, from.parameters, 0, features), 1e-12);
}

TEST(TransferTest, WhatDoesNotFit) {
  const Potential from = Make({22, 8}, 1);
  const auto message = [&](const Potential& to) {
    return std::string(TransferParameters(from, to).status().message());
  };
  Potential to = Make({22, 8}, 2);
  to.descriptor.chebyshev().rad_cutoff = 7;
  EXPECT_THAT(message(to), HasSubstr("all but the species must be the same"));
  to = Make({22, 8}, 2);
  to.shape.activation = Activation::kSilu;
  EXPECT_THAT(message(to), HasSubstr("its networks are 4,3 tanh, asked for are 4,3 silu"));
  EXPECT_THAT(message(Make({22}, 2)), HasSubstr("networks of one species do not fit those of several"));
  EXPECT_THAT(message(Make({14, 40}, 2)), HasSubstr("none of the species"));
}

// Makes a potential of two layers on moments, with random parameters and scales.
Potential MakeMoments(const std::vector<uint8_t>& species, uint64_t seed) {
  Potential potential;
  MomentOptions options;
  options.species = species;
  options.num_radial = 2;
  options.max_l = 1;
  potential.descriptor = options;
  NetworkShape& shape = potential.shape;
  shape.num_species = static_cast<int>(species.size());
  shape.num_features = options.num_features();
  shape.hidden = {3};
  shape.moments.channels = 2;
  shape.moments.num_radial = options.num_radial;
  shape.moments.max_l = options.max_l;
  shape.moments.messages = 2;
  RandomStream random(seed, "potential", 0, 0);
  potential.feature_scaling = {shape.num_species, shape.num_features, {}, {}};
  potential.feature_scaling.mean.assign(shape.num_species * shape.num_features, 0.0);
  // Scales are of a species, a neighbor's species, n and l; here of n and l alone, so that those of messages are equal.
  for (int i = 0; i < shape.num_species * shape.num_species * options.num_radial; ++i) {
    for (const double scale : {1.5, 0.5, 0.5, 0.5}) potential.feature_scaling.scale.push_back(scale * (1 + i % 2));
  }
  potential.atomic_energies.assign(shape.num_species, 0.0);
  std::vector<double> parameters;
  for (int64_t i = 0; i < shape.num_parameters(); ++i) parameters.push_back(random.Uniform(-1, 1));
  potential.parameters = Tensor::Of(parameters);
  return potential;
}

// The features of moments grow with the species: coefficients follow the neighbor's element, all else follows the
// atom's.
TEST(TransferTest, MomentsTakeMoreSpeciesAndFewer) {
  const Potential small = MakeMoments({22, 8}, 1), large = MakeMoments({8, 1, 22}, 2);
  for (const bool grows : {true, false}) {
    const Potential &from = grows ? small : large, &to = grows ? large : small;
    const absl::StatusOr<Transfer> transfer = TransferParameters(from, to);
    ASSERT_TRUE(transfer.ok()) << transfer.status();
    EXPECT_THAT(transfer->messages, IsEmpty());
    const std::vector<double> old = from.parameters.ToDoubles(), now = transfer->parameters.ToDoubles();
    const std::vector<uint8_t>&known = from.descriptor.species(), &species = to.descriptor.species();
    const auto place = [](const std::vector<uint8_t>& all, uint8_t element) {
      return static_cast<int>(std::find(all.begin(), all.end(), element) - all.begin());
    };
    for (const uint8_t center : {uint8_t{22}, uint8_t{8}}) {
      const int before = place(known, center), after = place(species, center);
      for (int kl = 0; kl < 4; ++kl) {
        for (const uint8_t neighbor : species) {
          for (int n = 0; n < 2; ++n) {
            const int64_t at = (kl * to.shape.num_species + place(species, neighbor)) * 2 + n;
            const int64_t was = (kl * from.shape.num_species + place(known, neighbor)) * 2 + n;
            // Sums over neighbors are divided by the root of the number of species.
            const double sums = std::sqrt(static_cast<double>(species.size()) / static_cast<double>(known.size()));
            const double expected = neighbor == 1 ? 0 : sums * old[from.shape.radial_offset(before) + was];
            EXPECT_DOUBLE_EQ(now[to.shape.radial_offset(after) + at], expected) << int{center} << " " << int{neighbor};
          }
        }
      }
      const int64_t rest = to.shape.parameters_per_species() - to.shape.num_radial_coefficients();
      ASSERT_EQ(rest, from.shape.parameters_per_species() - from.shape.num_radial_coefficients());
      for (int64_t i = 0; i < rest; ++i) {
        EXPECT_NEAR(now[to.shape.product_offset(after) + i], old[from.shape.product_offset(before) + i], 1e-14) << i;
      }
    }
    if (!grows) continue;
    EXPECT_THAT(transfer->begun, ElementsAre("H"));
    for (int64_t i = to.shape.message_offset(1); i < to.shape.second_layer_offset(1); ++i) EXPECT_EQ(now[i], 0) << i;
  }
}

// At 0 they would have no slope, and never be learned.
TEST(TransferTest, DegreesThatVanishedBeginWithRandomNumbers) {
  Potential from = MakeMoments({22, 8}, 1);
  const Potential to = MakeMoments({22, 8}, 2);
  for (size_t k = 0; k < from.feature_scaling.scale.size(); ++k) {
    if (k % 4 != 0) from.feature_scaling.scale[k] = 0;
  }
  const absl::StatusOr<Transfer> transfer = TransferParameters(from, to);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  ASSERT_THAT(transfer->messages, SizeIs(2));
  EXPECT_THAT(transfer->messages[0], HasSubstr("degree 1 around Ti"));
  const std::vector<double> old = from.parameters.ToDoubles(), now = transfer->parameters.ToDoubles();
  for (int channel = 0; channel < 2; ++channel) {
    for (int i = 0; i < 4; ++i) {  // of degree 1: two neighbors, two radial functions
      const int64_t at = to.shape.radial_offset(0) + (channel * 2 + 1) * 4 + i;
      EXPECT_NEAR(now[at], 0.1 * old[at], 1e-14);
      EXPECT_NE(now[at], 0);
    }
  }
}

// ---- a run that goes on

TEST(CarryParametersOverTest, EnergiesAreTheSameForAllFeatures) {
  Potential from = Make({22, 8}, 1), to = Make({22, 8}, 2);
  from.feature_scaling.scale[1] = 0;  // it may be constant in what the run had
  const absl::StatusOr<Tensor> carried = CarryParametersOver(from, to);
  ASSERT_TRUE(carried.ok()) << carried.status();
  for (int species = 0; species < 2; ++species) {
    const std::vector<double> features = Features(from, 3);
    const double energy = AtomEnergy(from, from.parameters, species, features);
    EXPECT_NEAR(AtomEnergy(to, *carried, species, features), energy, 1e-12 * std::abs(energy));
  }
}

TEST(CarryParametersOverTest, RefusesWhatWouldPredictOtherwise) {
  const Potential from = Make({22, 8}, 1);
  EXPECT_THAT(CarryParametersOver(from, Make({8, 22}, 2)).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"Ti,O", "O,Ti"}));
  Potential to = Make({22, 8}, 2);
  to.feature_scaling.scale[0] = 0;
  EXPECT_THAT(CarryParametersOver(from, to).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"1 features", "Ti"}));
  to = Make({22, 8}, 2);
  to.shape.activation = Activation::kSilu;
  // Of such a model a new run cannot begin either.
  EXPECT_THAT(CarryParametersOver(from, to).status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"tanh", "silu"}));
  EXPECT_FALSE(TransferParameters(from, to).ok());
}

// Networks learned what the repulsion left of the labels.
TEST(TransferTest, NeedsTheSameRepulsionOfSharedSpecies) {
  Potential from = Make({22, 8}, 1), to = Make({22, 8}, 2);
  from.repulsion = {{0.5, 0.5, 0.5, 0.5}, {1, 1, 1, 1}};
  EXPECT_THAT(TransferParameters(from, to).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--zbl", "0.5 to 1", "none"}));
  EXPECT_THAT(TransferParameters(to, from).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"--zbl", "0.5 to 1", "none"}));
  to.repulsion = from.repulsion;
  EXPECT_TRUE(TransferParameters(from, to).ok());
  to.repulsion.outer = {1, 1, 1, 1.5};
  EXPECT_EQ(CarryParametersOver(from, to).status().code(), absl::StatusCode::kFailedPrecondition);
  // In another order, and with one more species, of which the model knows nothing.
  Potential more = Make({1, 8, 22}, 3);
  more.repulsion = {std::vector<double>(9, 0.5), {2, 2, 2, 2, 1.5, 1, 2, 1, 1}};
  EXPECT_TRUE(TransferParameters(to, more).ok());
  more.repulsion.outer[4] = 1;
  EXPECT_FALSE(TransferParameters(to, more).ok());
}

}  // namespace
}  // namespace rutile
