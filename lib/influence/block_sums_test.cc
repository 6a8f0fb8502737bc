#include "lib/influence/block_sums.h"

#include <algorithm>
#include <limits>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

std::vector<double> Random(int64_t n, int64_t purpose) {
  RandomStream stream(1, "block sums", n, purpose);
  std::vector<double> values(n);
  for (double& value : values) value = stream.Uniform(-1, 1);
  return values;
}

// Three checkpoints of two parts, in turns of two and one and in tiles of seven, give the bits of all at once.
TEST(BlockSumsTest, EqualsAllAtOnce) {
  constexpr int64_t kTrain = 30, kTile = 7, kParts = 2;
  for (const int64_t tests : {1, 3, 8, 65}) {
    std::vector<std::vector<double>> products, train_scales, test_scales;
    for (int64_t t = 0; t < 3 * kParts; ++t) {
      products.push_back(Random(kTrain * tests, t));
      train_scales.push_back(Random(kTrain, 10 + t));
      test_scales.push_back(Random(tests, 20 + t));
    }
    for (const auto& [has_train, has_test] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
      const auto terms = [&](int64_t checkpoint, int64_t first) {
        std::vector<ScoreTerm> some;
        for (int64_t t = checkpoint * kParts; t < (checkpoint + 1) * kParts; ++t) {
          some.push_back({products[t].data() + first * tests, 0.1 * static_cast<double>(t + 1),
                          has_train ? train_scales[t].data() + first : nullptr,
                          has_test ? test_scales[t].data() : nullptr});
        }
        return some;
      };
      BlockSums sums(kTrain, tests, kParts, /*keep_parts=*/true), total(kTrain, tests, kParts, /*keep_parts=*/false);
      for (BlockSums* each : {&sums, &total}) {
        for (int64_t first = 0; first < kTrain; first += kTile) {
          std::vector<ScoreTerm> two = terms(0, first), second = terms(1, first);
          two.insert(two.end(), second.begin(), second.end());
          each->Add(two, /*is_first=*/true, first, std::min(kTile, kTrain - first));
        }
        for (int64_t first = 0; first < kTrain; first += kTile) {
          each->Add(terms(2, first), /*is_first=*/false, first, std::min(kTile, kTrain - first));
        }
      }
      for (int64_t b = 0; b < kTrain; ++b) {
        for (int64_t h = 0; h < tests; ++h) {
          double all = 0, of_parts[kParts] = {};
          for (int64_t checkpoint = 0; checkpoint < 3; ++checkpoint) {
            const std::vector<ScoreTerm> some = terms(checkpoint, 0);
            for (int64_t p = 0; p < kParts; ++p) {
              all += some[p].At(tests, b, h);
              of_parts[p] += some[p].At(tests, b, h);
            }
          }
          EXPECT_EQ(sums.total().At(tests, b, h), all);
          EXPECT_EQ(total.total().At(tests, b, h), all);
          for (int64_t p = 0; p < kParts; ++p) EXPECT_EQ(sums.Part(p, b, h), of_parts[p]);
        }
      }
    }
  }
}

TEST(BlockSumsDeathTest, RowsBeyondTheBlock) {
  BlockSums sums(4, 2, 1, false);
  const std::vector<double> product(10);
  EXPECT_DEATH(sums.Add({{product.data()}}, true, 3, 2), "3, 2");
}

}  // namespace
}  // namespace rutile
