#include "lib/network/feature_cache.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

using Examples = std::vector<int64_t>;

template <typename T>
class FeatureCacheTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FeatureCacheTest, Types);

TYPED_TEST(FeatureCacheTest, ABatchIsKnownByItsExamples) {
  FeatureCache<TypeParam> kept(1 << 20);
  EXPECT_EQ(kept.Find(Examples{3, 4}), nullptr);
  TypeParam* const features = kept.Add(Examples{3, 4}, 100);
  ASSERT_NE(features, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(features) % 64, 0);
  EXPECT_EQ(kept.Find(Examples{3, 4}), features);
  for (const Examples& other : {Examples{3}, Examples{3, 4, 5}, Examples{3, 5}, Examples{4, 3}, Examples{}}) {
    EXPECT_EQ(kept.Find(other), nullptr);
  }
  EXPECT_EQ(kept.Add(Examples{3, 5}, 100), nullptr) << "begins like one that is kept";
  EXPECT_NE(kept.Add(Examples{5, 3}, 100), nullptr);
  EXPECT_EQ(kept.Find(Examples{3, 4}), features);
  kept.Clear();
  EXPECT_EQ(kept.Find(Examples{3, 4}), nullptr);
  EXPECT_EQ(kept.bytes(), 0);
}

TYPED_TEST(FeatureCacheTest, NoMoreThanTheBound) {
  FeatureCache<TypeParam> kept(10000);
  int64_t batches = 0;
  while (batches < 100 && kept.Add(Examples{batches}, 1000 / sizeof(TypeParam)) != nullptr) ++batches;
  EXPECT_EQ(batches, 9);
  EXPECT_LE(kept.bytes(), 10000);
  EXPECT_EQ(kept.Find(Examples{batches}), nullptr);
  EXPECT_EQ(kept.Add(Examples{200}, int64_t{1} << 60), nullptr);
  EXPECT_EQ(kept.Add(Examples{}, 10), nullptr);
  EXPECT_EQ(FeatureCache<TypeParam>(0).Add(Examples{1}, 1), nullptr);
}

}  // namespace
}  // namespace rutile
