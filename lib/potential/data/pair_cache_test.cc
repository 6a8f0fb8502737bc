#include "lib/potential/data/pair_cache.h"

#include <filesystem>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/neighbor/neighbor_file.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Loads structures: s is a row of s % 5 + 1 atoms, 1 Angstrom apart; `bad` has two atoms at one place.
LoadStructure Rows(int64_t bad = -1) {
  return [bad](int64_t s, Structure* structure) {
    structure->name = "row" + std::to_string(s);
    structure->element.assign(s % 5 + 1, 8);
    structure->position.clear();
    for (int64_t i = 0; i < structure->size(); ++i) {
      structure->position.insert(structure->position.end(), {s == bad ? 0.0 : 1.0 * i, 0, 0});
    }
  };
}

PairCacheOptions Options() {
  PairCacheOptions options;
  options.cutoff = 2.5;
  options.max_bytes = 1 << 20;
  options.num_threads = 3;
  return options;
}

TEST(PairCacheTest, KeepsPairs) {
  const auto cache = PairCache::Make(200, Rows(), Options());
  ASSERT_TRUE(cache.ok()) << cache.status();
  const PairView pairs = (*cache)->pairs(198);  // 4 atoms
  EXPECT_THAT(pairs.offset, ElementsAre(0, 2, 5, 8, 10));
  EXPECT_EQ(pairs.first_atom, 0);
  EXPECT_EQ(pairs.j[2], 0);
  EXPECT_EQ(pairs.j[9], 2);
  EXPECT_EQ((*cache)->pairs(0).num_pairs(), 0);
  EXPECT_THAT((*cache)->triplets(198).offset, IsEmpty());
  // There are 40 rows each of 1, 2, 3, 4 and 5 atoms, which have 0, 2, 6, 10 and 14 pairs.
  EXPECT_EQ((*cache)->num_bytes(), 40 * (8 * (2 + 3 + 4 + 5 + 6) + 10 * (0 + 2 + 6 + 10 + 14)));
}

TEST(PairCacheTest, KeepsTriplets) {
  PairCacheOptions options = Options();
  options.triplet_cutoff = 1.5;
  const auto cache = PairCache::Make(4, Rows(), options);
  ASSERT_TRUE(cache.ok());
  const TripletView triplets = (*cache)->triplets(3);
  EXPECT_THAT(triplets.offset, ElementsAre(0, 0, 1, 2, 2));
  EXPECT_EQ(triplets.a[1], 1);  // pairs of atom 2: 0, 1, 3
  EXPECT_EQ(triplets.b[1], 2);
}

TEST(PairCacheTest, HoldsItsLimit) {
  PairCacheOptions options = Options();
  options.max_bytes = (*PairCache::Make(200, Rows(), options))->num_bytes();
  EXPECT_TRUE(PairCache::Make(200, Rows(), options).ok());
  --options.max_bytes;
  const absl::Status status = PairCache::Make(200, Rows(), options).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("200 structures"), HasSubstr("--cache_max_bytes"), HasSubstr("--cache_dir")));
}

TEST(PairCacheTest, ErrorsNameTheStructure) {
  const std::string directory = ::testing::TempDir() + "/bad";
  std::filesystem::remove_all(directory);
  EXPECT_THAT(PairCache::Make(100, Rows(/*bad=*/73), Options()).status().message(), HasSubstr("row73: "));
  EXPECT_THAT(PairCacheFile(directory, 100, Rows(/*bad=*/73), Options()).status().message(), HasSubstr("row73: "));
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST(PairCacheTest, WritesAFileOnce) {
  const std::string directory = ::testing::TempDir() + "/pairs";
  std::filesystem::remove_all(directory);
  const auto path = PairCacheFile(directory, 200, Rows(), Options());
  ASSERT_TRUE(path.ok()) << path.status();
  const auto file = ReadNeighbors(*path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->num_structures(), 200);
  EXPECT_EQ(file->cutoff, 2.5);
  EXPECT_EQ(file->pairs(198).num_pairs(), 10);
  const auto written = std::filesystem::last_write_time(*path);
  EXPECT_EQ(*PairCacheFile(directory, 200, Rows(), Options()), *path);
  EXPECT_EQ(std::filesystem::last_write_time(*path), written);
  PairCacheOptions other = Options();
  other.cutoff = 2.5000000001;
  EXPECT_NE(*PairCacheFile(directory, 200, Rows(), other), *path);
  EXPECT_NE(*PairCacheFile(directory, 199, Rows(), Options()), *path);
}

TEST(PairCacheTest, StopsAtASignal) {
  SetInterruptForTest(15);
  EXPECT_TRUE(absl::IsCancelled(PairCache::Make(10, Rows(), Options()).status()));
  EXPECT_TRUE(absl::IsCancelled(PairCacheFile(::testing::TempDir(), 10, Rows(), Options()).status()));
  SetInterruptForTest(0);
}

TEST(PairFinderTest, ServesManyThreads) {
  PairFinder finder(2.5);
  const LoadStructure load = Rows();
  std::vector<std::thread> threads;
  std::vector<int64_t> count(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(finder
                        .Find(i, load,
                              [&](const Structure& structure, NeighborList* list) {
                                count[t] += list->num_pairs();
                                list->j.clear();  // `use` may change the list
                                return absl::OkStatus();
                              })
                        .ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(count, Each(20 * (0 + 2 + 6 + 10 + 14)));
}

}  // namespace
}  // namespace rutile
