#include "lib/potential/training/geometry_cache.h"

#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace rutile {
namespace {

class FakeSnapshot : public DescriptorDerivatives<float>::Snapshot {
 public:
  explicit FakeSnapshot(int64_t bytes) : bytes_(bytes) {}
  int64_t bytes() const override { return bytes_; }

 private:
  const int64_t bytes_;
};

std::unique_ptr<const GeometryCache<float>::Entry> Fake(int64_t bytes) {
  auto entry = std::make_unique<GeometryCache<float>::Entry>();
  entry->snapshot = std::make_unique<FakeSnapshot>(bytes);
  entry->x = {1, 2, 3};
  return entry;
}

TEST(GeometryCacheTest, KeepsWhatFits) {
  GeometryCache<float> cache(4, 5000);
  EXPECT_EQ(cache.Find(2), nullptr);
  cache.Put(2, Fake(2000));
  ASSERT_NE(cache.Find(2), nullptr);
  EXPECT_EQ(cache.Find(2)->x[1], 2);
  const int64_t one = cache.bytes();
  EXPECT_GT(one, 2000);
  cache.Put(0, Fake(2000));
  EXPECT_EQ(cache.bytes(), 2 * one);
  EXPECT_TRUE(cache.has_room());
  cache.Put(1, Fake(2000));
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_FALSE(cache.has_room());
  EXPECT_EQ(cache.bytes(), 2 * one);
}

TEST(GeometryCacheTest, TheFirstOfTwoStays) {
  GeometryCache<float> cache(1, 1 << 20);
  cache.Put(0, Fake(10));
  const auto* const first = cache.Find(0);
  const int64_t bytes = cache.bytes();
  cache.Put(0, Fake(10));
  EXPECT_EQ(cache.Find(0), first);
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(GeometryCacheTest, ThreadsPutTheSame) {
  constexpr int kStructures = 1000;
  GeometryCache<float> cache(kStructures, int64_t{1} << 30);
  const auto fill = [&cache] {
    for (int s = 0; s < kStructures; ++s) cache.Put(s, Fake(100));
  };
  std::thread other(fill);
  fill();
  other.join();
  GeometryCache<float> alone(kStructures, int64_t{1} << 30);
  for (int s = 0; s < kStructures; ++s) alone.Put(s, Fake(100));
  EXPECT_EQ(cache.bytes(), alone.bytes());
}

}  // namespace
}  // namespace rutile
