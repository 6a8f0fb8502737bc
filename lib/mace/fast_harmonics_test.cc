#include "lib/mace/fast_harmonics.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {
namespace {

TEST(FastHarmonicsTest, AgreesWithTheDefinition) {
  const double directions[][3] = {{0.3, -0.5, 0.8}, {1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {-0.2, 0.9, 0.1}, {0.7, 0, -0.7}};
  for (int max_l = 0; max_l <= FastHarmonics::kLargestL; ++max_l) {
    const FastHarmonics harmonics(max_l);
    const size_t count = (max_l + 1) * (max_l + 1);
    std::vector<double> value(count), gradient(3 * count), expected(count), expected_gradient(3 * count);
    for (const auto& direction : directions) {
      const double norm = std::hypot(direction[0], direction[1], direction[2]);
      const double unit[3] = {direction[0] / norm, direction[1] / norm, direction[2] / norm};
      RealHarmonics(max_l, unit, absl::MakeSpan(expected), absl::MakeSpan(expected_gradient));
      harmonics.Compute(unit, value.data(), gradient.data());
      for (size_t k = 0; k < count; ++k) EXPECT_NEAR(value[k], expected[k], 1e-14) << max_l << " " << k;
      // Products of up to five factors of the order of 10.
      for (size_t k = 0; k < 3 * count; ++k) EXPECT_NEAR(gradient[k], expected_gradient[k], 1e-13) << max_l << " " << k;
      harmonics.Compute(unit, value.data(), nullptr);
      for (size_t k = 0; k < count; ++k) EXPECT_NEAR(value[k], expected[k], 1e-14) << max_l << " " << k;
    }
  }
}

}  // namespace
}  // namespace rutile
