#include "lib/ranking/scores/distance_kernel.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/ranking/scores/score_kernel.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

constexpr ScoreForm kForms[] = {ScoreForm::kL1, ScoreForm::kL2, ScoreForm::kModuli};

template <typename T>
std::vector<T> Values(int64_t n, const char* purpose, double bound = 1) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Uniform(-bound, bound)));
  return values;
}

template <typename T>
double Distance(ScoreForm form, const T* q, const T* e, int64_t dim) {
  double sum = 0;
  for (int64_t k = 0; k < (form == ScoreForm::kModuli ? dim / 2 : dim); ++k) {
    const double x = static_cast<double>(q[k]) - e[k];
    if (form == ScoreForm::kL1) sum += std::abs(x);
    if (form == ScoreForm::kL2) sum += x * x;
    if (form == ScoreForm::kModuli) sum += std::hypot(x, static_cast<double>(q[k + dim / 2]) - e[k + dim / 2]);
  }
  return form == ScoreForm::kL2 ? std::sqrt(sum) : sum;
}

template <typename T>
class DistanceKernelTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DistanceKernelTest, Types);

// Queries and entities below, at and above whole tiles of every target.
TYPED_TEST(DistanceKernelTest, TilesAgreeWithThePlainSumAndWithOneScoreToTheBit) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  ForEachTarget([&] {
    const int64_t width = PanelWidth<T>();
    for (const ScoreForm form : kForms) {
      for (const int64_t dim : {2, 6, 200}) {
        for (const int64_t queries : {1, 3, 4, 7, 8, 9, 16}) {
          for (const int64_t n : {int64_t{1}, width - 1, width, 2 * width + 1}) {
            const std::vector<T> hidden = Values<T>(queries * dim, "hidden"), entity = Values<T>(n * dim, "entity");
            const int64_t num_panels = (n + width - 1) / width;
            std::vector<T> bias = Values<T>(n, "bias"), panels(num_panels * width * dim, T{7});
            bias.resize(num_panels * width);
            PackPanels(entity.data(), n, dim, panels.data());
            const int64_t stride = num_panels * width + 3;
            std::vector<T> scores(queries * stride);
            DistanceTile(form, hidden.data(), queries, dim, panels.data(), num_panels, bias.data(), scores.data(),
                         stride);
            for (int64_t q = 0; q < queries; ++q) {
              for (int64_t e = 0; e < n; ++e) {
                const double distance = Distance(form, &hidden[q * dim], &entity[e * dim], dim);
                ASSERT_NEAR(scores[q * stride + e], bias[e] - distance, tolerance * (1 + distance)) << dim << " " << n;
                const T one = DistanceOne(form, &hidden[q * dim], &entity[e * dim], dim, bias[e]);
                ASSERT_EQ(scores[q * stride + e], one) << dim << " " << queries << " " << n << ": " << q << ", " << e;
              }
            }
          }
        }
      }
    }
  });
}

// |q|^2 - 2 <q, e> + |e|^2 would have no digit left here.
TYPED_TEST(DistanceKernelTest, NearRowsHaveExactDistances) {
  using T = TypeParam;
  ForEachTarget([&] {
    const int64_t dim = 64;
    const std::vector<T> q = Values<T>(dim, "hidden", 100);
    std::vector<T> e = q;
    for (const ScoreForm form : kForms) EXPECT_EQ(DistanceOne(form, q.data(), e.data(), dim, T{0}), 0);
    for (T& x : e) x += static_cast<T>(sizeof(T) == 4 ? 1e-4 : 1e-12);
    for (const ScoreForm form : kForms) {
      const double distance = Distance(form, q.data(), e.data(), dim);
      EXPECT_GT(distance, 0);
      EXPECT_NEAR(-DistanceOne(form, q.data(), e.data(), dim, T{0}), distance,
                  distance * (sizeof(T) == 4 ? 1e-5 : 1e-13));
    }
  });
}

TYPED_TEST(DistanceKernelTest, NanStaysAndInfinityIsFar) {
  using T = TypeParam;
  for (const ScoreForm form : kForms) {
    const std::vector<T> q = {1, 2, 3, 4};
    std::vector<T> e = {1, std::numeric_limits<T>::quiet_NaN(), 3, 4};
    EXPECT_TRUE(std::isnan(DistanceOne(form, q.data(), e.data(), 4, T{0})));
    e[1] = std::numeric_limits<T>::infinity();
    EXPECT_EQ(DistanceOne(form, q.data(), e.data(), 4, T{0}), -std::numeric_limits<T>::infinity());
  }
}

TEST(DistanceKernelDeathTest, ProductsAreOfAnotherKernel) {
  const float x = 0;
  EXPECT_DEATH(DistanceOne(ScoreForm::kDot, &x, &x, 1, 0.0F), "product");
}

}  // namespace
}  // namespace rutile
