#include "lib/descriptor/files/featurizer.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/file/file.h"
#include "lib/neighbor/cache_neighbors.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

FeaturizeOptions Options() {
  FeaturizeOptions options;
  options.descriptor.species = {22, 8};
  options.descriptor.rad_cutoff = 5;
  options.descriptor.ang_cutoff = 3.5;
  return options;
}

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Bytes(const std::string& path) { return std::string(FileContents::Open(path)->data()); }

TEST(FeaturizerTest, BytesDoNotDependOnThreads) {
  for (const DType precision : {DType::kF32, DType::kF64}) {
    FeaturizeOptions options = Options();
    options.precision = precision;
    const absl::StatusOr<FeaturizeStats> one = Featurize({kTio2}, Temp("one"), options, {});
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(one->structures, 403);
    options.num_threads = 2;
    ASSERT_TRUE(Featurize({kTio2}, Temp("two"), options, {}).ok());
    EXPECT_EQ(Bytes(Temp("one")), Bytes(Temp("two")));
  }
}

TEST(FeaturizerTest, ShardsTogetherAreTheWhole) {
  int64_t structures = 0;
  FeaturizeOptions options = Options();
  options.num_shards = 3;
  for (options.shard = 1; options.shard <= 3; ++options.shard) {
    const absl::StatusOr<FeaturizeStats> stats = Featurize({kTio2}, Temp("shard"), options, {});
    ASSERT_TRUE(stats.ok()) << stats.status();
    structures += stats->structures;
    const absl::StatusOr<FeatureFile> file = ReadFeatures(Temp("shard"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->names[1], "data/tio2-pbe/tio2-pbe.extxyz#" + std::to_string(3 + options.shard - 1));
  }
  EXPECT_EQ(structures, 403);
}

TEST(FeaturizerTest, FiltersCountWhatTheyLeaveOut) {
  FeaturizeOptions options = Options();
  options.max_forces = 5;
  const absl::StatusOr<FeaturizeStats> stats = Featurize({kTio2}, Temp("filtered"), options, {});
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_GT(stats->filtered, 0);
  EXPECT_EQ(stats->structures + stats->filtered, 403);
  const absl::StatusOr<FeatureFile> file = ReadFeatures(Temp("filtered"));
  for (const double f : file->file.tensors.At("force").values<double>()) EXPECT_LE(std::abs(f), 5);

  options.max_energy = -100;
  const absl::StatusOr<FeaturizeStats> none = Featurize({kTio2}, Temp("none"), options, {});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("no structure is left"));
  EXPECT_FALSE(FileExists(Temp("none")));
}

TEST(FeaturizerTest, SpeciesThatTheDescriptorLacks) {
  FeaturizeOptions options = Options();
  options.descriptor.species = {8};
  const absl::StatusOr<FeaturizeStats> stats = Featurize({kTio2}, Temp("species"), options, {});
  ASSERT_FALSE(stats.ok());
  EXPECT_THAT(stats.status().message(), HasSubstr("tio2-pbe.extxyz#0: atom 1 is Ti"));
  EXPECT_THAT(stats.status().message(), HasSubstr("--species=O,Ti"));
  EXPECT_FALSE(FileExists(Temp("species")));
}

TEST(FeaturizerTest, FirstErrorInTheInputIsReportedForAnyNumberOfThreads) {
  // The first file has atoms on top of each other, the second is broken; the error of the first is reported.
  const std::string close = Temp("close.xyz"), broken = Temp("broken.xyz");
  ASSERT_TRUE(WriteFileAtomically(close, "2\n\nO 0 0 0\nO 0 0 0.05\n").ok());
  ASSERT_TRUE(WriteFileAtomically(broken, "2\n\nO 0 0 0\n").ok());
  for (const int threads : {1, 2}) {
    FeaturizeOptions options = Options();
    options.num_threads = threads;
    const absl::StatusOr<FeaturizeStats> stats = Featurize({broken}, Temp("out"), options, {});
    ASSERT_FALSE(stats.ok());
    EXPECT_THAT(stats.status().message(), HasSubstr("broken.xyz:"));
    const absl::StatusOr<FeaturizeStats> near = Featurize({close}, Temp("out"), options, {});
    ASSERT_FALSE(near.ok());
    EXPECT_THAT(near.status().message(), HasSubstr("close.xyz"));
    EXPECT_FALSE(FileExists(Temp("out")));
  }
}

// A file of neighbors gives the same features, bit for bit, for every descriptor that it can serve.
TEST(FeaturizerTest, NeighborsInsteadOfStructures) {
  CacheNeighborsOptions cache;
  cache.cutoff = 5;
  ASSERT_TRUE(CacheNeighbors({kTio2}, Temp("neighbors"), cache, {}).ok());
  FeaturizeOptions options = Options();
  for (const double rad_cutoff : {5.0, 4.2}) {
    options.descriptor.rad_cutoff = rad_cutoff;
    const absl::StatusOr<FeaturizeStats> raw = Featurize({kTio2}, Temp("raw"), options, {});
    const absl::StatusOr<FeaturizeStats> cached = Featurize({Temp("neighbors")}, Temp("cached"), options, {});
    ASSERT_TRUE(raw.ok() && cached.ok()) << raw.status() << cached.status();
    EXPECT_EQ(Bytes(Temp("raw")), Bytes(Temp("cached")));
    EXPECT_EQ(raw->pairs, cached->pairs);
    EXPECT_EQ(raw->lowest_energy, cached->lowest_energy);
  }
  options.descriptor.rad_cutoff = 5.5;
  EXPECT_THAT(Featurize({Temp("neighbors")}, Temp("longer"), options, {}).status().message(),
              HasSubstr("holds neighbors up to 5 Angstrom, but the descriptor's cutoff is 5.5"));

  cache.species = Options().descriptor.species;
  cache.descriptor = Options().descriptor.ToJson();
  ASSERT_TRUE(CacheNeighbors({kTio2}, Temp("recorded"), cache, {}).ok());
  EXPECT_TRUE(Featurize({Temp("recorded")}, Temp("same"), Options(), {}).ok());
  options = Options();
  options.descriptor.rad_order = 3;
  EXPECT_THAT(Featurize({Temp("recorded")}, Temp("other"), options, {}).status().message(),
              HasSubstr("made for the descriptor "));
  EXPECT_FALSE(FileExists(Temp("other")));
}

TEST(FeaturizerTest, ConfigKeyGroupsStructures) {
  FeaturizeOptions options = Options();
  options.config_key = "index";
  ASSERT_TRUE(Featurize({kTio2}, Temp("config"), options, {}).ok());
  const absl::StatusOr<FeatureFile> file = ReadFeatures(Temp("config"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->config_types.size(), 403u);
  EXPECT_EQ(file->file.metadata.at("config_key"), "index");
}

}  // namespace
}  // namespace rutile
