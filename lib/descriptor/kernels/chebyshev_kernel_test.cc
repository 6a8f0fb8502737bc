#include "lib/descriptor/kernels/chebyshev_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Atom 0 has `count` neighbors; the other atoms have none and only provide species.
struct Environment {
  std::vector<uint8_t> species;
  NeighborList neighbors;

  void Add(int kind, double x, double y, double z) {
    species.push_back(kind);
    neighbors.j.push_back(species.size() - 1);
    neighbors.shift.insert(neighbors.shift.end(), 3, 0);
    neighbors.dx.push_back(x);
    neighbors.dy.push_back(y);
    neighbors.dz.push_back(z);
  }
  void Finish() {
    species.insert(species.begin(), 0);
    for (int32_t& j : neighbors.j) ++j;
    neighbors.offset.assign(species.size() + 1, neighbors.num_pairs());
    neighbors.offset[0] = 0;
  }
};

// Returns neighbors in random directions, at distances from below min_cutoff to `reach`, which may be beyond
// rad_cutoff.
Environment RandomEnvironment(int count, int num_species, double reach, uint64_t seed) {
  RandomStream stream(seed, "environment");
  Environment environment;
  for (int k = 0; k < count; ++k) {
    const double r = 0.3 + (reach - 0.3) * std::cbrt(stream.Uniform());
    const double z = stream.Uniform(-1, 1), phi = stream.Uniform(0, 2 * M_PI), rho = std::sqrt(1 - z * z);
    environment.Add(stream.Below(num_species), r * rho * std::cos(phi), r * rho * std::sin(phi), r * z);
  }
  environment.Finish();
  return environment;
}

ChebyshevOptions Options(int num_species, int rad_order, int ang_order) {
  ChebyshevOptions options;
  for (int s = 0; s < num_species; ++s) options.species.push_back(s + 1);
  options.rad_order = rad_order;
  options.rad_cutoff = 5;
  options.ang_order = ang_order;
  options.ang_cutoff = 4;
  return options;
}

template <typename T>
std::vector<T> Fast(const ChebyshevOptions& options, AngularMethod method, const Environment& environment) {
  const ChebyshevTables<T> tables(options, method);
  ChebyshevScratch<T> scratch(tables);
  std::vector<T> features(environment.species.size() * tables.num_features, std::numeric_limits<T>::quiet_NaN());
  ComputeChebyshev(tables, environment.species, environment.neighbors, &scratch, absl::MakeSpan(features));
  return features;
}

std::vector<double> Reference(const ChebyshevOptions& options, const Environment& environment) {
  const ChebyshevReference reference(options);
  std::vector<double> features(environment.species.size() * options.num_features());
  reference.Compute(environment.species, environment.neighbors, nullptr, absl::MakeSpan(features));
  return features;
}

template <typename T>
void ExpectClose(const std::vector<T>& features, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(features.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(features[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "feature " << i;
  }
}

// Tests both methods in both precisions.
void ExpectAllEqualReference(const ChebyshevOptions& options, const Environment& environment) {
  const std::vector<double> expected = Reference(options, environment);
  for (const AngularMethod method : {AngularMethod::kMoments, AngularMethod::kTriplets}) {
    SCOPED_TRACE(method == AngularMethod::kMoments ? "moments" : "triplets");
    ExpectClose(Fast<double>(options, method, environment), expected, 1e-11);
    ExpectClose(Fast<float>(options, method, environment), expected, 2e-4);
  }
}

TEST(ChebyshevKernelTest, AnyNumberOfNeighbors) {
  ForEachTarget([] {
    for (const int count : {0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 200}) {
      SCOPED_TRACE(absl::StrCat(count, " neighbors"));
      for (const double reach : {3.9, 5.0, 7.0}) {
        ExpectAllEqualReference(Options(2, 10, 4), RandomEnvironment(count, 2, reach, count));
      }
    }
  });
}

TEST(ChebyshevKernelTest, AnyNumberOfSpecies) {
  ForEachTarget([] {
    for (const int species : {1, 2, 3, 4, 5, 12}) {  // with an odd number of species, one has typespin 0
      SCOPED_TRACE(absl::StrCat(species, " species"));
      ExpectAllEqualReference(Options(species, 6, 3), RandomEnvironment(60, species, 5, species));
    }
  });
}

TEST(ChebyshevKernelTest, EveryOrder) {
  ForEachTarget([] {
    const Environment environment = RandomEnvironment(90, 2, 5.5, 1);
    for (int order = 0; order <= 32; ++order) {
      SCOPED_TRACE(absl::StrCat("order ", order));
      ExpectAllEqualReference(Options(2, order, order), environment);
      ExpectAllEqualReference(Options(1, 32 - order, order), RandomEnvironment(20, 1, 5, order));
    }
  });
}

TEST(ChebyshevKernelTest, AngularCutoffAboveRadial) {
  ChebyshevOptions options = Options(2, 7, 4);
  for (const double rad_cutoff : {1.0, 2.5, 3.9}) {
    options.rad_cutoff = rad_cutoff;
    ForEachTarget([&] { ExpectAllEqualReference(options, RandomEnvironment(90, 2, 5, 1)); });
  }
}

TEST(ChebyshevKernelTest, CollinearNeighbors) {
  ForEachTarget([] {
    for (const int axis : {0, 1, 2, 3}) {
      Environment environment;
      for (int k = 0; k < 9; ++k) {
        const double r = (k % 2 == 0 ? 1 : -1) * (0.6 + 0.37 * k);
        const double v[3] = {axis == 0 || axis == 3 ? r : 0, axis == 1 || axis == 3 ? r / 2 : 0, axis == 2 ? r : 0};
        environment.Add(k % 3 == 0, v[0], v[1], v[2]);
      }
      environment.Finish();
      for (const int order : {4, 9, 20}) ExpectAllEqualReference(Options(2, order, order), environment);
    }
  });
}

// At the limits the reference decides by the rounded distance. The kernel must decide alike, from squared distances
// alone.
TEST(ChebyshevKernelTest, LimitsOfDistances) {
  ChebyshevOptions options = Options(1, 2, 2);
  options.min_cutoff = 0.55;
  Environment environment;
  const double steps[] = {-2e-16, -1e-16, 0, 1e-16, 2e-16};
  for (const double limit : {0.55, 4.0, 5.0}) {
    for (const double step : steps) {
      environment.Add(0, limit * (1 + step), 0, 0);
      environment.Add(0, 0, 0.6 * limit * (1 + step), 0.8 * limit * (1 + step));
    }
  }
  environment.Finish();
  ForEachTarget([&] { ExpectAllEqualReference(options, environment); });
}

TEST(ChebyshevKernelTest, OneNeighborHasNoAngle) {
  ForEachTarget([] {
    const Environment environment = RandomEnvironment(1, 1, 2, 5);
    const std::vector<double> features = Fast<double>(Options(1, 3, 8), AngularMethod::kMoments, environment);
    for (int n = 0; n <= 8; ++n) EXPECT_NEAR(features[4 + n], 0, 1e-15);
  });
}

// Accuracy of fp32 at realistic sizes: moments lose no more digits than the direct sum does.
TEST(ChebyshevKernelTest, SinglePrecision) {
  ForEachTarget([] {
    for (const int order : {3, 6, 12, 32}) {
      const Environment environment = RandomEnvironment(184, 2, 5, order);
      const std::vector<double> expected = Reference(Options(2, order, order), environment);
      ExpectClose(Fast<float>(Options(2, order, order), AngularMethod::kMoments, environment), expected, 3e-5);
    }
  });
}

// A scratch is reused for structures of any size, in any order, without traces of earlier ones.
TEST(ChebyshevKernelTest, ScratchIsReused) {
  const ChebyshevOptions options = Options(3, 20, 9);
  const ChebyshevTables<double> tables(options, AngularMethod::kMoments);
  ChebyshevScratch<double> scratch(tables);
  for (const int count : {5, 300, 0, 17, 1000, 3}) {
    const Environment environment = RandomEnvironment(count, 3, 5, count);
    std::vector<double> features(environment.species.size() * tables.num_features);
    ComputeChebyshev(tables, environment.species, environment.neighbors, &scratch, absl::MakeSpan(features));
    EXPECT_EQ(features, Fast<double>(options, AngularMethod::kMoments, environment)) << count;
  }
}

TEST(ChebyshevKernelDeathTest, RefusesShapes) {
  const ChebyshevTables<double> tables(Options(1, 1, 1), AngularMethod::kMoments);
  ChebyshevScratch<double> scratch(tables);
  NeighborList neighbors;
  neighbors.offset = {0, 0};
  std::vector<double> features(3);
  EXPECT_DEATH(ComputeChebyshev(tables, {0}, neighbors, &scratch, absl::MakeSpan(features)), "3 vs. 4");
  EXPECT_DEATH(ComputeChebyshev(tables, {0, 0}, neighbors, &scratch, absl::MakeSpan(features)), "2 vs. 3");
}

}  // namespace
}  // namespace rutile
