#include "lib/tensorfile/inspect/tensor_statistics.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Tensor Bits16(DType dtype, const std::vector<uint16_t>& bits) {
  Tensor tensor = Tensor::Zeros(dtype, {static_cast<int64_t>(bits.size())});
  std::memcpy(tensor.mutable_data(), bits.data(), 2 * bits.size());
  return tensor;
}

TEST(ElementAtTest, HalfTypes) {
  const Tensor half = Bits16(DType::kF16, {0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x8000, 0xfc00, 0x7e00, 0x3555});
  EXPECT_EQ(ElementAt(half, 0), 1);
  EXPECT_EQ(ElementAt(half, 1), -2);
  EXPECT_EQ(ElementAt(half, 2), 65504);
  EXPECT_EQ(ElementAt(half, 3), 0x1p-24L);
  EXPECT_EQ(ElementAt(half, 4), 0x1p-14L);
  EXPECT_EQ(ElementAt(half, 5), 0);
  EXPECT_EQ(ElementAt(half, 6), -INFINITY);
  EXPECT_TRUE(std::isnan(ElementAt(half, 7)));
  EXPECT_NEAR(static_cast<double>(ElementAt(half, 8)), 1.0 / 3, 1e-4);
  const Tensor bfloat = Bits16(DType::kBF16, {0x3f80, 0xc000, 0x7f80});
  EXPECT_EQ(ElementAt(bfloat, 0), 1);
  EXPECT_EQ(ElementAt(bfloat, 1), -2);
  EXPECT_EQ(ElementAt(bfloat, 2), INFINITY);
}

TEST(ElementAtTest, KeepsEveryDigitOfLargeIntegers) {
  EXPECT_EQ(ElementAt(Tensor::Of<int64_t>({INT64_MIN + 1}, {1}), 0), -9223372036854775807.0L);
  EXPECT_EQ(ElementAt(Tensor::Of<uint64_t>({UINT64_MAX}, {1}), 0), 18446744073709551615.0L);
}

// Uses the same numbers in every type that can hold them.
TEST(ComputeStatisticsTest, EveryType) {
  const std::vector<Tensor> tensors = {Tensor::Of<uint8_t>({1, 2, 6}, {3}),
                                       Tensor::Of<int8_t>({1, 2, 6}, {3}),
                                       Tensor::Of<uint16_t>({1, 2, 6}, {3}),
                                       Tensor::Of<int16_t>({1, 2, 6}, {3}),
                                       Tensor::Of<uint32_t>({1, 2, 6}, {3}),
                                       Tensor::Of<int32_t>({1, 2, 6}, {3}),
                                       Tensor::Of<float>({1, 2, 6}, {3}),
                                       Tensor::Of<uint64_t>({1, 2, 6}, {3}),
                                       Tensor::Of<int64_t>({1, 2, 6}, {3}),
                                       Tensor::Of<double>({1, 2, 6}, {3, 1}),
                                       Bits16(DType::kF16, {0x3c00, 0x4000, 0x4600})};
  for (const Tensor& tensor : tensors) {
    const TensorStatistics statistics = ComputeStatistics(tensor);
    EXPECT_EQ(statistics.num_numbers, 3);
    EXPECT_EQ(statistics.num_nan, 0);
    EXPECT_EQ(statistics.min, 1) << DTypeName(tensor.dtype());
    EXPECT_EQ(statistics.max, 6) << DTypeName(tensor.dtype());
    EXPECT_EQ(statistics.mean, 3) << DTypeName(tensor.dtype());
  }
  EXPECT_EQ(ComputeStatistics(Tensor::Of<bool>({true, false, false, true}, {4})).mean, 0.5);
}

TEST(ComputeStatisticsTest, NanAndNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TensorStatistics some = ComputeStatistics(Tensor::Of<double>({nan, -3, nan, -1}, {4}));
  EXPECT_EQ(some.num_nan, 2);
  EXPECT_EQ(some.num_numbers, 2);
  EXPECT_EQ(some.min, -3);
  EXPECT_EQ(some.max, -1);
  EXPECT_EQ(some.mean, -2);
  EXPECT_EQ(ComputeStatistics(Tensor::Of<double>({nan}, {1})).num_numbers, 0);
  EXPECT_EQ(ComputeStatistics(Tensor()).num_numbers, 0);
}

TEST(DescribeTensorFileTest, Table) {
  TensorFile file;
  file.path = "f.safetensors";
  file.metadata = {
      {"kind", "test/1"}, {"crc32c.a", "0123abcd"}, {"long", std::string(99, 'x') + "äöü" + std::string(100, 'y')}};
  file.tensors.Set("a", Tensor::Of<float>({1, 2.5f, NAN}, {3, 1}));
  file.tensors.Set("longer", Tensor::Zeros(DType::kI64, {0}));
  file.tensors.Set("evil\x1b[2J", Tensor::Scalar(true));
  const std::string text = DescribeTensorFile(file, false);
  EXPECT_EQ(text,
            "f.safetensors: test/1, 3 tensors, 13 bytes of data\n"
            "metadata\n"
            "  kind  test/1\n"
            "  long  " +
                std::string(99, 'x') +
                "... (205 bytes)\n"
                "tensors\n"
                "  name             dtype  shape  min  max  mean  NaN\n"
                "  a                F32    [3,1]  1    2.5  1.75  1\n"
                "  longer           I64    [0]    -    -    -     0\n"
                "  \"evil\\u001b[2J\"  BOOL   []     1    1    1     0\n");
  EXPECT_THAT(DescribeTensorFile(file, true), HasSubstr("crc32c.a  0123abcd\n"));
  EXPECT_THAT(DescribeTensorFile(file, true), HasSubstr(std::string(99, 'x') + "äöü" + std::string(100, 'y') + "\n"));
  file.metadata.clear();
  file.tensors = NamedTensors();
  EXPECT_EQ(DescribeTensorFile(file, true), "f.safetensors: no kind, 0 tensors, 0 bytes of data\n");
}

}  // namespace
}  // namespace rutile
