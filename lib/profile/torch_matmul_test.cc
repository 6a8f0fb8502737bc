#include "lib/profile/torch_matmul.h"

#include <gtest/gtest.h>

namespace rutile {
namespace {

TEST(TorchMatmulTest, MultipliesInFp32AndAnyHowOften) {
  EXPECT_TRUE(TorchMatmul(64, /*bf16=*/false));
  EXPECT_TRUE(TorchMatmul(64, /*bf16=*/false));
  EXPECT_TRUE(TorchMatmul(32, /*bf16=*/false));
}

TEST(TorchMatmulTest, Bf16IsAlwaysThereOrNever) {
  const bool has = TorchMatmul(64, /*bf16=*/true);
  EXPECT_EQ(TorchMatmul(32, /*bf16=*/true), has);
}

}  // namespace
}  // namespace rutile
