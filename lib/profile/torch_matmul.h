// LibTorch's matrix product, for PeakOptions::matmul.

#ifndef RUTILE_LIB_PROFILE_TORCH_MATMUL_H_
#define RUTILE_LIB_PROFILE_TORCH_MATMUL_H_

namespace rutile {

// Multiplies two n x n matrices in fp32 or bfloat16 with all processors. False for bfloat16 where LibTorch would take
// far longer than in fp32, as it has no kernel for it.
bool TorchMatmul(int n, bool bf16);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_TORCH_MATMUL_H_
