#include "lib/descriptor/files/recorded_inputs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/neighbor/cache_neighbors.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

ChebyshevOptions Tio2() {
  ChebyshevOptions descriptor;
  descriptor.species = {22, 8};
  descriptor.rad_cutoff = 4;
  descriptor.ang_cutoff = 3;
  return descriptor;
}

std::string Write(const std::string& name, const std::optional<ChebyshevOptions>& descriptor) {
  const std::string path = ::testing::TempDir() + "/" + name;
  CacheNeighborsOptions options;
  options.cutoff = 4;
  options.atomic_energies = {{8, -2}};
  options.config_key = "group";
  if (descriptor.has_value()) {
    options.species = descriptor->species;
    options.descriptor = descriptor->ToJson();
  }
  const absl::StatusOr<CacheNeighborsStats> stats = CacheNeighbors({kTio2}, path, options, {});
  EXPECT_TRUE(stats.ok()) << stats.status();
  return path;
}

TEST(RecordedInputsTest, FindsWhatFilesRecorded) {
  const std::string plain = Write("plain", std::nullopt), recorded = Write("recorded", Tio2());
  const absl::StatusOr<RecordedInputs> found = ReadRecordedInputs({kTio2, plain, recorded});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->path, plain);
  EXPECT_EQ(found->descriptor_path, recorded);
  EXPECT_EQ(found->descriptor, Tio2());
  EXPECT_EQ(found->config_key, "group");
  EXPECT_EQ(found->weight_key, "");
  EXPECT_EQ(found->atomic_energies.at(8), -2);

  const absl::StatusOr<RecordedInputs> none = ReadRecordedInputs({kTio2, "-"});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->path, "");
  EXPECT_FALSE(none->descriptor.has_value());
}

TEST(RecordedInputsTest, DescriptorsMustAgree) {
  ChebyshevOptions other = Tio2();
  other.rad_order = 5;
  const absl::Status status = ReadRecordedInputs({Write("first", Tio2()), Write("second", other)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("second: its descriptor is "));
}

TEST(RecordedInputsTest, DescriptorMustFitTheSpecies) {
  TensorFile file = *ReadTensorFile(Write("fits", Tio2()));
  EXPECT_TRUE(RecordedDescriptor(file).ok());
  file.metadata["species"] = "[\"O\",\"Ti\"]";
  EXPECT_THAT(RecordedDescriptor(file).status().message(), HasSubstr("metadata \"species\" is [\"O\",\"Ti\"]"));
  file.metadata["descriptor"] = "{";
  EXPECT_THAT(RecordedDescriptor(file).status().message(), HasSubstr("fits: metadata \"descriptor\": "));
}

}  // namespace
}  // namespace rutile
