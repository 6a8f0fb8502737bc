#include "lib/descriptor/chebyshev_derivatives.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/reference_derivatives.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

constexpr AngularMethod kMethods[] = {AngularMethod::kMoments, AngularMethod::kTriplets};

template <typename T>
void ExpectEqualReference(const DerivativeCase& test, AngularMethod method, double tolerance) {
  const auto reference = MakeReferenceDerivatives<double>(test.options);
  const auto fast = MakeChebyshevDerivatives<T>(test.options, method);
  EXPECT_EQ(fast->num_features(), reference->num_features());
  EXPECT_EQ(fast->cutoff(), reference->cutoff());
  // A list that reaches beyond the cutoff gives the same; farther pairs are ignored.
  for (const double reach : {0.0, 0.7}) {
    const SampleGeometry sample(test.structure, test.species, reference->cutoff() + reach);
    const int64_t n = sample.size();
    const std::vector<double> slopes = RandomVector(n * fast->num_features(), 1), direction = RandomVector(3 * n, 2);
    for (const std::vector<double>& strain : {std::vector<double>(), RandomVector(9, 3)}) {
      const Products<double> expected = ComputeProducts(*reference, sample.Get(), slopes, direction, strain);
      ExpectEqual(ComputeProducts(*fast, sample.Get(), slopes, direction, strain), expected, tolerance);
    }
  }
}

TEST(ChebyshevDerivativesTest, EqualReference) {
  for (const DerivativeCase& test : DerivativeCases()) {
    SCOPED_TRACE(test.name);
    ForEachTarget([&] {
      for (const AngularMethod method : kMethods) {
        SCOPED_TRACE(method == AngularMethod::kMoments ? "moments" : "triplets");
        ExpectEqualReference<double>(test, method, 1e-11);
        ExpectEqualReference<float>(test, method, 2e-4);
      }
    });
  }
}

TEST(ChebyshevDerivativesTest, AtomsMayBeNeighborsAlone) {
  for (const DerivativeCase& test : DerivativeCases()) {
    SCOPED_TRACE(test.name);
    const SampleGeometry sample(test.structure, test.species, test.options.cutoff());
    ExpectSameOfCenters(*MakeReferenceDerivatives<double>(test.options), sample.Get());
    ForEachTarget([&] {
      for (const AngularMethod method : kMethods) {
        ExpectSameOfCenters(*MakeChebyshevDerivatives<double>(test.options, method), sample.Get());
        ExpectSameOfCenters(*MakeChebyshevDerivatives<float>(test.options, method), sample.Get());
      }
    });
  }
}

// With sampled atoms, their forces are those computed for all atoms, and so are tangents whose direction vanishes on
// the other atoms.
TEST(ChebyshevDerivativesTest, SampledAtoms) {
  for (const DerivativeCase& test : DerivativeCases()) {
    SCOPED_TRACE(test.name);
    const auto reference = MakeReferenceDerivatives<double>(test.options);
    const SampleGeometry sample(test.structure, test.species, reference->cutoff());
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
        for (const AngularMethod method : kMethods) {
          SCOPED_TRACE(method == AngularMethod::kMoments ? "moments" : "triplets");
          const auto fast = MakeChebyshevDerivatives<double>(test.options, method);
          Products<double> found = ComputeProducts(*fast, sample.Get(), slopes, direction, {}, sampled);
          for (int64_t i = 0; i < n; ++i) {
            if (sampled[i] == 0) std::copy_n(&expected.force[3 * i], 3, &found.force[3 * i]);
          }
          ExpectEqual(found, expected, 1e-11);
        }
      });
    }
  }
}

// A state is reused for structures of any size and for any sampled atoms, without traces of earlier ones.
class StateTest : public ::testing::TestWithParam<AngularMethod> {};

TEST_P(StateTest, IsReused) {
  const AngularMethod method = GetParam();
  ChebyshevOptions options;
  options.species = {1, 2};
  const auto derivatives = MakeChebyshevDerivatives<float>(options, method);
  const auto state = derivatives->MakeState();
  const int f = derivatives->num_features();
  for (const int n : {5, 60, 1, 0, 23}) {
    std::vector<uint8_t> species(n);
    for (int i = 0; i < n; ++i) species[i] = i % 2;
    const SampleGeometry sample(RandomStructure(n, n == 0 ? 0 : 2.3 * std::cbrt(n + 1), n), species, 6);
    for (int round = 0; round < 3; ++round) {
      std::vector<uint8_t> sampled(round == 0 ? 0 : n);
      for (size_t i = round; i < sampled.size(); i += 3) sampled[i] = 1;
      const std::vector<double> slopes = RandomVector(n * f, 1), direction = RandomVector(3 * n, 2);
      const Products<float> fresh = ComputeProducts(*derivatives, sample.Get(), slopes, direction, {}, sampled);
      Products<float> found = fresh;
      if (round == 0) derivatives->Features(sample.Get(), state.get(), absl::MakeSpan(found.features));
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

// A kept copy of a structure restores any state, in any order, between structures that are computed.
TEST_P(StateTest, ResumesWhatWasKept) {
  ChebyshevOptions options;
  options.species = {1, 2};
  const auto derivatives = MakeChebyshevDerivatives<float>(options, GetParam());
  const int f = derivatives->num_features();
  struct Case {
    Case(const Structure& structure, const std::vector<uint8_t>& species) : sample(structure, species, 6) {}
    SampleGeometry sample;
    std::unique_ptr<const DescriptorDerivatives<float>::Snapshot> kept;
  };
  std::deque<Case> cases;
  const auto maker = derivatives->MakeState();
  for (const int n : {5, 60, 1, 0, 23}) {
    std::vector<uint8_t> species(n);
    for (int i = 0; i < n; ++i) species[i] = i % 2;
    cases.emplace_back(RandomStructure(n, n == 0 ? 0 : 2.3 * std::cbrt(n + 1), n), species);
    std::vector<float> features(n * f);
    derivatives->Features(cases.back().sample.Get(), maker.get(), absl::MakeSpan(features));
    cases.back().kept = derivatives->TakeSnapshot(*maker);
    ASSERT_NE(cases.back().kept, nullptr);
    EXPECT_GT(cases.back().kept->bytes(), 20 * n);
  }
  const auto state = derivatives->MakeState();
  for (const int k : {1, 3, 0, 4, 1, 2}) {
    const int64_t n = cases[k].sample.size();
    std::vector<float> features(cases[1].sample.size() * f);
    derivatives->Features(cases[1].sample.Get(), state.get(), absl::MakeSpan(features));
    for (const int every : {0, 3}) {
      std::vector<uint8_t> sampled(every == 0 ? 0 : n);
      for (size_t i = 0; i < sampled.size(); i += 3) sampled[i] = 1;
      const std::vector<double> slopes = RandomVector(n * f, 1), direction = RandomVector(3 * n, 2);
      const std::vector<double> strain = every == 0 ? RandomVector(9, 3) : std::vector<double>();
      const Products<float> fresh =
          ComputeProducts(*derivatives, cases[k].sample.Get(), slopes, direction, strain, sampled);
      Products<float> found = fresh;
      derivatives->Restore(*cases[k].kept, state.get());
      double strain_gradient[9];
      derivatives->Vjp(state.get(), std::vector<float>(slopes.begin(), slopes.end()), sampled,
                       absl::MakeSpan(found.force), strain.empty() ? nullptr : strain_gradient);
      derivatives->Jvp(state.get(), std::vector<float>(direction.begin(), direction.end()), sampled,
                       strain.empty() ? nullptr : strain.data(), absl::MakeSpan(found.tangents));
      EXPECT_EQ(found.force, fresh.force);
      EXPECT_EQ(found.tangents, fresh.tangents);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, StateTest, ::testing::ValuesIn(kMethods));

TEST(ChebyshevDerivativesDeathTest, RefusesShapes) {
  ChebyshevOptions options;
  options.species = {1};
  const auto derivatives = MakeChebyshevDerivatives<double>(options, AngularMethod::kMoments);
  const auto state = derivatives->MakeState();
  const SampleGeometry sample(RandomStructure(3, 5, 1), {0, 0, 0}, 6);
  std::vector<double> features(3 * derivatives->num_features()), force(9);
  EXPECT_DEATH(derivatives->Features(sample.Get(), state.get(), absl::MakeSpan(force)), "9 vs. 45");
  derivatives->Features(sample.Get(), state.get(), absl::MakeSpan(features));
  EXPECT_DEATH(derivatives->Vjp(state.get(), force, {}, absl::MakeSpan(force), nullptr), "9 vs. 45");
  const std::vector<uint8_t> sampled = {1, 0};
  EXPECT_DEATH(derivatives->Vjp(state.get(), features, sampled, absl::MakeSpan(force), nullptr), "2 vs. 3");
  const auto other = MakeReferenceDerivatives<double>(options)->MakeState();
  EXPECT_DEATH(derivatives->Features(sample.Get(), other.get(), absl::MakeSpan(features)), "MakeState");
}

}  // namespace
}  // namespace rutile
