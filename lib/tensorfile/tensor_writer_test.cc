#include "lib/tensorfile/tensor_writer.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

TEST(WriteTensorFileTest, RoundTrip) {
  const std::string path = ::testing::TempDir() + "/round_trip.safetensors";
  NamedTensors tensors;
  tensors.Set("mask", Tensor::Of<bool>({true, false, true}, {3}));
  tensors.Set("x", Tensor::Of<double>({1, 2, 3, 4}, {2, 2}));
  ASSERT_TRUE(WriteTensorFile(path, {{"kind", "test/1"}}, tensors).ok());
  const auto file = ReadTensorFile(path, {true});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata.at("kind"), "test/1");
  EXPECT_THAT(file->tensors.At("x").values<double>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(file->tensors.At("mask").values<bool>(), ElementsAre(true, false, true));
}

TEST(TensorStreamWriterTest, RoundTrip) {
  const std::string path = ::testing::TempDir() + "/stream.safetensors";
  auto writer = TensorStreamWriter::Create(path);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Declare("row", DType::kF32, {2}).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->Append<float>("row", {1.0f * i, 2.0f * i}).ok());
  EXPECT_EQ(writer->rows("row"), 3);
  ASSERT_TRUE(writer->Finish({{"kind", "test/1"}}).ok());
  const auto file = ReadTensorFile(path, {true});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->tensors.At("row").values<float>(), ElementsAre(0, 0, 1, 2, 2, 4));
}

}  // namespace
}  // namespace rutile
