#include "lib/ranking/scores/score_kernel.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/ranking/entity_set.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Uniform(-1, 1)));
  return values;
}

template <typename T>
class ScoreKernelTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ScoreKernelTest, Types);

// Queries and entities below, at and above whole tiles of every target.
TYPED_TEST(ScoreKernelTest, TilesAgreeWithThePlainSumAndWithOneScoreToTheBit) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  ForEachTarget([&] {
    const int64_t width = PanelWidth<T>();
    ASSERT_LE(TileQueries<T>(), kMaxTileQueries);
    for (const int64_t dim : {1, 3, 32, 200}) {
      for (const int queries : {1, 2, 4, 5, 6, 7, 11, 12}) {
        for (const int64_t n : {int64_t{1}, width - 1, width, 2 * width + 1}) {
          const std::vector<T> hidden = Values<T>(queries * dim, "hidden"), entity = Values<T>(n * dim, "entity");
          const int64_t num_panels = (n + width - 1) / width;
          std::vector<T> bias = Values<T>(n, "bias"), panels(num_panels * width * dim, T{7});
          bias.resize(num_panels * width);
          PackPanels(entity.data(), n, dim, panels.data());
          const int64_t stride = num_panels * width + 3;
          std::vector<T> scores(queries * stride);
          ScoreTile(hidden.data(), queries, dim, panels.data(), num_panels, bias.data(), scores.data(), stride);
          for (int q = 0; q < queries; ++q) {
            for (int64_t e = 0; e < n; ++e) {
              double sum = bias[e];
              for (int64_t k = 0; k < dim; ++k) sum += static_cast<double>(hidden[q * dim + k]) * entity[e * dim + k];
              ASSERT_NEAR(scores[q * stride + e], sum, tolerance) << dim << " " << queries << " " << n;
              const T one = ScoreOne(hidden.data() + q * dim, entity.data() + e * dim, dim, bias[e]);
              ASSERT_EQ(scores[q * stride + e], one) << dim << " " << queries << " " << n << ": " << q << ", " << e;
            }
            std::vector<int32_t> ids;
            for (int64_t e = n - 1; e >= 0; e -= 2) ids.push_back(static_cast<int32_t>(e));
            std::vector<T> some(ids.size());
            ScoreSome(hidden.data() + q * dim, entity.data(), dim, bias.data(), ids.data(), ids.size(), some.data());
            for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(some[i], scores[q * stride + ids[i]]) << dim << " " << i;
          }
        }
      }
    }
  });
}

TYPED_TEST(ScoreKernelTest, CountsGreaterAndEqualAndNeverNan) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  ForEachTarget([&] {
    for (const int64_t n : {0, 1, 3, 4, 15, 16, 17, 64, 100}) {
      RandomStream stream(1, "scores", n);
      std::vector<T> scores;  // few values, so that many are equal
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t kind = stream.Below(8);
        scores.push_back(kind == 0 ? nan : kind == 1 ? infinity : kind == 2 ? -infinity : static_cast<T>(kind) - T{5});
      }
      for (const T target : {T{-2}, T{0}, T{-0.0}, T{2}, infinity, -infinity, nan}) {
        int64_t greater = 0, equal = 0;
        for (const T s : scores) {
          greater += s > target;
          equal += s == target;
        }
        int64_t g = 10, e = 20;  // counts are added to these
        CountScores(scores.data(), n, target, &g, &e);
        EXPECT_EQ(g, greater + 10) << n << " " << target;
        EXPECT_EQ(e, equal + 20) << n << " " << target;
      }
    }
  });
}

TYPED_TEST(ScoreKernelTest, KeepsTheScoresOfASet) {
  using T = TypeParam;
  constexpr int64_t kNum = 300;
  RandomStream stream(2, "set");
  std::vector<int32_t> members;
  std::vector<T> scores;
  for (int32_t e = 0; e < kNum; ++e) {
    if (stream.Below(2) == 0) members.push_back(e);
    scores.push_back(static_cast<T>(e));
  }
  const EntitySet set(kNum, members);
  ForEachTarget([&] {
    for (const int64_t first : {0, 1, 5, 63, 64, 100, 299}) {
      for (const int64_t n : {0, 1, 7, 16, 17, 64, 65, 200}) {
        if (first + n > kNum) continue;
        std::vector<T> kept(n + 1, T{7});
        KeepScores(scores.data() + first, n, set.bits(), first, T{-1}, kept.data());
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_EQ(kept[i], set.Has(static_cast<int32_t>(first + i)) ? scores[first + i] : T{-1}) << first << " " << i;
        }
        EXPECT_EQ(kept[n], T{7});
      }
    }
  });
}

}  // namespace
}  // namespace rutile
