#include "lib/potential/data/scattered_features.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/descriptor/files/featurizer.h"

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

// The files are mapped, and what is read from them after the advice is what was read before.
TEST(ScatteredFeaturesTest, AreReadAsBefore) {
  for (const DType precision : {DType::kF32, DType::kF64}) {
    FeaturizeOptions featurize;
    featurize.descriptor = Descriptor();
    featurize.precision = precision;
    std::vector<std::string> paths;
    for (const char* name : {"/a.safetensors", "/b.safetensors"}) {
      paths.push_back(::testing::TempDir() + name);
      ASSERT_TRUE(Featurize({kTio2}, paths.back(), featurize, {}).ok());
    }
    const AtomicData data = *AtomicData::Read(paths, {});
    int64_t atoms = 0;
    std::vector<double> before, after;
    const auto read = [&](std::vector<double>* out) {
      for (int64_t s = 0; s < data.num_structures(); ++s) {
        if (precision == DType::kF64) {
          out->insert(out->end(), data.features<double>(s).begin(), data.features<double>(s).end());
        } else {
          out->insert(out->end(), data.features<float>(s).begin(), data.features<float>(s).end());
        }
      }
    };
    for (int64_t s = 0; s < data.num_structures(); ++s) atoms += data.num_atoms(s);
    const int64_t bytes = atoms * data.descriptor().num_features() * (precision == DType::kF64 ? 8 : 4);
    EXPECT_FALSE(FeaturesExceed(data, 2 * bytes));
    EXPECT_TRUE(FeaturesExceed(data, 2 * bytes - 2));
    read(&before);
    AdviseScatteredFeatures(data);
    PrefetchFeatures(data, {data.num_structures() - 1, 0, 5});
    read(&after);
    EXPECT_EQ(before, after);
  }
}

TEST(ScatteredFeaturesTest, StructuresHaveNone) {
  AtomicDataOptions options;
  options.descriptor = Descriptor();
  EXPECT_FALSE(FeaturesExceed(*AtomicData::Read({kTio2}, options), 0));
}

}  // namespace
}  // namespace rutile
