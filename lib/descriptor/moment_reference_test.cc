#include "lib/descriptor/moment_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/moment_basis.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {
namespace {

struct Case {
  std::string name;
  Structure structure;
  std::vector<uint8_t> species;
  MomentOptions options;
};

MomentOptions Options(int num_species, int num_radial = 5, int max_l = 3, RadialBasis basis = RadialBasis::kBessel) {
  MomentOptions options;
  for (int s = 0; s < num_species; ++s) options.species.push_back(s + 1);
  options.cutoff = 4;
  options.num_radial = num_radial;
  options.max_l = max_l;
  options.basis = basis;
  return options;
}

Structure Molecule(std::vector<double> position) {
  Structure structure;
  structure.element.assign(position.size() / 3, 1);
  structure.position = std::move(position);
  return structure;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, Structure structure, MomentOptions options) {
    std::vector<uint8_t> species;
    for (int i = 0; i < structure.size(); ++i) species.push_back((i * i + i / 3) % options.species.size());
    cases.push_back({std::move(name), std::move(structure), std::move(species), std::move(options)});
  };
  add("one atom", Molecule({0.3, 0.2, 0.1}), Options(2));
  add("dimer", Molecule({0, 0, 0, 0.7, -0.4, 1.1}), Options(2));
  add("dimer along the polar axis", Molecule({0, 0, 0, 0, 1.3, 0}), Options(2));
  add("linear triple", Molecule({0, 0, 0, 0.7, -0.4, 1.1, -1.4, 0.8, -2.2}), Options(3));
  add("on the axes", Molecule({0, 0, 0, 1.2, 0, 0, 0, 1.3, 0, 0, 0, -1.4}), Options(2, 5, 4));
  add("no neighbors", RandomStructure(3, 30, 3), Options(1));
  add("one atom and its images", RandomStructure(1, 2.3, 2), Options(1, 8));
  add("thin cell", RandomStructure(3, 2.6, 4), Options(2, 8, 2, RadialBasis::kChebyshev));
  add("species without neighbors", RandomStructure(2, 4.5, 4), Options(5));
  for (int l = 0; l <= 4; ++l) add("degree " + std::to_string(l), RandomStructure(9, 4.6, 20 + l), Options(2, 4, l));
  add("Chebyshev", RandomStructure(9, 4.6, 30), Options(3, 8, 3, RadialBasis::kChebyshev));
  add("one function", RandomStructure(9, 4.6, 31), Options(2, 1, 3, RadialBasis::kChebyshev));
  return cases;
}

std::vector<double> Features(const Case& test, const Structure& structure) {
  const auto derivatives = MakeMomentReference<double>(test.options);
  const SampleGeometry sample(structure, test.species, derivatives->cutoff());
  std::vector<double> features(structure.size() * derivatives->num_features());
  derivatives->Features(sample.Get(), derivatives->MakeState().get(), absl::MakeSpan(features));
  return features;
}

// Applies x -> x + step * matrix . x to positions and cell, then adds step * direction to positions.
Structure Moved(const Structure& structure, const std::vector<double>& direction, const std::vector<double>& matrix,
                double step) {
  Structure moved = structure;
  const auto change = [&](double* v) {
    const std::array<double, 3> old = {v[0], v[1], v[2]};
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) v[a] += step * matrix[3 * a + b] * old[b];
    }
  };
  for (int64_t i = 0; i < structure.size(); ++i) change(&moved.position[3 * i]);
  for (int c = 0; c < 3; ++c) change(&moved.cell[3 * c]);
  for (size_t k = 0; k < direction.size(); ++k) moved.position[k] += step * direction[k];
  return moved;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

double Largest(const std::vector<double>& v) {
  double largest = 1;
  for (const double x : v) largest = std::max(largest, std::abs(x));
  return largest;
}

TEST(MomentReferenceTest, EqualFiniteDifferences) {
  constexpr double kStep = 1e-4;
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    const auto derivatives = MakeMomentReference<double>(test.options);
    const SampleGeometry sample(test.structure, test.species, derivatives->cutoff());
    const int64_t n = sample.size();
    const std::vector<double> slopes = RandomVector(n * derivatives->num_features(), 1);
    const std::vector<double> direction = RandomVector(3 * n, 2), strain = RandomVector(9, 3);
    const Products<double> found = ComputeProducts(*derivatives, sample.Get(), slopes, direction, strain);

    // Tangents: differences of fourth order along the direction and the strain.
    const auto at = [&](double steps) {
      return Features(test, Moved(test.structure, direction, strain, steps * kStep));
    };
    const std::vector<double> m2 = at(-2), m1 = at(-1), p1 = at(1), p2 = at(2);
    for (size_t k = 0; k < m2.size(); ++k) {
      ASSERT_NEAR(found.tangents[k], (m2[k] - p2[k] + 8 * (p1[k] - m1[k])) / (12 * kStep),
                  1e-8 * Largest(found.tangents))
          << k;
    }
    // Forces and strain gradient: differences of the energy slopes . features by one coordinate at a time.
    const auto energy_slope = [&](const std::vector<double>& direction, const std::vector<double>& strain) {
      const auto at = [&](double steps) {
        return Dot(slopes, Features(test, Moved(test.structure, direction, strain, steps * kStep)));
      };
      return (at(-2) - at(2) + 8 * (at(1) - at(-1))) / (12 * kStep);
    };
    for (int64_t k = 0; k < std::min<int64_t>(3 * n, 9); ++k) {
      std::vector<double> unit(3 * n);
      unit[k] = 1;
      ASSERT_NEAR(found.force[k], -energy_slope(unit, std::vector<double>(9)), 1e-7 * Largest(found.force)) << k;
    }
    for (int k = 0; k < 9; ++k) {
      std::vector<double> unit(9);
      unit[k] = 1;
      ASSERT_NEAR(found.strain_gradient[k], energy_slope({}, unit), 1e-7 * Largest(found.strain_gradient)) << k;
    }
    // The two products are adjoint to each other, and no translation changes the features.
    EXPECT_NEAR(Dot(found.strain_gradient, strain) - Dot(found.force, direction), Dot(slopes, found.tangents),
                1e-11 * Largest(found.force) * n);
    double net[3] = {};
    for (int64_t k = 0; k < 3 * n; ++k) net[k % 3] += found.force[k];
    for (const double f : net) EXPECT_NEAR(f, 0, 1e-12 * Largest(found.force) * n);
  }
}

// Returns the sums over m of squares, for each atom, species, radial function and degree.
std::vector<double> Norms(const std::vector<double>& features, int max_l) {
  const int harmonics = (max_l + 1) * (max_l + 1);
  std::vector<double> norms;
  for (size_t row = 0; row < features.size(); row += harmonics) {
    for (int l = 0; l <= max_l; ++l) {
      double sum = 0;
      for (int k = l * l; k < (l + 1) * (l + 1); ++k) sum += features[row + k] * features[row + k];
      norms.push_back(sum);
    }
  }
  return norms;
}

TEST(MomentReferenceTest, NormsAreInvariant) {
  // The rotations are the one by 0.9 about (1, 2, 2) / 3, and the same with a reflection.
  const double c = std::cos(0.9), s = std::sin(0.9), u[3] = {1 / 3.0, 2 / 3.0, 2 / 3.0};
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> change(9);  // the matrix less 1
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        const double cross = a == b ? 0 : ((b - a + 3) % 3 == 1 ? -1 : 1) * u[3 - a - b];
        change[3 * a + b] = sign * ((a == b) * c + (1 - c) * u[a] * u[b] + s * cross) - (a == b);
      }
    }
    for (const Case& test : Cases()) {
      SCOPED_TRACE(test.name);
      const int max_l = test.options.max_l;
      const std::vector<double> before = Norms(Features(test, test.structure), max_l);
      const std::vector<double> after = Norms(Features(test, Moved(test.structure, {}, change, 1)), max_l);
      for (size_t k = 0; k < before.size(); ++k) ASSERT_NEAR(before[k], after[k], 1e-12 * Largest(before)) << k;
    }
  }
}

TEST(MomentReferenceTest, DimerInClosedForm) {
  const MomentOptions options = Options(2, 3, 2);
  const Case test = {"dimer", Molecule({0, 0, 0, 1.2, -0.9, 2}), {0, 1}, options};
  const std::vector<double> features = Features(test, test.structure);
  const double r = 2.5, unit[3] = {0.48, -0.36, 0.8};
  double phi[3], phi_slope[3], harmonic[9], harmonic_slope[27];
  RadialFunctions(options, r, absl::MakeSpan(phi), absl::MakeSpan(phi_slope));
  RealHarmonics(2, unit, absl::MakeSpan(harmonic), absl::MakeSpan(harmonic_slope));
  for (int n = 0; n < 3; ++n) {
    for (int k = 0; k < 9; ++k) {
      const int parity = k >= 1 && k < 4 ? -1 : 1;  // of odd degrees, for the atom that sees the other from behind
      EXPECT_EQ(features[n * 9 + k], 0);
      EXPECT_NEAR(features[(3 + n) * 9 + k], phi[n] * harmonic[k], 1e-15);
      EXPECT_NEAR(features[54 + n * 9 + k], parity * phi[n] * harmonic[k], 1e-15);
      EXPECT_EQ(features[54 + (3 + n) * 9 + k], 0);
    }
  }
}

TEST(MomentReferenceTest, PairsAtTheCutoffsAddNothing) {
  MomentOptions options = Options(1);
  Case at_cutoff = {"", Molecule({0, 0, 0, 0, 0, 4}), {0, 0}, options};
  for (const double x : Features(at_cutoff, at_cutoff.structure)) EXPECT_EQ(x, 0);
  options.min_cutoff = 2;
  Case at_min_cutoff = {"", Molecule({0, 0, 0, 0, 2, 0}), {0, 0}, options};
  for (const double x : Features(at_min_cutoff, at_min_cutoff.structure)) EXPECT_EQ(x, 0);
  at_min_cutoff.structure.position[4] = 2.001;
  EXPECT_GT(std::abs(Features(at_min_cutoff, at_min_cutoff.structure)[0]), 0.1);
}

TEST(MomentReferenceTest, FloatIsDoubleRounded) {
  const Case test = Cases().back();
  const SampleGeometry sample(test.structure, test.species, test.options.cutoff);
  const std::vector<double> slopes(sample.size() * test.options.num_features(), 0.5),
      direction(3 * sample.size(), 0.25);
  const auto exact = ComputeProducts(*MakeMomentReference<double>(test.options), sample.Get(), slopes, direction, {});
  const auto rounded = ComputeProducts(*MakeMomentReference<float>(test.options), sample.Get(), slopes, direction, {});
  for (size_t k = 0; k < exact.force.size(); ++k) EXPECT_EQ(rounded.force[k], static_cast<float>(exact.force[k]));
}

}  // namespace
}  // namespace rutile
