#include "lib/descriptor/moment_derivatives.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/simd.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/reference_derivatives.h"

namespace rutile {
namespace {

void ForEachTarget(const std::function<void()>& check) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    SCOPED_TRACE(hwy::TargetName(targets & -targets));
    hwy::SetSupportedTargetsForTest(targets & -targets);
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
}

// To `tolerance` of the largest value, or of 1.
template <typename T>
void ExpectClose(const char* what, const std::vector<T>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 1;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance * largest) << what << ' ' << i;
  }
}

template <typename T>
void ExpectEqual(const Products<T>& found, const Products<double>& expected, double tolerance) {
  ExpectClose("feature", found.features, expected.features, tolerance);
  ExpectClose("force", found.force, expected.force, tolerance);
  ExpectClose("strain gradient", found.strain_gradient, expected.strain_gradient, tolerance);
  ExpectClose("tangent", found.tangents, expected.tangents, tolerance);
}

template <typename T>
void ExpectEqualReference(const DerivativeCase& test, double tolerance) {
  const auto reference = MakeReferenceDerivatives<double>(test.options);
  const auto fast = MakeMomentDerivatives<T>(test.options);
  EXPECT_EQ(fast->num_features(), reference->num_features());
  EXPECT_EQ(fast->cutoff(), reference->cutoff());
  // A list that reaches farther, too: what is beyond does not count.
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

TEST(MomentDerivativesTest, EqualReference) {
  for (const DerivativeCase& test : DerivativeCases()) {
    SCOPED_TRACE(test.name);
    ForEachTarget([&] {
      ExpectEqualReference<double>(test, 1e-11);
      ExpectEqualReference<float>(test, 2e-4);
    });
  }
}

}  // namespace
}  // namespace rutile
