#include "lib/potential/feature_data.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChebyshevOptions Descriptor() {
  ChebyshevOptions options;
  options.species = {8};
  options.rad_order = 0;
  options.ang_order = 0;
  return options;  // 2 features
}

// One file: for each structure its number of atoms; features count up from `first`.
std::string WriteFile(const std::string& file, const std::vector<int>& atoms, float first,
                      const ChebyshevOptions& descriptor = Descriptor(),
                      const std::string& config_key = "config_type") {
  const std::string path = ::testing::TempDir() + "/" + file;
  FeatureWriter writer = *FeatureWriter::Create(path, descriptor, DType::kF32, {});
  for (size_t s = 0; s < atoms.size(); ++s) {
    Structure structure;
    structure.name = file + "#" + std::to_string(s);
    structure.element.assign(atoms[s], 8);
    structure.position.assign(3 * atoms[s], 1.0);
    if (s != 1) structure.energy = -1.0 * atoms[s];
    structure.info["config_type"] = s == 0 ? "first" : "later";
    std::vector<float> features(2 * atoms[s]);
    for (float& x : features) x = first++;
    EXPECT_TRUE(writer.Append(structure, std::vector<uint8_t>(atoms[s], 0), features).ok());
  }
  EXPECT_TRUE(writer.Finish({{"config_key", config_key}}).ok());
  return path;
}

TEST(FeatureDataTest, FilesFollowEachOther) {
  const auto data = FeatureData::Read({WriteFile("a", {2, 1}, 0), WriteFile("b", {3}, 100)});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->num_structures(), 3);
  EXPECT_THAT(data->features<float>(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(data->features<float>(1), ElementsAre(4, 5));
  EXPECT_EQ(data->features<float>(2)[5], 105);
  EXPECT_EQ(data->name(2), "b#0");
  EXPECT_EQ(data->config_type(1), "later");
  EXPECT_EQ(data->num_atoms(2), 3);
  EXPECT_EQ(data->energy(0), -2);
  EXPECT_FALSE(data->has_energy(1));
  EXPECT_TRUE(std::isnan(data->energy(1)));
  EXPECT_THAT(*data->Matches("config_type", "fi*"), ElementsAre(true, false, true));
}

TEST(FeatureDataTest, RefusesWhatDoesNotGoTogether) {
  ChebyshevOptions other = Descriptor();
  other.rad_cutoff = 5;
  EXPECT_THAT(FeatureData::Read({WriteFile("a", {1}, 0), WriteFile("c", {1}, 0, other)}).status().message(),
              HasSubstr("descriptor"));
  EXPECT_THAT(
      FeatureData::Read({WriteFile("a", {1}, 0), WriteFile("d", {1}, 0, Descriptor(), "origin")}).status().message(),
      HasSubstr("config_key"));
  EXPECT_FALSE(FeatureData::Read({}).ok());
  EXPECT_TRUE(absl::IsNotFound(FeatureData::Read({"none.safetensors"}).status()));
}

TEST(FeatureDataTest, KeysThatNothingFits) {
  const auto data = FeatureData::Read({WriteFile("a", {1}, 0)});
  ASSERT_TRUE(data.ok());
  EXPECT_THAT(data->Matches("origin", "*").status().message(), HasSubstr("--config_key=origin"));
  EXPECT_THAT(data->Matches("config_type", "none*").status().message(), HasSubstr("none*"));
}

}  // namespace
}  // namespace rutile
