#include "lib/tensorfile/inspect/tensor_diff.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TensorFile FileOf(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors) {
  TensorFile file;
  file.path = path;
  for (const auto& [name, tensor] : tensors) file.tensors.Set(name, tensor);
  return file;
}

template <typename T>
std::vector<std::string> Diff(const std::vector<T>& a, const std::vector<T>& b, double rtol = 0, double atol = 0) {
  return DiffTensorFiles(FileOf("a", {{"x", Tensor::Of(a)}}), FileOf("b", {{"x", Tensor::Of(b)}}), {rtol, atol});
}

TEST(TensorDiffTest, EqualFilesInAnyOrder) {
  const Tensor x = Tensor::Of(std::vector<float>{1, 2}), y = Tensor::Zeros(DType::kI64, {0, 3});
  EXPECT_THAT(DiffTensorFiles(FileOf("a", {{"x", x}, {"y", y}}), FileOf("b", {{"y", y}, {"x", x}}), {}), IsEmpty());
  EXPECT_THAT(DiffTensorFiles(TensorFile(), TensorFile(), {}), IsEmpty());
}

TEST(TensorDiffTest, MissingTensorsTypesAndShapes) {
  const Tensor x = Tensor::Of(std::vector<float>{1, 2});
  EXPECT_THAT(DiffTensorFiles(
                  FileOf("a", {{"x", x}, {"y", x}, {"z", x}}),
                  FileOf("b", {{"w", x}, {"y", x.Slice(0, {1, 2})}, {"z", Tensor::Of(std::vector<double>{1, 2})}}), {}),
              ElementsAre("tensor \"x\": only in a", "tensor \"y\": F32 [2] against F32 [1,2]",
                          "tensor \"z\": F32 [2] against F64 [2]", "tensor \"w\": only in b"));
}

TEST(TensorDiffTest, ExactByDefault) {
  EXPECT_THAT(Diff<double>({1, 0.1}, {1, std::nextafter(0.1, 1)}),
              ElementsAre("tensor \"x\": 1 of 2 values differ, worst at [1]: 0.10000000000000001 against "
                          "0.10000000000000002, difference 1.39e-17, relative 1.39e-16"));
  EXPECT_THAT(Diff<double>({0.0}, {-0.0}), IsEmpty());
  EXPECT_THAT(Diff<int64_t>({INT64_MAX}, {INT64_MAX - 1}),
              ElementsAre("tensor \"x\": 1 of 1 values differ, worst at [0]: 9223372036854775807 against "
                          "9223372036854775806, difference 1, relative 1.08e-19"));
}

TEST(TensorDiffTest, Tolerances) {
  EXPECT_THAT(Diff<double>({1.5}, {1}, 0, 0.5), IsEmpty());
  EXPECT_EQ(Diff<double>({1.5}, {1}, 0, 0.49).size(), 1u);
  EXPECT_THAT(Diff<double>({150}, {100}, 0.5, 0), IsEmpty());
  EXPECT_EQ(Diff<double>({150}, {100}, 0.49, 0).size(), 1u);
  EXPECT_THAT(Diff<double>({152}, {100}, 0.5, 2), IsEmpty()) << "they add";
  EXPECT_EQ(Diff<double>({100}, {150}, 0.33, 0).size(), 1u) << "relative to b";
  EXPECT_THAT(Diff<double>({100}, {150}, 0.34, 0), IsEmpty());
}

TEST(TensorDiffTest, WorstIsWhatExceedsMost) {
  const TensorFile a = FileOf("a", {{"x", Tensor::Of<float>({0, 5, 0, 1000}, {2, 2})}});
  const TensorFile b = FileOf("b", {{"x", Tensor::Of<float>({1, 3, 0, 1010}, {2, 2})}});
  EXPECT_THAT(
      DiffTensorFiles(a, b, {0.01, 0}),
      ElementsAre("tensor \"x\": 2 of 4 values differ, worst at [0,1]: 5 against 3, difference 2, relative 0.667"));
}

TEST(TensorDiffTest, NanAndInfinity) {
  EXPECT_THAT(Diff<double>({NAN, INFINITY, -INFINITY}, {NAN, INFINITY, -INFINITY}), IsEmpty());
  EXPECT_EQ(Diff<double>({NAN}, {1}, 1, 1e300).size(), 1u);
  EXPECT_EQ(Diff<double>({1}, {NAN}, 1, 1e300).size(), 1u);
  EXPECT_EQ(Diff<double>({1}, {INFINITY}, 1, 1e300).size(), 1u) << "a tolerance relative to infinity";
  EXPECT_EQ(Diff<double>({INFINITY}, {-INFINITY}, 1, 1).size(), 1u);
  // A NaN with other bits.
  EXPECT_THAT(Diff<double>({NAN, 1}, {-NAN, 1}), IsEmpty());
}

TEST(TensorDiffTest, MetadataOnlyOnRequest) {
  TensorFile a = FileOf("a", {}), b = FileOf("b", {});
  a.metadata = {{"kind", "x/1"}, {"same", "1"}, {"left", "1"}, {"crc32c.x", "1"}};
  b.metadata = {{"kind", "y/1"}, {"same", "1"}, {"right", "1"}, {"crc32c.x", "2"}};
  EXPECT_THAT(DiffTensorFiles(a, b, {}), IsEmpty());
  EXPECT_THAT(DiffTensorFiles(a, b, {0, 0, true}),
              ElementsAre("metadata \"kind\": \"x/1\" against \"y/1\"", "metadata \"left\": only in a",
                          "metadata \"right\": only in b"));
}

}  // namespace
}  // namespace rutile
