#include "lib/tensorfile/named_tensors.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/machine/mapped_memory.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DTypeTest, NamesAndSizesGoBothWays) {
  const std::vector<std::pair<std::string, int64_t>> expected = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"U16", 2}, {"I16", 2}, {"F16", 2}, {"BF16", 2},
      {"U32", 4},  {"I32", 4}, {"F32", 4}, {"U64", 8}, {"I64", 8}, {"F64", 8}};
  for (size_t i = 0; i < expected.size(); ++i) {
    DType dtype;
    ASSERT_TRUE(ParseDType(expected[i].first, &dtype)) << expected[i].first;
    EXPECT_EQ(static_cast<size_t>(dtype), i);
    EXPECT_EQ(DTypeName(dtype), expected[i].first);
    EXPECT_EQ(ByteSize(dtype), expected[i].second);
  }
  DType untouched = DType::kI8;
  for (const char* const unknown : {"", "f32", "F8_E4M3", "F32 ", "FLOAT"}) {
    EXPECT_FALSE(ParseDType(unknown, &untouched)) << unknown;
  }
  EXPECT_EQ(untouched, DType::kI8);
}

TEST(DTypeTest, OfCppTypes) {
  static_assert(DTypeOf<float>() == DType::kF32, "");
  static_assert(DTypeOf<int64_t>() == DType::kI64, "");
  EXPECT_EQ(ByteSize(DTypeOf<bool>()), static_cast<int64_t>(sizeof(bool)));
  EXPECT_EQ(DTypeName(DTypeOf<uint16_t>()), "U16");
}

TEST(TensorTest, DefaultIsEmpty) {
  const Tensor tensor;
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  EXPECT_THAT(tensor.shape(), ElementsAre(0));
  EXPECT_EQ(tensor.num_bytes(), 0);
  EXPECT_THAT(tensor.values<float>(), IsEmpty());
}

TEST(TensorTest, ZerosAreAlignedAndWritable) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {0}, {3, 0, 5}, {1}, {1000, 3}}) {
    Tensor tensor = Tensor::Zeros(DType::kF64, shape);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
    EXPECT_EQ(tensor.rank(), static_cast<int>(shape.size()));
    for (double& value : tensor.mutable_values<double>()) {
      EXPECT_EQ(value, 0);
      value = 1;
    }
  }
}

TEST(TensorTest, OfCopiesValues) {
  std::vector<int32_t> numbers = {1, 2, 3, 4, 5, 6};
  const Tensor tensor = Tensor::Of<int32_t>(numbers, {2, 3});
  numbers[0] = 9;
  EXPECT_THAT(tensor.values<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(tensor.dim(1), 3);
  EXPECT_EQ(tensor.num_bytes(), 24);
  EXPECT_THAT(Tensor::Of(numbers).shape(), ElementsAre(6));
}

TEST(TensorTest, ScalarHasRankZero) {
  const Tensor tensor = Tensor::Scalar(int64_t{-3});
  EXPECT_EQ(tensor.rank(), 0);
  EXPECT_THAT(tensor.values<int64_t>(), ElementsAre(-3));
}

TEST(TensorTest, CopiesShareBytes) {
  Tensor a = Tensor::Of(std::vector<float>{1, 2});
  Tensor b = a;
  b.mutable_values<float>()[0] = 7;
  EXPECT_THAT(a.values<float>(), ElementsAre(7, 2));
}

TEST(TensorTest, ViewKeepsItsOwnerAlive) {
  auto bytes = std::make_shared<std::vector<double>>(4, 2.5);
  std::weak_ptr<std::vector<double>> watch = bytes;
  Tensor part;
  {
    const Tensor view = Tensor::View(DType::kF64, {2, 2}, bytes->data(), bytes);
    part = view.Slice(2, {2});
  }
  bytes.reset();
  EXPECT_THAT(part.values<double>(), ElementsAre(2.5, 2.5));
  part = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(TensorTest, SliceSharesAndMayBeWritten) {
  Tensor tensor = Tensor::Of<int16_t>({0, 1, 2, 3, 4, 5}, {3, 2});
  Tensor part = tensor.Slice(2, {2, 2});
  EXPECT_THAT(part.values<int16_t>(), ElementsAre(2, 3, 4, 5));
  part.mutable_values<int16_t>()[0] = -1;
  EXPECT_THAT(tensor.values<int16_t>(), ElementsAre(0, 1, -1, 3, 4, 5));
  EXPECT_THAT(tensor.Slice(6, {0, 2}).values<int16_t>(), IsEmpty());
}

TEST(TensorTest, ToDoubles) {
  EXPECT_THAT(Tensor::Of<bool>({true, false}, {2}).ToDoubles(), ElementsAre(1, 0));
  EXPECT_THAT(Tensor::Of<uint8_t>({255}, {1}).ToDoubles(), ElementsAre(255));
  EXPECT_THAT(Tensor::Of<int8_t>({-128}, {1}).ToDoubles(), ElementsAre(-128));
  EXPECT_THAT(Tensor::Of<uint16_t>({65535}, {1}).ToDoubles(), ElementsAre(65535));
  EXPECT_THAT(Tensor::Of<int16_t>({-5}, {1}).ToDoubles(), ElementsAre(-5));
  EXPECT_THAT(Tensor::Of<uint32_t>({4000000000}, {1}).ToDoubles(), ElementsAre(4e9));
  EXPECT_THAT(Tensor::Of<int32_t>({-7}, {1}).ToDoubles(), ElementsAre(-7));
  EXPECT_THAT(Tensor::Of<float>({0.5f}, {1}).ToDoubles(), ElementsAre(0.5));
  EXPECT_THAT(Tensor::Of<uint64_t>({uint64_t{1} << 63}, {1}).ToDoubles(), ElementsAre(0x1p63));
  EXPECT_THAT(Tensor::Of<int64_t>({-9}, {1}).ToDoubles(), ElementsAre(-9));
  EXPECT_THAT(Tensor::Of<double>({1e300}, {1}).ToDoubles(), ElementsAre(1e300));
}

TEST(TensorDeathTest, Misuse) {
  Tensor tensor = Tensor::Of(std::vector<float>{1, 2});
  EXPECT_DEATH(tensor.values<double>(), "F32 tensor read as F64");
  EXPECT_DEATH(tensor.mutable_values<int32_t>(), "F32 tensor written as I32");
  EXPECT_DEATH(tensor.Slice(1, {2}), "");
  EXPECT_DEATH(tensor.Slice(-1, {1}), "");
  EXPECT_DEATH(Tensor::Of<float>({1, 2}, {3}), "3 vs. 2");
  EXPECT_DEATH(Tensor::Zeros(DType::kF32, {-1}), "");
  EXPECT_DEATH(Tensor::Zeros(DType::kF32, {int64_t{1} << 32, int64_t{1} << 32}), "2\\^63");
  EXPECT_DEATH(Tensor::Zeros(DType::kF16, {1}).ToDoubles(), "F16");
  static const float values[2] = {1, 2};
  Tensor view = Tensor::View(DType::kF32, {2}, values, nullptr);
  EXPECT_DEATH(view.mutable_values<float>(), "read only");
  EXPECT_DEATH(Tensor::View(DType::kF32, {1}, reinterpret_cast<const char*>(values) + 1, nullptr), "misaligned");
}

TEST(NamedTensorsTest, KeepsOrderAndReplacesInPlace) {
  NamedTensors tensors;
  EXPECT_TRUE(tensors.empty());
  tensors.Set("b", Tensor::Scalar(1.0));
  tensors.Set("a", Tensor::Scalar(2.0));
  tensors.Set("b", Tensor::Scalar(3.0));
  ASSERT_EQ(tensors.size(), 2);
  EXPECT_EQ(tensors.begin()->first, "b");
  EXPECT_EQ(tensors.At("b").values<double>()[0], 3);
  tensors.MutableAt("a").mutable_values<double>()[0] = 5;
  EXPECT_EQ(tensors.Find("a")->values<double>()[0], 5);
  EXPECT_TRUE(tensors.Has("a"));
  EXPECT_FALSE(tensors.Has("c"));
  EXPECT_EQ(tensors.Find("c"), nullptr);
  EXPECT_EQ(tensors.FindMutable("c"), nullptr);
  EXPECT_DEATH(tensors.At("c"), "no tensor \"c\"");
}

TEST(TensorTest, ReuseKeepsTheMemoryWhereItIsLargeEnough) {
  Tensor tensor = Tensor::Zeros(DType::kF64, {4, 8});
  const void* const data = tensor.data();
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 8}, {32}, {}, {0, 3}, {4, 2, 4}}) {
    EXPECT_TRUE(tensor.Reuse(DType::kF64, shape));
    EXPECT_EQ(tensor.shape(), shape);
    EXPECT_EQ(tensor.data(), data);
  }
  EXPECT_TRUE(tensor.Reuse(DType::kU8, {256}));
  EXPECT_EQ(tensor.mutable_values<uint8_t>().size(), 256u);
  EXPECT_FALSE(tensor.Reuse(DType::kF64, {33}));
  EXPECT_EQ(tensor.dtype(), DType::kU8);
  EXPECT_EQ(tensor.dim(0), 256);
}

TEST(TensorTest, ReuseLeavesTheMemoryOfOthersAlone) {
  const double value = 1;
  Tensor view = Tensor::View(DType::kF64, {1}, &value, nullptr);
  EXPECT_FALSE(view.Reuse(DType::kF64, {1}));
  EXPECT_FALSE(Tensor().Reuse(DType::kF32, {1}));
  const Tensor whole = Tensor::Zeros(DType::kF32, {10});
  Tensor part = whole.Slice(2, {3});
  EXPECT_TRUE(part.Reuse(DType::kF32, {2}));
  EXPECT_FALSE(part.Reuse(DType::kF32, {4}));
  EXPECT_EQ(whole.dim(0), 10);
}

// A large tensor in a file is as any other; views keep the file.
TEST(TensorTest, LargeTensorsMayBeInFiles) {
  if (!MapLargeArrays(::testing::TempDir(), 4096).ok()) GTEST_SKIP() << "temporary files are in memory";
  Tensor tensor = Tensor::Zeros(DType::kF32, {32, 32});
  ASSERT_TRUE(MapLargeArrays("").ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 4096, 0u) << "not of a mapping";
  for (int64_t i = 0; i < 1024; ++i) tensor.mutable_values<float>()[i] = static_cast<float>(i);
  Tensor part = tensor.Slice(512, {8});
  EXPECT_TRUE(tensor.Reuse(DType::kF64, {512}));
  EXPECT_FALSE(tensor.Reuse(DType::kF64, {513}));
  tensor = Tensor();
  EXPECT_EQ(part.values<float>()[7], 519);
  part.mutable_values<float>()[7] = 1;
  EXPECT_EQ(part.values<float>()[7], 1);
}

}  // namespace
}  // namespace rutile
