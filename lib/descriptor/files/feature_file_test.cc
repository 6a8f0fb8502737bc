#include "lib/descriptor/files/feature_file.h"

#include <cmath>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChebyshevOptions TwoSpecies() {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_order = 1;
  options.ang_order = 0;
  return options;  // 6 features
}

Structure Dimer(const std::string& name) {
  Structure s;
  s.name = name;
  s.element = {22, 8};
  s.position = {0, 0, 0, 0, 0, 1.7};
  s.energy = -12.5;
  s.force = {0, 0, 1, 0, 0, -1};
  s.info["config_type"] = "dimer";
  return s;
}

std::string WriteTwo(const std::string& file) {
  const std::string path = ::testing::TempDir() + "/" + file;
  FeatureWriter writer = *FeatureWriter::Create(path, TwoSpecies(), DType::kF32, {{22, -3.0}, {8, -2.0}});
  EXPECT_TRUE(writer.Append(Dimer("a#0"), {0, 1}, std::vector<float>(12, 0.5f)).ok());
  Structure bare;
  bare.name = "b";
  bare.element = {8};
  bare.position = {1, 2, 3};
  EXPECT_TRUE(writer.Append(bare, {1}, std::vector<float>(6, 0.25f)).ok());
  EXPECT_TRUE(writer.Finish({{"config_key", "config_type"}, {"tool", "test"}}).ok());
  return path;
}

TEST(FeatureFileTest, ComesBackAsWritten) {
  const absl::StatusOr<FeatureFile> read = ReadFeatures(WriteTwo("two.safetensors"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->descriptor, TwoSpecies());
  EXPECT_THAT(read->names, ElementsAre("a#0", "b"));
  EXPECT_THAT(read->config_types, ElementsAre("dimer", ""));
  EXPECT_EQ(read->atomic_energies.at(22), -3.0);
  const NamedTensors& tensors = read->file.tensors;
  EXPECT_THAT(tensors.At("atom_offset").values<int64_t>(), ElementsAre(0, 2, 3));
  EXPECT_THAT(tensors.At("species").values<uint8_t>(), ElementsAre(0, 1, 1));
  EXPECT_THAT(tensors.At("has_energy").values<bool>(), ElementsAre(true, false));
  EXPECT_THAT(tensors.At("config").values<int32_t>(), ElementsAre(0, 1));
  EXPECT_TRUE(std::isnan(tensors.At("energy").values<double>()[1]));
  EXPECT_TRUE(std::isnan(tensors.At("force").values<double>()[6]));
  EXPECT_EQ(tensors.At("feature").values<float>()[12], 0.25f);
}

TEST(FeatureFileTest, SameContentSameBytes) {
  const std::string a = WriteTwo("same_a.safetensors"), b = WriteTwo("same_b.safetensors");
  EXPECT_EQ(FileContents::Open(a)->data(), FileContents::Open(b)->data());
}

// Writes damaged or forged files, tensor by tensor, whose contents must be checked.
class BrokenFeatureFileTest : public ::testing::Test {
 protected:
  void SetUp() override { file_ = *ReadTensorFile(WriteTwo("whole.safetensors")); }
  std::string Error() {
    const std::string path = ::testing::TempDir() + "/broken.safetensors";
    Metadata metadata = file_.metadata;
    for (auto it = metadata.begin(); it != metadata.end();) {
      it = it->first.rfind("crc32c.", 0) == 0 ? metadata.erase(it) : std::next(it);
    }
    EXPECT_TRUE(WriteTensorFile(path, metadata, file_.tensors).ok());
    const absl::StatusOr<FeatureFile> read = ReadFeatures(path);
    EXPECT_FALSE(read.ok());
    return read.ok() ? "" : std::string(read.status().message());
  }
  TensorFile file_;
};

TEST_F(BrokenFeatureFileTest, Offsets) {
  file_.tensors.Set("atom_offset", Tensor::Of<int64_t>({0, 4, 3}));
  EXPECT_THAT(Error(), HasSubstr("atom_offset"));
}

TEST_F(BrokenFeatureFileTest, Species) {
  file_.tensors.Set("species", Tensor::Of<uint8_t>({0, 2, 1}));
  EXPECT_THAT(Error(), HasSubstr("\"species\": 2"));
}

TEST_F(BrokenFeatureFileTest, Config) {
  file_.tensors.Set("config", Tensor::Of<int32_t>({0, -1}));
  EXPECT_THAT(Error(), HasSubstr("\"config\": -1"));
}

TEST_F(BrokenFeatureFileTest, NotFinite) {
  std::vector<float> values(18, 1.0f);
  values[7] = NAN;
  file_.tensors.Set("feature", Tensor::Of<float>(values, {3, 6}));
  EXPECT_THAT(Error(), HasSubstr("NaN or infinity"));
}

TEST_F(BrokenFeatureFileTest, AnotherDescriptor) {
  ChebyshevOptions options = TwoSpecies();
  options.rad_order = 2;
  file_.metadata["descriptor"] = options.ToJson();
  EXPECT_THAT(Error(), HasSubstr("6 columns"));
}

TEST_F(BrokenFeatureFileTest, Names) {
  file_.metadata["names"] = "[\"a\"]";
  EXPECT_THAT(Error(), HasSubstr("1 entries for 2 structures"));
}

TEST_F(BrokenFeatureFileTest, AnotherKind) {
  file_.metadata["kind"] = "kg.triples/1";
  EXPECT_THAT(Error(), HasSubstr("kg.triples/1"));
}

}  // namespace
}  // namespace rutile
