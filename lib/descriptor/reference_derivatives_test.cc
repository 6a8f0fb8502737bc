#include "lib/descriptor/reference_derivatives.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/descriptor/chebyshev.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/potential/model/golden_potential_testing.h"

namespace rutile {
namespace {

std::vector<double> Features(const DerivativeCase& test, const Structure& structure) {
  const ChebyshevReference descriptor(test.options);
  NeighborList neighbors;
  const absl::Status status = BruteForceNeighborList(structure, descriptor.cutoff(), &neighbors);
  CHECK(status.ok()) << status;
  std::vector<double> features(structure.size() * descriptor.num_features());
  descriptor.Compute(test.species, neighbors, nullptr, absl::MakeSpan(features));
  return features;
}

// Returns the structure with positions moved by step * direction, and positions and cell strained by step * strain.
Structure Moved(const Structure& structure, const std::vector<double>& direction, const std::vector<double>& strain,
                double step) {
  Structure moved = structure;
  const auto stretch = [&](double* v) {
    const std::array<double, 3> old = {v[0], v[1], v[2]};
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) v[a] += step * strain[3 * a + b] * old[b];
    }
  };
  for (int64_t i = 0; i < structure.size(); ++i) stretch(&moved.position[3 * i]);
  for (int c = 0; c < 3; ++c) stretch(&moved.cell[3 * c]);
  for (size_t k = 0; k < direction.size(); ++k) moved.position[k] += step * direction[k];
  return moved;
}

// Computes how the features change, by differences of fourth order.
std::vector<double> Differences(const DerivativeCase& test, const std::vector<double>& direction,
                                const std::vector<double>& strain) {
  constexpr double kStep = 2e-6;  // small: the second derivative of f_c jumps at the cutoff
  const auto at = [&](double steps) { return Features(test, Moved(test.structure, direction, strain, steps * kStep)); };
  const std::vector<double> a = at(-2), b = at(-1), c = at(1), e = at(2);
  std::vector<double> out(a.size());
  for (size_t k = 0; k < out.size(); ++k) out[k] = (a[k] - e[k] + 8 * (c[k] - b[k])) / (12 * kStep);
  return out;
}

void ExpectClose(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 1;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance * largest) << i;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

TEST(ReferenceDerivativesTest, EqualFiniteDifferences) {
  for (const DerivativeCase& test : DerivativeCases()) {
    if (test.options.ang_order > 10) continue;  // differences lose too many digits
    SCOPED_TRACE(test.name);
    const auto derivatives = MakeReferenceDerivatives<double>(test.options);
    const SampleGeometry sample(test.structure, test.species, derivatives->cutoff());
    const std::vector<double> slopes = RandomVector(sample.size() * derivatives->num_features(), 1);
    const std::vector<double> direction = RandomVector(3 * sample.size(), 2), strain = RandomVector(9, 3);
    const Products<double> found = ComputeProducts(*derivatives, sample.Get(), slopes, direction, strain);
    ExpectClose(found.features, Features(test, test.structure), 1e-12);
    ExpectClose(found.tangents, Differences(test, direction, strain), 2e-7);
    // The two products are adjoint to each other.
    EXPECT_NEAR(Dot(found.strain_gradient, strain) - Dot(found.force, direction), Dot(slopes, found.tangents),
                1e-10 * std::max(1.0, std::abs(Dot(slopes, found.tangents))));
    // Forces have no net force, as features do not change under translation, and the strain gradient is symmetric, as
    // they do not change under rotation.
    double net[3] = {};
    for (int64_t k = 0; k < 3 * sample.size(); ++k) net[k % 3] += found.force[k];
    for (const double f : net) EXPECT_NEAR(f, 0, 1e-9);
    for (const auto& [a, b] : {std::pair(1, 3), std::pair(2, 6), std::pair(5, 7)}) {
      EXPECT_NEAR(found.strain_gradient[a], found.strain_gradient[b], 1e-9);
    }
  }
}

// Compares with dG_dR of an independent program, which guards roots and denominators: accurate to 1e-9 of the largest.
TEST(ReferenceDerivativesTest, EqualGoldenJacobian) {
  int cases = 0;
  for (const std::string& name : GoldenCaseNames()) {
    const GoldenCase golden = ReadGoldenCase(name);
    if (golden.jacobian.empty()) continue;
    ++cases;
    SCOPED_TRACE(name);
    const auto derivatives = MakeReferenceDerivatives<double>(golden.descriptor);
    const SampleGeometry sample(golden.structure, golden.species, derivatives->cutoff());
    const int64_t n = sample.size(), f = derivatives->num_features();
    for (int64_t k = 0; k < 3 * n; ++k) {
      std::vector<double> direction(3 * n), expected;
      direction[k] = 1;
      for (int64_t row = 0; row < n * f; ++row) expected.push_back(golden.jacobian[row * 3 * n + k]);
      const Products<double> found =
          ComputeProducts(*derivatives, sample.Get(), std::vector<double>(n * f), direction, {});
      ExpectClose(found.features, golden.features, 1e-11);
      ExpectClose(found.tangents, expected, 2e-9);
    }
  }
  EXPECT_GE(cases, 5);
}

TEST(ReferenceDerivativesTest, FloatIsDoubleRounded) {
  const DerivativeCase test = DerivativeCases().back();
  const SampleGeometry sample(test.structure, test.species, test.options.cutoff());
  const std::vector<double> slopes(sample.size() * test.options.num_features(), 0.5),
      direction(3 * sample.size(), 0.25);
  const auto exact =
      ComputeProducts(*MakeReferenceDerivatives<double>(test.options), sample.Get(), slopes, direction, {});
  const auto rounded =
      ComputeProducts(*MakeReferenceDerivatives<float>(test.options), sample.Get(), slopes, direction, {});
  for (size_t k = 0; k < exact.force.size(); ++k) EXPECT_EQ(rounded.force[k], static_cast<float>(exact.force[k]));
}

}  // namespace
}  // namespace rutile
