#include "lib/neighbor/cache_neighbors.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure_reader.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

CacheNeighborsOptions Options() {
  CacheNeighborsOptions options;
  options.cutoff = 4.5;
  return options;
}

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }
std::string Bytes(const std::string& path) { return std::string(FileContents::Open(path)->data()); }

TEST(CacheNeighborsTest, HoldsWhatASearchFinds) {
  const absl::StatusOr<CacheNeighborsStats> stats = CacheNeighbors({kTio2}, Temp("plain"), Options(), {});
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->structures, 403);
  const absl::StatusOr<NeighborFile> file = ReadNeighbors(Temp("plain"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->num_pairs(), stats->pairs);
  auto reader = StructureReader::Open(kTio2);
  ASSERT_TRUE(reader.ok());
  NeighborSearch search(4.5);
  NeighborList list;
  Structure structure;
  for (int64_t s = 0; s < file->num_structures(); ++s) {
    ASSERT_TRUE(*(*reader)->Next(&structure));
    ASSERT_TRUE(search.Compute(structure, &list).ok());
    const PairView pairs = file->pairs(s);
    ASSERT_EQ(pairs.num_pairs(), list.num_pairs()) << s;
    for (int64_t k = 0; k < list.num_pairs(); ++k) {
      const int64_t p = pairs.offset[0] + k;
      ASSERT_EQ(pairs.j[p] - pairs.first_atom, list.j[k]);
      for (int d = 0; d < 3; ++d) ASSERT_EQ(pairs.shift[3 * p + d], list.shift[3 * k + d]);
    }
  }
}

TEST(CacheNeighborsTest, BytesDoNotDependOnThreads) {
  CacheNeighborsOptions options = Options();
  for (const bool triplets : {false, true}) {
    options.triplet_cutoff = triplets ? 3 : 0;
    options.vectors = triplets ? DType::kF32 : std::optional<DType>();
    ASSERT_TRUE(CacheNeighbors({kTio2}, Temp("one"), options, {}).ok());
    options.num_threads = 3;
    ASSERT_TRUE(CacheNeighbors({kTio2}, Temp("three"), options, {}).ok());
    EXPECT_EQ(Bytes(Temp("one")), Bytes(Temp("three")));
    options.num_threads = 1;
  }
}

TEST(CacheNeighborsTest, CountsNearPairs) {
  CacheNeighborsOptions options = Options();
  options.min_cutoff = 4.5;
  const absl::StatusOr<CacheNeighborsStats> stats = CacheNeighbors({kTio2}, Temp("near"), options, {});
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->too_close, 403);
  EXPECT_THAT(stats->first_too_close, HasSubstr("#0"));
}

TEST(CacheNeighborsTest, Weights) {
  ASSERT_TRUE(WriteFileAtomically(Temp("w.xyz"), "1\nw=2.5\nO 0 0 0\n1\n\nO 0 0 0\n1\nw=0\nO 0 0 0\n").ok());
  CacheNeighborsOptions options = Options();
  options.weight_key = "w";
  const absl::StatusOr<CacheNeighborsStats> stats = CacheNeighbors({Temp("w.xyz")}, Temp("w"), options, {});
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->without_weight, 1);
  const absl::StatusOr<NeighborFile> file = ReadNeighbors(Temp("w"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->file.tensors.At("weight").values<double>(), ::testing::ElementsAre(2.5, 1, 0));
  EXPECT_EQ(file->file.metadata.at("weight_key"), "w");
  for (const char* weight : {"-1", "many", "inf", "nan"}) {
    ASSERT_TRUE(WriteFileAtomically(Temp("bad.xyz"), std::string("1\nw=") + weight + "\nO 0 0 0\n").ok());
    const absl::Status status = CacheNeighbors({Temp("bad.xyz")}, Temp("bad"), options, {}).status();
    EXPECT_THAT(status.message(), HasSubstr(std::string("its weight w is \"") + weight)) << weight;
  }
}

TEST(CacheNeighborsTest, RefusesCutoffsAndInputs) {
  for (const double cutoff : {0.0, -1.0, 20.5}) {
    CacheNeighborsOptions options = Options();
    options.cutoff = cutoff;
    const absl::Status status = CacheNeighbors({kTio2}, Temp("refused"), options, {}).status();
    EXPECT_THAT(status.message(), HasSubstr("--cutoff="));
  }
  CacheNeighborsOptions options = Options();
  options.triplet_cutoff = 5;
  EXPECT_THAT(CacheNeighbors({kTio2}, Temp("refused"), options, {}).status().message(), HasSubstr("--ang_cutoff=5"));
  ASSERT_TRUE(CacheNeighbors({kTio2}, Temp("cached"), Options(), {}).ok());
  EXPECT_THAT(CacheNeighbors({Temp("cached")}, Temp("refused"), Options(), {}).status().message(),
              HasSubstr("holds neighbors already"));
  EXPECT_FALSE(FileExists(Temp("refused")));
}

}  // namespace
}  // namespace rutile
