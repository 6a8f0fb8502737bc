#include "lib/potential/data/feature_source.h"

#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

ChebyshevOptions Descriptor() {
  ChebyshevOptions descriptor;
  descriptor.species = {22, 8};
  descriptor.rad_order = 4;
  descriptor.rad_cutoff = 4;
  descriptor.ang_cutoff = 3;
  return descriptor;
}

AtomicData Structures() {
  AtomicDataOptions options;
  options.descriptor = Descriptor();
  return *AtomicData::Read({kTio2}, options);
}

template <typename T>
std::vector<T> All(const FeatureSource& source, const AtomicData& data) {
  std::vector<int64_t> structures(data.num_structures());
  std::iota(structures.begin(), structures.end(), 0);
  std::vector<T> all;
  int64_t next = 0;
  EXPECT_TRUE(source
                  .ForEach<T>(structures,
                              [&](int64_t s, absl::Span<const T> features) {
                                EXPECT_EQ(s, next++);
                                EXPECT_EQ(features.size(), data.num_atoms(s) * data.descriptor().num_features());
                                all.insert(all.end(), features.begin(), features.end());
                              })
                  .ok());
  return all;
}

TEST(FeatureSourceTest, FileMemoryAndGeometrySayTheSame) {
  FeaturizeOptions featurize;
  featurize.descriptor = Descriptor();
  featurize.precision = DType::kF64;
  const std::string path = ::testing::TempDir() + "/features.safetensors";
  ASSERT_TRUE(Featurize({kTio2}, path, featurize, {}).ok());
  const AtomicData from_file = *AtomicData::Read({path}, {});
  const auto file = FeatureSource::Create(from_file, AngularMethod::kMoments, DType::kF32, false, 1);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->cached());
  EXPECT_EQ(file->dtype(), DType::kF64);  // that of the file
  const std::vector<double> expected = All<double>(*file, from_file);

  const AtomicData data = Structures();
  for (const bool cached : {false, true}) {
    for (const int threads : {1, 2}) {
      const auto source = FeatureSource::Create(data, AngularMethod::kMoments, DType::kF64, cached, threads);
      ASSERT_TRUE(source.ok()) << source.status();
      EXPECT_EQ(source->cached(), cached);
      const std::vector<double> found = All<double>(*source, data);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 1e-11 * std::max(1.0, std::abs(expected[i])));
      }
    }
  }
  const auto single = FeatureSource::Create(data, AngularMethod::kMoments, DType::kF32, true, 2);
  ASSERT_TRUE(single.ok());
  const std::vector<float> found = All<float>(*single, data);
  EXPECT_EQ(single->features<float>(0)[3], found[3]);
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 2e-4 * std::max(1.0, std::abs(expected[i])));
  }
}

TEST(FeatureSourceTest, ErrorsOfNeighborsPass) {
  const std::string path = ::testing::TempDir() + "/near.extxyz";
  ASSERT_TRUE(WriteFileAtomically(path, "2\nenergy=1 Properties=species:S:1:pos:R:3\nTi 0 0 0\nO 0 0 0.01\n").ok());
  AtomicDataOptions options;
  options.descriptor = Descriptor();
  const absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  if (!data.ok()) return;  // an error was found before
  EXPECT_FALSE(FeatureSource::Create(*data, AngularMethod::kMoments, DType::kF32, true, 1).ok());
}

}  // namespace
}  // namespace rutile
