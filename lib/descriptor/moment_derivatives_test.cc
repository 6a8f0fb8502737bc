#include "lib/descriptor/moment_derivatives.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/moment_reference.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

MomentOptions Options(int num_species, int num_radial = 8, int max_l = 3, RadialBasis basis = RadialBasis::kBessel) {
  MomentOptions options;
  for (int s = 0; s < num_species; ++s) options.species.push_back(s + 1);
  options.cutoff = 4;
  options.num_radial = num_radial;
  options.max_l = max_l;
  options.basis = basis;
  return options;
}

std::vector<uint8_t> Species(int64_t num_atoms, size_t count) {
  std::vector<uint8_t> species;
  for (int64_t i = 0; i < num_atoms; ++i) species.push_back((i * i + i / 3) % count);
  return species;
}

// Returns an atom at the origin with `count` others at distances of 1 to 3.9 Angstrom from it. These may be so near to
// each other that min_cutoff leaves a pair out.
Structure Cluster(int count) {
  RandomStream random(count, "cluster");
  Structure structure;
  structure.element.assign(count + 1, 1);
  structure.position.assign(3, 0);
  for (int k = 0; k < count; ++k) {
    double v[3], length = 0;
    while (length < 0.1 || length > 1) {
      for (double& x : v) x = random.Uniform(-1, 1);
      length = std::hypot(v[0], v[1], v[2]);
    }
    const double r = random.Uniform(1, 3.9);
    for (const double x : v) structure.position.push_back(x / length * r);
  }
  return structure;
}

template <typename T>
void ExpectEqualReference(const MomentOptions& options, const SampleGeometry& sample, double tolerance) {
  const auto reference = MakeMomentReference<double>(options);
  const auto fast = MakeMomentDerivatives<T>(options);
  EXPECT_EQ(fast->num_features(), reference->num_features());
  EXPECT_EQ(fast->cutoff(), reference->cutoff());
  const int64_t n = sample.size();
  const std::vector<double> slopes = RandomVector(n * fast->num_features(), 1), direction = RandomVector(3 * n, 2);
  for (const std::vector<double>& strain : {std::vector<double>(), RandomVector(9, 3)}) {
    const Products<double> expected = ComputeProducts(*reference, sample.Get(), slopes, direction, strain);
    ExpectEqual(ComputeProducts(*fast, sample.Get(), slopes, direction, strain), expected, tolerance);
  }
}

// The sums below, at and above whole vectors of neighbors, with all shapes of tiles of radial functions and harmonics.
// Lists reach beyond the cutoff, and farther pairs are ignored.
TEST(MomentDerivativesTest, EqualReferenceAtAwkwardSizes) {
  for (const int neighbors : {0, 1, 15, 16, 17, 90}) {
    const Structure cluster = Cluster(neighbors);
    for (const int num_species : {1, 2, 3}) {
      const std::vector<uint8_t> species = Species(cluster.size(), num_species);
      for (const int num_radial : {1, 5, 8, 12}) {
        const int max_l = (num_radial + neighbors + num_species) % 5;
        SCOPED_TRACE(absl::StrCat(neighbors, " neighbors, ", num_species, " species, N ", num_radial, ", L ", max_l));
        MomentOptions options = Options(num_species, num_radial, max_l);
        if (num_radial == 5) options.basis = RadialBasis::kChebyshev;
        if (num_radial == 12) options.envelope = 2;
        const SampleGeometry sample(cluster, species, options.cutoff + 0.3);
        ForEachTarget([&] {
          ExpectEqualReference<double>(options, sample, 1e-12);
          ExpectEqualReference<float>(options, sample, 2e-5);
        });
      }
    }
  }
}

TEST(MomentDerivativesTest, EqualReferenceForEveryDegree) {
  const SampleGeometry sample(RandomStructure(9, 4.4, 7), Species(9, 2), 4.5);
  for (int max_l = 0; max_l <= 4; ++max_l) {
    for (const RadialBasis basis : {RadialBasis::kBessel, RadialBasis::kChebyshev}) {
      for (const int num_radial : {1, 5, 8, 12}) {
        SCOPED_TRACE(absl::StrCat("N ", num_radial, ", L ", max_l));
        ForEachTarget([&] {
          ExpectEqualReference<double>(Options(2, num_radial, max_l, basis), sample, 1e-12);
          ExpectEqualReference<float>(Options(2, num_radial, max_l, basis), sample, 2e-5);
        });
      }
    }
  }
}

TEST(MomentDerivativesTest, EqualReferenceInAwkwardStructures) {
  std::vector<std::pair<const char*, Structure>> structures = {
      {"no atoms", RandomStructure(0, 0, 1)},      {"one atom", RandomStructure(1, 0, 1)},
      {"no neighbors", RandomStructure(3, 30, 3)}, {"one atom and its images", RandomStructure(1, 2.1, 2)},
      {"thin cell", RandomStructure(3, 2.6, 4)},   {"molecule", RandomStructure(40, 0, 5)},
  };
  Structure axes;  // with a pair at the cutoff and one at the least distance
  axes.element.assign(6, 1);
  axes.position = {0, 0, 0, 1.2, 0, 0, 0, 1.3, 0, 0, 0, -1.4, 0, -4, 0, 0, 0, 0.55};
  structures.emplace_back("axes", axes);
  for (const auto& [name, structure] : structures) {
    SCOPED_TRACE(name);
    const SampleGeometry sample(structure, Species(structure.size(), 4), 4.5);
    for (const int max_l : {3, 4}) {
      ForEachTarget([&] {
        ExpectEqualReference<double>(Options(4, 8, max_l), sample, 1e-12);
        ExpectEqualReference<float>(Options(4, 8, max_l), sample, 2e-5);
      });
    }
  }
}

TEST(MomentDerivativesTest, AtomsMayBeNeighborsAlone) {
  const SampleGeometry sample(RandomStructure(13, 4.4, 7), Species(13, 2), 4.5);
  ExpectSameOfCenters(*MakeMomentReference<double>(Options(2)), sample.Get());
  ForEachTarget([&] {
    ExpectSameOfCenters(*MakeMomentDerivatives<double>(Options(2)), sample.Get());
    ExpectSameOfCenters(*MakeMomentDerivatives<float>(Options(2)), sample.Get());
  });
}

TEST(MomentDerivativesTest, LargestOptions) {
  MomentOptions options = Options(2, 32, 4);
  options.envelope = 16;
  options.cutoff = 6;
  const SampleGeometry sample(RandomStructure(8, 4.4, 7), Species(8, 2), 6);
  ForEachTarget([&] {
    // Functions of order 32 amplify rounding of cos(pi r / R) by n^2.
    ExpectEqualReference<double>(options, sample, 1e-11);
    ExpectEqualReference<float>(options, sample, 3e-4);
  });
}

// Products with sampled atoms are those of all atoms.
TEST(MomentDerivativesTest, SampledAtoms) {
  const MomentOptions options = Options(2);
  const auto derivatives = MakeMomentDerivatives<float>(options);
  const SampleGeometry sample(RandomStructure(9, 4.4, 7), Species(9, 2), 4);
  const std::vector<double> slopes = RandomVector(9 * derivatives->num_features(), 1), direction = RandomVector(27, 2);
  const std::vector<uint8_t> sampled = {1, 0, 0, 1, 1, 0, 0, 0, 1};
  const Products<float> all = ComputeProducts(*derivatives, sample.Get(), slopes, direction, {});
  const Products<float> some = ComputeProducts(*derivatives, sample.Get(), slopes, direction, {}, sampled);
  EXPECT_EQ(all.force, some.force);
  EXPECT_EQ(all.tangents, some.tangents);
}

// A state is reused for structures of any size, computed or restored from what was kept, without traces of earlier
// ones.
TEST(MomentDerivativesTest, StatesAreReusedAndRestored) {
  const auto derivatives = MakeMomentDerivatives<float>(Options(2));
  const int f = derivatives->num_features();
  struct Case {
    Case(const Structure& structure) : sample(structure, Species(structure.size(), 2), 4) {}
    SampleGeometry sample;
    std::unique_ptr<const DescriptorDerivatives<float>::Snapshot> kept;
  };
  std::deque<Case> cases;
  const auto state = derivatives->MakeState();
  for (const int n : {5, 60, 1, 0, 23}) {
    cases.emplace_back(RandomStructure(n, n == 0 ? 0 : 2.3 * std::cbrt(n + 1), n));
    std::vector<float> features(n * f);
    derivatives->Features(cases.back().sample.Get(), state.get(), absl::MakeSpan(features));
    cases.back().kept = derivatives->TakeSnapshot(*state);
    ASSERT_NE(cases.back().kept, nullptr);
    EXPECT_GT(cases.back().kept->bytes(), 20 * n);
  }
  for (const int k : {1, 3, 0, 4, 1, 2}) {
    const int64_t n = cases[k].sample.size();
    const std::vector<double> slopes = RandomVector(n * f, 1), direction = RandomVector(3 * n, 2);
    const std::vector<double> strain = RandomVector(9, 3);
    const Products<float> fresh = ComputeProducts(*derivatives, cases[k].sample.Get(), slopes, direction, strain);
    for (const bool restored : {false, true}) {
      Products<float> found = fresh;
      // The structure before is another one.
      std::vector<float> features(cases[1].sample.size() * f);
      derivatives->Features(cases[1].sample.Get(), state.get(), absl::MakeSpan(features));
      if (restored) {
        derivatives->Restore(*cases[k].kept, state.get());
      } else {
        derivatives->Features(cases[k].sample.Get(), state.get(), absl::MakeSpan(found.features));
      }
      for (int times = 0; times < 2; ++times) {
        derivatives->Vjp(state.get(), std::vector<float>(slopes.begin(), slopes.end()), {}, absl::MakeSpan(found.force),
                         found.strain_gradient.data());
        derivatives->Jvp(state.get(), std::vector<float>(direction.begin(), direction.end()), {}, strain.data(),
                         absl::MakeSpan(found.tangents));
        EXPECT_EQ(found.features, fresh.features);
        EXPECT_EQ(found.force, fresh.force);
        EXPECT_EQ(found.strain_gradient, fresh.strain_gradient);
        EXPECT_EQ(found.tangents, fresh.tangents);
      }
    }
  }
}

TEST(MomentDerivativesDeathTest, RefusesShapes) {
  const auto derivatives = MakeMomentDerivatives<double>(Options(1));
  const auto state = derivatives->MakeState();
  const SampleGeometry sample(RandomStructure(3, 5, 1), {0, 0, 0}, 4);
  std::vector<double> features(3 * derivatives->num_features()), force(9);
  EXPECT_DEATH(derivatives->Features(sample.Get(), state.get(), absl::MakeSpan(force)), "9 vs. 384");
  derivatives->Features(sample.Get(), state.get(), absl::MakeSpan(features));
  EXPECT_DEATH(derivatives->Vjp(state.get(), force, {}, absl::MakeSpan(force), nullptr), "9 vs. 384");
  const std::vector<uint8_t> sampled = {1, 0};
  EXPECT_DEATH(derivatives->Vjp(state.get(), features, sampled, absl::MakeSpan(force), nullptr), "2 vs. 3");
  const auto other = MakeMomentReference<double>(Options(1))->MakeState();
  EXPECT_DEATH(derivatives->Features(sample.Get(), other.get(), absl::MakeSpan(features)), "MakeState");
}

}  // namespace
}  // namespace rutile
