#include "lib/descriptor/kernels/triplets/listed_triplets.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/descriptor/chebyshev_derivatives.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/reference_derivatives.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeListed(const ChebyshevOptions& options) {
  return MakeChebyshevDerivatives<T>(options, AngularMethod::kTriplets);
}

// Lists may contain pairs beyond the cutoff, or below the minimum distance, which do not count.
TEST(ListedTripletsTest, EqualReference) {
  for (DerivativeCase test : DerivativeCases()) {
    for (const double min_cutoff : {0.0, 1.5}) {
      test.options.min_cutoff = min_cutoff;
      if (!test.options.Validate().ok()) continue;
      const auto reference = MakeReferenceDerivatives<double>(test.options);
      for (const double reach : {0.0, 0.7}) {
        SCOPED_TRACE(::testing::Message() << test.name << ", from " << min_cutoff << ", reach " << reach);
        SampleGeometry sample(test.structure, test.species, reference->cutoff() + reach);
        const int64_t n = sample.size();
        const StructureGeometry geometry = sample.GetWithTriplets(test.options.ang_cutoff + reach, min_cutoff - reach);
        const std::vector<double> slopes = RandomVector(n * reference->num_features(), 1);
        const std::vector<double> direction = RandomVector(3 * n, 2);
        for (const std::vector<double>& strain : {std::vector<double>(), RandomVector(9, 3)}) {
          const Products<double> expected = ComputeProducts(*reference, sample.Get(), slopes, direction, strain);
          ForEachTarget([&] {
            ExpectEqual(ComputeProducts(*MakeListed<double>(test.options), geometry, slopes, direction, strain),
                        expected, 1e-11);
            ExpectEqual(ComputeProducts(*MakeListed<float>(test.options), geometry, slopes, direction, strain),
                        expected, 2e-4);
          });
        }
      }
    }
  }
}

// The sum runs over the list in its order, and not over the pairs.
TEST(ListedTripletsTest, UsesTheList) {
  const DerivativeCase test = DerivativeCases().back();
  SampleGeometry sample(test.structure, test.species, test.options.cutoff());
  const int64_t n = sample.size(), f = test.options.num_features();
  const StructureGeometry all = sample.GetWithTriplets(test.options.ang_cutoff, 0);
  const auto listed = MakeListed<double>(test.options);
  const std::vector<double> slopes = RandomVector(n * f, 1), direction = RandomVector(3 * n, 2);
  // The triplets are divided into odd ones and even ones, the latter backward; an empty list gives the radial part.
  Products<double> part[3];
  for (int half = 0; half < 3; ++half) {
    std::vector<int64_t> offset = {0};
    std::vector<uint16_t> a, b;
    for (int64_t i = 0; i < n; ++i) {
      std::vector<int64_t> kept;
      for (int64_t t = all.triplets.offset[i]; t < all.triplets.offset[i + 1]; ++t) {
        if (t % 2 == half) kept.push_back(t);
      }
      if (half == 0) std::reverse(kept.begin(), kept.end());
      for (const int64_t t : kept) {
        a.push_back(all.triplets.a[t]);
        b.push_back(all.triplets.b[t]);
      }
      offset.push_back(a.size());
    }
    StructureGeometry geometry = sample.Get();
    geometry.triplets = {offset, a.data(), b.data()};
    part[half] = ComputeProducts(*listed, geometry, slopes, direction, RandomVector(9, 3));
  }
  const Products<double> whole = ComputeProducts(*listed, all, slopes, direction, RandomVector(9, 3));
  const auto add = [&](std::vector<double> Products<double>::*what) {
    for (size_t k = 0; k < (part[0].*what).size(); ++k) (part[0].*what)[k] += (part[1].*what)[k] - (part[2].*what)[k];
  };
  add(&Products<double>::features);
  add(&Products<double>::force);
  add(&Products<double>::tangents);
  add(&Products<double>::strain_gradient);
  ExpectEqual(part[0], whole, 1e-11);
  const int angular = test.options.rad_order + 1;
  for (int64_t i = 0; i < n; ++i) EXPECT_EQ(part[2].features[i * f + angular], 0);
  EXPECT_NE(whole.features[angular], 0);
}

// With sampled atoms, their forces are those computed for all atoms, and so are tangents whose direction vanishes on
// the other atoms.
TEST(ListedTripletsTest, SampledAtoms) {
  for (const DerivativeCase& test : DerivativeCases()) {
    SCOPED_TRACE(test.name);
    const auto reference = MakeReferenceDerivatives<double>(test.options);
    SampleGeometry sample(test.structure, test.species, reference->cutoff());
    const StructureGeometry geometry = sample.GetWithTriplets(test.options.ang_cutoff, 0);
    const int64_t n = sample.size();
    const std::vector<double> slopes = RandomVector(n * reference->num_features(), 1);
    for (const int every : {1, 2, 3, 5, 1000}) {
      std::vector<uint8_t> sampled(n);
      std::vector<double> direction = RandomVector(3 * n, 2);
      for (int64_t i = 0; i < n; ++i) {
        sampled[i] = i % every == every - 1 ? 7 : 0;
        if (sampled[i] == 0) std::fill_n(&direction[3 * i], 3, 0.0);
      }
      const Products<double> expected = ComputeProducts(*reference, sample.Get(), slopes, direction, {});
      ForEachTarget([&] {
        Products<double> found =
            ComputeProducts(*MakeListed<double>(test.options), geometry, slopes, direction, {}, sampled);
        for (int64_t i = 0; i < n; ++i) {
          if (sampled[i] == 0) std::copy_n(&expected.force[3 * i], 3, &found.force[3 * i]);
        }
        ExpectEqual(found, expected, 1e-11);
      });
    }
  }
}

// A state is reused for structures with a list or without, without traces of earlier ones.
TEST(ListedTripletsTest, StateIsReused) {
  ChebyshevOptions options;
  options.species = {1, 2};
  const auto derivatives = MakeListed<float>(options);
  const auto state = derivatives->MakeState();
  const int f = derivatives->num_features();
  for (const int n : {5, 60, 1, 0, 23, 61}) {
    std::vector<uint8_t> species(n);
    for (int i = 0; i < n; ++i) species[i] = i % 2;
    SampleGeometry sample(RandomStructure(n, n == 0 ? 0 : 2.3 * std::cbrt(n + 1), n), species, options.cutoff());
    const StructureGeometry geometry = n == 23 ? sample.Get() : sample.GetWithTriplets(options.ang_cutoff, 0);
    for (int round = 0; round < 3; ++round) {
      std::vector<uint8_t> sampled(round == 0 ? 0 : n);
      for (size_t i = round; i < sampled.size(); i += 3) sampled[i] = 1;
      const std::vector<double> slopes = RandomVector(n * f, 1), direction = RandomVector(3 * n, 2);
      const Products<float> fresh = ComputeProducts(*derivatives, geometry, slopes, direction, {}, sampled);
      Products<float> found = fresh;
      if (round == 0) derivatives->Features(geometry, state.get(), absl::MakeSpan(found.features));
      for (int times = 0; times < 2; ++times) {
        derivatives->Vjp(state.get(), std::vector<float>(slopes.begin(), slopes.end()), sampled,
                         absl::MakeSpan(found.force), nullptr);
        derivatives->Jvp(state.get(), std::vector<float>(direction.begin(), direction.end()), sampled, nullptr,
                         absl::MakeSpan(found.tangents));
        EXPECT_EQ(found.features, fresh.features);
        EXPECT_EQ(found.force, fresh.force);
        EXPECT_EQ(found.tangents, fresh.tangents);
      }
    }
  }
}

TEST(ListedTripletsDeathTest, RefusesOtherStructures) {
  ChebyshevOptions options;
  options.species = {1};
  SampleGeometry sample(RandomStructure(3, 5, 1), {0, 0, 0}, options.cutoff());
  StructureGeometry geometry = sample.GetWithTriplets(options.ang_cutoff, 0);
  geometry.triplets.offset.remove_suffix(1);
  const auto derivatives = MakeListed<double>(options);
  const auto state = derivatives->MakeState();
  std::vector<double> features(3 * derivatives->num_features());
  EXPECT_DEATH(derivatives->Features(geometry, state.get(), absl::MakeSpan(features)), "another structure");
}

}  // namespace
}  // namespace rutile
