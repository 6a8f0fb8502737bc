// Potentials of two layers through the C interface: cells are computed, lists of centers are refused.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/moment_options.h"
#include "lib/md/md_testing.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

Potential TwoLayers() {
  MomentOptions moments;
  moments.species = {22, 8};
  moments.cutoff = 3.5;
  moments.num_radial = 4;
  moments.max_l = 2;
  Potential p;
  p.descriptor = moments;
  SetInputs(p.descriptor, /*channels=*/6, /*messages=*/3, &p.shape);
  p.shape.hidden = {5};
  p.shape.activation = Activation::kSilu;
  p.feature_scaling.num_species = 2;
  p.feature_scaling.num_features = p.shape.num_features;
  p.feature_scaling.mean.assign(2 * p.shape.num_features, 0.0);
  p.feature_scaling.scale.assign(2 * p.shape.num_features, 0.4);
  p.energy_scaling.scale = 0.7;
  p.energy_scaling.shift = -0.3;
  p.atomic_energies = {-1, -2};
  std::vector<double> parameters(p.shape.num_parameters());
  for (size_t k = 0; k < parameters.size(); ++k) parameters[k] = std::sin(1.7 * static_cast<double>(k) + 0.3);
  p.parameters = Tensor::Of(parameters);
  return p;
}

// Five atoms in a skew cell that is thinner than two cutoffs.
Structure Crystal() {
  Structure structure;
  structure.element = {22, 8, 8, 22, 8};
  structure.position = {0, 0, 0, 1.9, 0.2, 0.1, 0.3, 2.0, 0.4, 2.1, 2.2, 1.8, 0.2, 0.3, 2.1};
  structure.cell = {4.1, 0, 0, 0.4, 4.0, 0, -0.3, 0.2, 4.2};
  structure.pbc = {true, true, true};
  return structure;
}

TEST(TwoLayersTest, ForcesAndVirialsAreFiniteDifferences) {
  const TestModel model({TwoLayers()});
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rutile_get_info(model.model(), &info), RUTILE_OK);
  EXPECT_EQ(info.num_layers, 2);
  const Structure structure = Crystal();
  const TestResult r = ComputeCell(model, structure);
  ASSERT_EQ(r.code, RUTILE_OK) << r.error;
  constexpr double kStep = 1e-5;
  const double largest = std::abs(*std::max_element(r.forces.begin(), r.forces.end(),
                                                    [](double a, double b) { return std::abs(a) < std::abs(b); }));
  ASSERT_GT(largest, 1e-3);
  for (size_t c = 0; c < r.forces.size(); ++c) {
    Structure low = structure, high = structure;
    low.position[c] -= kStep;
    high.position[c] += kStep;
    const double slope = (ComputeCell(model, high).energy - ComputeCell(model, low).energy) / (2 * kStep);
    EXPECT_NEAR(r.forces[c], -slope, 1e-6 * std::max(1.0, largest)) << c;
  }
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      const auto strained = [&](double strain) {
        Structure s = structure;
        for (int64_t v = 0; v < s.size(); ++v) s.position[3 * v + a] += strain * structure.position[3 * v + b];
        for (int v = 0; v < 3; ++v) s.cell[3 * v + a] += strain * structure.cell[3 * v + b];
        return ComputeCell(model, s).energy;
      };
      const double slope = (strained(kStep) - strained(-kStep)) / (2 * kStep);
      EXPECT_NEAR(r.virial[3 * a + b], slope, 1e-5 * std::max(1.0, std::abs(slope))) << a << b;
      double sum = 0;
      for (int64_t v = 0; v < structure.size(); ++v) sum += r.atom_virial[9 * v + 3 * a + b];
      const double mean = 0.5 * (sum + [&] {
                            double other = 0;
                            for (int64_t v = 0; v < structure.size(); ++v) other += r.atom_virial[9 * v + 3 * b + a];
                            return other;
                          }());
      EXPECT_NEAR(mean, r.virial[3 * a + b], 1e-9 * std::max(1.0, std::abs(slope)));
    }
  }
}

TEST(TwoLayersTest, ListsOfCentersAreRefused) {
  const TestModel model({TwoLayers()});
  const Structure structure = Crystal();
  const TestGhosts ghosts = MakeGhosts(structure, model.Species(structure), 3.5);
  const TestResult r = ComputeList(model, ghosts, {0, 1, 2, 3, 4});
  EXPECT_EQ(r.code, RUTILE_INVALID_ARGUMENT);
  EXPECT_THAT(r.error, HasSubstr("two layers"));
}

}  // namespace
}  // namespace rutile
