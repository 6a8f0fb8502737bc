#include "lib/tensorfile/tensorfile_torch.h"

#include <ATen/ATen.h>

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

TEST(TensorfileTorchTest, SharesMemoryBothWays) {
  Tensor ours = Tensor::Of<double>({1, 2, 3, 4, 5, 6}, {2, 3});
  at::Tensor torch = ToTorch(ours);
  EXPECT_EQ(torch.data_ptr(), ours.data());
  EXPECT_EQ(torch.scalar_type(), at::kDouble);
  EXPECT_THAT(torch.sizes().vec(), ElementsAre(2, 3));
  torch.add_(1);
  EXPECT_THAT(ours.values<double>(), ElementsAre(2, 3, 4, 5, 6, 7));
  const Tensor back = FromTorch(torch);
  EXPECT_EQ(back.data(), ours.data());
  EXPECT_THAT(back.shape(), ElementsAre(2, 3));
}

TEST(TensorfileTorchTest, OnTheCpuADeviceCostsNoCopy) {
  const Tensor ours = Tensor::Of<float>({1, 2, 3}, {3});
  EXPECT_EQ(ToTorch(ours, at::Device("cpu")).data_ptr(), ours.data());
  EXPECT_TRUE(ToTorch(ours, at::Device("meta")).is_meta());
}

TEST(TensorfileTorchTest, OnTheCpuTheHostIsTheDevice) {
  const at::Tensor host = HostTensorFor(at::Device("cpu"), {2, 3}, at::kLong);
  EXPECT_THAT(host.sizes().vec(), ElementsAre(2, 3));
  EXPECT_EQ(host.scalar_type(), at::kLong);
  EXPECT_TRUE(host.is_same(host.to(at::Device("cpu"), /*non_blocking=*/true)));
  EXPECT_EQ(ToHost(host).data_ptr(), host.data_ptr());
}

TEST(TensorfileTorchTest, EitherSideKeepsTheBytes) {
  at::Tensor torch;
  {
    const Tensor ours = Tensor::Of<float>({1, 2, 3}, {3});
    torch = ToTorch(ours);
  }
  EXPECT_EQ(torch.sum().item<float>(), 6);
  Tensor ours;
  ours = FromTorch(at::ones({4}, at::kInt));
  EXPECT_THAT(ours.values<int32_t>(), ElementsAre(1, 1, 1, 1));
}

TEST(TensorfileTorchTest, CopiesWhatIsNotContiguous) {
  const at::Tensor torch = at::arange(6, at::kLong).view({2, 3}).t();
  const Tensor ours = FromTorch(torch);
  EXPECT_THAT(ours.shape(), ElementsAre(3, 2));
  EXPECT_THAT(ours.values<int64_t>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(TensorfileTorchTest, DetachesFromTheGraph) {
  const at::Tensor leaf = at::ones({2}).requires_grad_(true);
  EXPECT_THAT(FromTorch(leaf * 2).values<float>(), ElementsAre(2, 2));
}

TEST(TensorfileTorchTest, EmptyAndScalar) {
  const at::Tensor empty = ToTorch(Tensor::Zeros(DType::kF32, {0, 3}));
  EXPECT_THAT(empty.sizes().vec(), ElementsAre(0, 3));
  EXPECT_EQ(FromTorch(empty).num_elements(), 0);
  EXPECT_EQ(ToTorch(Tensor::Scalar<int64_t>(7)).item<int64_t>(), 7);
}

TEST(TensorfileTorchTest, TypesMapBothWays) {
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kF16, DType::kBF16, DType::kI32,
                            DType::kF32, DType::kI64, DType::kF64}) {
    EXPECT_EQ(DTypeOfTorch(TorchType(dtype)), dtype) << DTypeName(dtype);
    EXPECT_EQ(ToTorch(Tensor::Zeros(dtype, {2})).element_size(), ByteSize(dtype)) << DTypeName(dtype);
  }
}

TEST(TensorfileTorchDeathTest, RefusesTypesThatAreMissing) {
  EXPECT_DEATH(TorchType(DType::kU32), "LibTorch has no type U32");
  EXPECT_DEATH(DTypeOfTorch(at::kComplexFloat), "no tensor file type");
}

}  // namespace
}  // namespace rutile
