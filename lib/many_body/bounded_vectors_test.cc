#include "lib/many_body/bounded_vectors.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr int64_t kAtoms = 3, kChannels = 5, kStride = 4 * kChannels + 2, kSize = 3 * kAtoms * kChannels;
constexpr VectorsOfAtoms kSizes = {kAtoms, kChannels, kStride};

std::vector<double> Normal(int64_t size, const char* purpose) {
  RandomStream random(5, purpose);
  std::vector<double> values(size);
  for (double& value : values) value = 2 * random.Normal();
  return values;
}

std::vector<double> Plus(std::vector<double> a, double factor, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
  return a;
}

std::vector<double> Bounded(const std::vector<double>& moments) {
  std::vector<double> a(kSize);
  BoundVectors<double>(kSizes, {moments.data(), nullptr}, {a.data(), nullptr});
  return a;
}

std::vector<double> Slopes(const std::vector<double>& moments, const std::vector<double>& received) {
  std::vector<double> slopes(kSize);
  BoundVectorSlopes<double>(kSizes, {moments.data(), nullptr}, {received.data(), nullptr}, {slopes.data(), nullptr});
  return slopes;
}

TEST(BoundedVectorsTest, MatchesClosedForm) {
  // (2, 4, 4) has length 6, and (0, 0, 0) stays; the second channel of one atom is the first's padding.
  const std::vector<double> moments = {2, 0, 4, 0, 4, 0};
  std::vector<double> a(6);
  BoundVectors<double>({1, 2, 6}, {moments.data(), nullptr}, {a.data(), nullptr});
  const double f = 1 / std::sqrt(37.0);
  EXPECT_EQ(a, (std::vector<double>{2 * f, 0, 4 * f, 0, 4 * f, 0}));
}

constexpr double kStep = 1e-4, kTolerance = 1e-6;  // errors: 1e-8 times third derivatives, and rounding

TEST(BoundedVectorsTest, DerivativesAgreeWithFiniteDifferences) {
  const std::vector<double> moments = Normal(kAtoms * kStride, "A"), dot = Normal(kAtoms * kStride, "Adot"),
                            received = Normal(kSize, "bar"), received_dot = Normal(kSize, "bardot");
  std::vector<double> a(kSize), a_dot(kSize), slopes(kSize), slopes_dot(kSize);
  BoundVectors<double>(kSizes, {moments.data(), dot.data()}, {a.data(), a_dot.data()});
  BoundVectorSlopes<double>(kSizes, {moments.data(), dot.data()}, {received.data(), received_dot.data()},
                            {slopes.data(), slopes_dot.data()});
  EXPECT_EQ(a, Bounded(moments));
  EXPECT_EQ(slopes, Slopes(moments, received));
  const std::vector<double> low = Plus(moments, -kStep, dot), high = Plus(moments, kStep, dot);
  const std::vector<double> below = Bounded(low), above = Bounded(high);
  const std::vector<double> slopes_below = Slopes(low, Plus(received, -kStep, received_dot)),
                            slopes_above = Slopes(high, Plus(received, kStep, received_dot));
  double along = 0, back = 0;
  for (int64_t i = 0; i < kSize; ++i) {
    EXPECT_NEAR(a_dot[i], (above[i] - below[i]) / (2 * kStep), kTolerance) << i;
    EXPECT_NEAR(slopes_dot[i], (slopes_above[i] - slopes_below[i]) / (2 * kStep), kTolerance) << i;
    along += received[i] * a_dot[i];
    back += slopes[i] * dot[i / (3 * kChannels) * kStride + i % (3 * kChannels)];
  }
  EXPECT_NEAR(along, back, 1e-12);  // the two products with the derivative are each other's adjoint
}

TEST(BoundedVectorsTest, LengthsStayBelowOne) {
  for (const double size : {1e-3, 1.0, 1e3, 1e6}) {
    std::vector<double> moments = Normal(kAtoms * kStride, "A");
    for (double& value : moments) value *= size;
    const std::vector<double> a = Bounded(moments);
    for (int64_t i = 0; i < kAtoms; ++i) {
      for (int64_t k = 0; k < kChannels; ++k) {
        double square = 0;
        for (int c = 0; c < 3; ++c) square += std::pow(a[(3 * i + c) * kChannels + k], 2);
        EXPECT_LT(square, 1 + 1e-15);
      }
    }
  }
}

}  // namespace
}  // namespace rutile
