// Exchanges files with plain Python code that knows nothing of rutile.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kSamples[] = "testdata/tensorfile";

// Returns the output of a program that must succeed.
std::string Output(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

TEST(InteropTest, PythonReadsOurs) {
  NamedTensors tensors;
  tensors.Set("mask", Tensor::Of<bool>({true, false}, {2}));
  tensors.Set("feature", Tensor::Of<float>({0.5f, -1, 1e10f, 3}, {2, 2}));
  tensors.Set("count", Tensor::Scalar(int64_t{-4}));
  tensors.Set("none", Tensor::Zeros(DType::kU16, {0, 7}));
  tensors.Set("energy", Tensor::Of<double>({1.0 / 3}, {1}));
  const std::string path = ::testing::TempDir() + "/ours.safetensors";
  ASSERT_TRUE(WriteTensorFile(path,
                              {{"kind", "test/1"},
                               {"note",
                                "K\xc3\xa4"
                                "fer \"x\"\n\x01"}},
                              tensors)
                  .ok());
  const std::string output = Output("python3 lib/tensorfile/read_with_python.py " + path);
  // Compares the output after the first line, which contains checksums.
  EXPECT_EQ(output.substr(output.find('\n')),
            "\n"
            "count I64 [] -4\n"
            "energy F64 [1] 0.3333333333333333\n"
            "feature F32 [2, 2] 0.5 -1.0 10000000000.0 3.0\n"
            "none U16 [0, 7]\n"
            "mask BOOL [2] True False\n");
  EXPECT_TRUE(absl::StrContains(output, R"("kind": "test/1", "note": "K\u00e4fer \"x\"\n\u0001"})")) << output;
  EXPECT_TRUE(absl::StrContains(output, R"("crc32c.none": "00000000")")) << output;
}

TEST(InteropTest, WeReadPythons) {
  const auto file = ReadTensorFile(absl::StrCat(kSamples, "/reference.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata, (Metadata{{"kind", "test/1"},
                                      {"note",
                                       "K\xc3\xa4"
                                       "fer \"quoted\"\n"}}));
  const NamedTensors& tensors = file->tensors;
  EXPECT_EQ(tensors.size(), 8);
  EXPECT_THAT(tensors.At("energy").values<double>(), ElementsAre(-1.5, 1.0 / 3));
  EXPECT_THAT(tensors.At("offset").values<int64_t>(), ElementsAre(0, 2, -(int64_t{1} << 62)));
  EXPECT_THAT(tensors.At("feature").shape(), ElementsAre(2, 3));
  EXPECT_THAT(tensors.At("feature").values<float>(), ElementsAre(0, 1, 2, 3, 4, 0.5));
  EXPECT_THAT(tensors.At("index").shape(), IsEmpty());
  EXPECT_THAT(tensors.At("index").values<int32_t>(), ElementsAre(-7));
  EXPECT_EQ(tensors.At("half").dtype(), DType::kF16);
  EXPECT_THAT(tensors.At("shift").values<int16_t>(), ElementsAre(-1, 0, 1));
  EXPECT_THAT(tensors.At("mask").values<bool>(), ElementsAre(true, false));
  EXPECT_THAT(tensors.At("none").shape(), ElementsAre(0, 4));
}

TEST(InteropTest, SamplesAreWhatTheirScriptMakes) {
  const std::string made = ::testing::TempDir() + "/made";
  ASSERT_TRUE(MakeDirectories(made).ok());
  EXPECT_EQ(Output(absl::StrCat("python3 ", kSamples, "/make_samples.py ", made)), "");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(made)) {
    const auto a = FileContents::Open(entry.path().string());
    const auto b = FileContents::Open(absl::StrCat(kSamples, "/", entry.path().filename().string()));
    ASSERT_TRUE(a.ok() && b.ok()) << entry.path();
    EXPECT_TRUE(a->data() == b->data()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 25);
}

TEST(InteropTest, SamplesAreRightOrWrong) {
  for (const auto& entry : std::filesystem::directory_iterator(kSamples)) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string name = entry.path().filename().string();
    const auto file = ReadTensorFile(entry.path().string(), {true});
    if (absl::StartsWith(name, "bad_")) {
      EXPECT_FALSE(file.ok()) << name;
    } else if (!absl::StartsWith(name, "fuzz_")) {
      EXPECT_TRUE(file.ok()) << file.status();
    }
  }
}

}  // namespace
}  // namespace rutile
