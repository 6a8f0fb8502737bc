#include "lib/kge/layers/dropout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Defines the masks, which may not change: runs that have started with them must be able to go on.
std::vector<double> Definition(uint64_t seed, int64_t epoch, int64_t example, DropoutLayer layer, double rate,
                               size_t n) {
  const uint64_t golden = 0x9e3779b97f4a7c15ULL;
  const uint64_t key = RandomStream(seed + golden * static_cast<uint64_t>(layer), "dropout", epoch, example).Next();
  std::vector<double> scale;
  for (size_t k = 0; k < n; ++k) {
    uint64_t x = key + golden * (k / 4 + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    const double draw = static_cast<double>((x >> (16 * (k % 4))) & 0xffff);
    scale.push_back(draw < std::round(rate * 65536) ? 0 : 1 / (1 - rate));
  }
  return scale;
}

template <typename T>
std::vector<T> Masks(uint64_t seed, int64_t epoch, int64_t example, DropoutLayer layer, double rate, size_t n) {
  std::vector<T> scale(n + 1, T{77});
  FillDropout(seed, epoch, example, layer, rate, absl::MakeSpan(scale).first(n));
  EXPECT_EQ(scale[n], T{77});
  scale.pop_back();
  return scale;
}

TEST(DropoutTest, IsItsDefinitionOnEveryTarget) {
  ForEachTarget([] {
    for (const size_t n : {0, 1, 3, 4, 63, 256, 257, 1000}) {
      for (const double rate : {0.0, 0.2, 0.5, 0.99999}) {
        const std::vector<double> expected = Definition(3, 1, 5, DropoutLayer::kFeatureMap, rate, n);
        EXPECT_EQ(Masks<double>(3, 1, 5, DropoutLayer::kFeatureMap, rate, n), expected);
        EXPECT_EQ(Masks<float>(3, 1, 5, DropoutLayer::kFeatureMap, rate, n),
                  std::vector<float>(expected.begin(), expected.end()));
      }
    }
  });
}

TEST(DropoutTest, DropsAtTheRate) {
  const std::vector<double> masks = Masks<double>(1, 0, 0, DropoutLayer::kInput, 0.3, 100000);
  const double dropped = static_cast<double>(std::count(masks.begin(), masks.end(), 0.0)) / 100000;
  EXPECT_NEAR(dropped, 0.3, 4 * std::sqrt(0.3 * 0.7 / 100000));
}

TEST(DropoutTest, EveryPartOfTheKeyMatters) {
  const auto masks = Masks<float>(1, 2, 3, DropoutLayer::kInput, 0.5, 64);
  EXPECT_NE(masks, Masks<float>(2, 2, 3, DropoutLayer::kInput, 0.5, 64));
  EXPECT_NE(masks, Masks<float>(1, 3, 3, DropoutLayer::kInput, 0.5, 64));
  EXPECT_NE(masks, Masks<float>(1, 2, 4, DropoutLayer::kInput, 0.5, 64));
  EXPECT_NE(masks, Masks<float>(1, 2, 3, DropoutLayer::kOutput, 0.5, 64));
}

std::vector<double> OfCandidate(uint64_t seed, int64_t epoch, int64_t number, int64_t entity, size_t n) {
  std::vector<double> scale(n);
  FillCandidateDropout(seed, epoch, number, entity, 0.5, absl::MakeSpan(scale));
  return scale;
}

TEST(CandidateDropoutTest, IsAMaskOfItsOwnForEachBatchAndEntity) {
  const auto mask = OfCandidate(1, 2, 3, 4, 64);
  EXPECT_EQ(mask, OfCandidate(1, 2, 3, 4, 64));
  for (const auto& other : {OfCandidate(2, 2, 3, 4, 64), OfCandidate(1, 3, 3, 4, 64), OfCandidate(1, 2, 4, 4, 64),
                            OfCandidate(1, 2, 3, 5, 64), OfCandidate(1, 3, 2, 4, 64), OfCandidate(1, 2, 4, 3, 64)}) {
    EXPECT_NE(mask, other);
  }
  std::vector<double> all;
  for (int64_t entity = 0; entity < 1000; ++entity) {
    const std::vector<double> row = OfCandidate(1, 0, 0, entity, 100);
    all.insert(all.end(), row.begin(), row.end());
  }
  const double dropped = static_cast<double>(std::count(all.begin(), all.end(), 0.0));
  EXPECT_EQ(dropped + static_cast<double>(std::count(all.begin(), all.end(), 2.0)), 100000);
  EXPECT_NEAR(dropped / 100000, 0.5, 4 * std::sqrt(0.25 / 100000));
}

}  // namespace
}  // namespace rutile
