#include "lib/descriptor/nearer_sets.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/descriptor/chebyshev.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/descriptor/reference_derivatives.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {
namespace {

constexpr AngularMethod kMethods[] = {AngularMethod::kMoments, AngularMethod::kTriplets};

// Returns the awkward structures with one or two additional sets.
std::vector<DerivativeCase> Cases() {
  std::vector<DerivativeCase> cases = DerivativeCases();
  for (size_t k = 0; k < cases.size(); ++k) {
    ChebyshevOptions& options = cases[k].options;
    options.nearer = {{static_cast<int>(k % 5), 0.8 * options.ang_cutoff}};
    if (k % 3 == 1) options.nearer.push_back({3, 0.6 * options.ang_cutoff});
  }
  return cases;
}

template <typename T>
std::vector<T> Features(const Descriptor& descriptor, const DerivativeCase& test) {
  NeighborList neighbors;
  const absl::Status status = BruteForceNeighborList(test.structure, descriptor.cutoff(), &neighbors);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<T> features(test.species.size() * descriptor.num_features(), T(NAN));
  descriptor.Compute(test.species, neighbors, descriptor.MakeWorkspace().get(), absl::MakeSpan(features));
  return features;
}

TEST(NearerSetsTest, FeaturesEqualReference) {
  for (const DerivativeCase& test : Cases()) {
    SCOPED_TRACE(test.name);
    const std::vector<double> expected = Features<double>(ChebyshevReference(test.options), test);
    for (const AngularMethod method : kMethods) {
      const auto fast = MakeDescriptor(test.options, method);
      const std::vector<double> fp64 = Features<double>(*fast, test);
      const std::vector<float> fp32 = Features<float>(*fast, test);
      ASSERT_EQ(fp64.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        const double size = std::max(1.0, std::abs(expected[i]));
        ASSERT_NEAR(fp64[i], expected[i], 1e-11 * size) << i;
        ASSERT_NEAR(fp32[i], expected[i], 2e-4 * size) << i;
      }
    }
  }
}

// The columns of each set are those of a descriptor that has no other set.
TEST(NearerSetsTest, ColumnsAreThoseOfEachSetAlone) {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.nearer = {{2, 3.1}};
  const DerivativeCase test = {"", RandomStructure(20, 6.5, 3), std::vector<uint8_t>(20, 1), options};
  const std::vector<double> found = Features<double>(*MakeDescriptor(options, AngularMethod::kMoments), test);
  const std::vector<double> outermost =
      Features<double>(*MakeDescriptor(options.Outermost(), AngularMethod::kMoments), test);
  ChebyshevOptions alone = options.Outermost();
  alone.ang_order = 2;
  alone.ang_cutoff = 3.1;
  const std::vector<double> nearer = Features<double>(*MakeDescriptor(alone, AngularMethod::kMoments), test);
  const int f = options.num_features(), f0 = options.Outermost().num_features(), f1 = alone.num_features();
  ASSERT_EQ(f, f0 + 6);
  for (int i = 0; i < 20; ++i) {
    for (int n = 0; n < f0; ++n) EXPECT_EQ(found[i * f + n], outermost[i * f0 + n]);
    for (int n = 0; n < 6; ++n) {
      const int column = n < 3 ? options.rad_order + 1 + n : f1 - 6 + n;
      EXPECT_NEAR(found[i * f + f0 + n], nearer[i * f1 + column],
                  1e-12 * std::max(1.0, std::abs(found[i * f + f0 + n])));
    }
  }
}

TEST(NearerSetsTest, ProductsEqualReference) {
  for (const DerivativeCase& test : Cases()) {
    SCOPED_TRACE(test.name);
    const auto reference = MakeReferenceDerivatives<double>(test.options);
    const SampleGeometry sample(test.structure, test.species, reference->cutoff() + 0.3);
    const int64_t n = sample.size();
    const std::vector<double> slopes = RandomVector(n * reference->num_features(), 1), strain = RandomVector(9, 3);
    const std::vector<double> direction = RandomVector(3 * n, 2);
    const Products<double> expected = ComputeProducts(*reference, sample.Get(), slopes, direction, strain);
    for (const AngularMethod method : kMethods) {
      const auto fp64 = MakeDescriptorDerivatives<double>(test.options, method);
      const auto fp32 = MakeDescriptorDerivatives<float>(test.options, method);
      EXPECT_EQ(fp64->num_features(), reference->num_features());
      EXPECT_EQ(fp64->cutoff(), reference->cutoff());
      ExpectEqual(ComputeProducts(*fp64, sample.Get(), slopes, direction, strain), expected, 1e-11);
      ExpectEqual(ComputeProducts(*fp32, sample.Get(), slopes, direction, strain), expected, 2e-4);
      ExpectSameOfCenters(*fp64, sample.Get());
    }
  }
}

// A list of triplets applies to the largest cutoff; nearer sets find their own.
TEST(NearerSetsTest, ListedTriplets) {
  for (const DerivativeCase& test : Cases()) {
    SCOPED_TRACE(test.name);
    const auto reference = MakeReferenceDerivatives<double>(test.options);
    SampleGeometry sample(test.structure, test.species, reference->cutoff());
    const int64_t n = sample.size();
    const std::vector<double> slopes = RandomVector(n * reference->num_features(), 1);
    const std::vector<double> direction = RandomVector(3 * n, 2);
    const auto fast = MakeDescriptorDerivatives<double>(test.options, AngularMethod::kTriplets);
    const Products<double> expected = ComputeProducts(*reference, sample.Get(), slopes, direction, {});
    const StructureGeometry listed = sample.GetWithTriplets(test.options.ang_cutoff, test.options.min_cutoff);
    ExpectEqual(ComputeProducts(*fast, listed, slopes, direction, {}), expected, 1e-11);
  }
}

// Tests sampled atoms, reused states and kept copies.
TEST(NearerSetsTest, SampledAndKept) {
  ChebyshevOptions options;
  options.species = {1, 2, 3};
  options.nearer = {{5, 3.2}, {2, 2.1}};
  const auto derivatives = MakeDescriptorDerivatives<float>(options, AngularMethod::kMoments);
  const auto state = derivatives->MakeState();
  const int f = derivatives->num_features();
  for (const int n : {5, 60, 1, 23}) {
    std::vector<uint8_t> species(n);
    for (int i = 0; i < n; ++i) species[i] = i % 3;
    const SampleGeometry sample(RandomStructure(n, 2.3 * std::cbrt(n + 1), n), species, 6);
    std::vector<uint8_t> sampled(n);
    std::vector<double> direction = RandomVector(3 * n, 2);
    for (int i = 0; i < n; ++i) {
      sampled[i] = i % 3 == 0;
      if (sampled[i] == 0) std::fill_n(&direction[3 * i], 3, 0.0);
    }
    const std::vector<double> slopes = RandomVector(n * f, 1);
    const Products<float> all = ComputeProducts(*derivatives, sample.Get(), slopes, direction, {});
    Products<float> found = all;
    derivatives->Features(sample.Get(), state.get(), absl::MakeSpan(found.features));
    const auto kept = derivatives->TakeSnapshot(*state);
    ASSERT_NE(kept, nullptr);
    EXPECT_GT(kept->bytes(), 60 * n);
    for (const bool resumed : {false, true}) {
      if (resumed) derivatives->Restore(*kept, state.get());
      derivatives->Vjp(state.get(), std::vector<float>(slopes.begin(), slopes.end()), sampled,
                       absl::MakeSpan(found.force), nullptr);
      derivatives->Jvp(state.get(), std::vector<float>(direction.begin(), direction.end()), sampled, nullptr,
                       absl::MakeSpan(found.tangents));
      EXPECT_EQ(found.features, all.features);
      for (int a = 0; a < 3 * n; ++a) {
        if (sampled[a / 3] == 0) continue;
        EXPECT_NEAR(found.force[a], all.force[a], 1e-3 * std::max(1.0f, std::abs(all.force[a])));
      }
      for (int a = 0; a < n * f; ++a) {
        EXPECT_NEAR(found.tangents[a], all.tangents[a], 1e-3 * std::max(1.0f, std::abs(all.tangents[a])));
      }
    }
  }
}

TEST(NearerSetsTest, NothingIsKeptOfListedTriplets) {
  ChebyshevOptions options;
  options.species = {1};
  options.nearer = {{2, 3.0}};
  const auto derivatives = MakeDescriptorDerivatives<float>(options, AngularMethod::kTriplets);
  SampleGeometry sample(RandomStructure(8, 4.6, 1), std::vector<uint8_t>(8, 0), 6);
  const auto state = derivatives->MakeState();
  std::vector<float> features(8 * derivatives->num_features());
  derivatives->Features(sample.GetWithTriplets(4, options.min_cutoff), state.get(), absl::MakeSpan(features));
  EXPECT_EQ(derivatives->TakeSnapshot(*state), nullptr);
}

}  // namespace
}  // namespace rutile
