// Products of fp32 matrices whose factors are rounded to bfloat16 first, summed in fp32: what mixed precision means. Or
// whose factors are several numbers of bfloat16 each, one rounded and each other what rounding left:
//
//   two parts    17 bits of a factor. All but the product of both rests is summed, which is wrong by 2^-15 of each
//                |a b| at most. PyTorch's name for it is float32_matmul_precision "high".
//   three parts  all 24 bits. The six products of which both parts matter are summed; what is left out is 2^-23 of each
//                |a b| at most. Results are as near to the exact ones as those of fp32's own multiply-adds (tested).
//
// Beyond 3.38e38, where a number rounds to infinity, the result of several parts is NaN.
//
// Factors are rounded (to nearest, ties to even) while they are packed, so that no copies of them exist. Every machine
// can do it: with AMX several times as fast as fp32 products; with AVX512-BF16 alone twice as fast on AMD's Zen 4, but
// half as fast on Intel's, whose unit for it is narrow; without either still more slowly (CpuBf16Instructions). In
// which order terms are added, and rounded, differs between machines: pairs of products are added first, with AMX the
// even and the odd terms of each 32. AVX512-BF16 and AMX take denormal factors for zeros, and make denormal sums zeros
// (below 1.2e-38), so that a third part keeps fewer digits where |x| < 1e-33. The other forms copy parts, and are for
// tests. One thread; a part of a product has the bits of the whole one's.

#ifndef RUTILE_LIB_MATRIX_BF16_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_BF16_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/matrix/bf16_machines.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

enum class Bf16Form { kAmx, kAvx512, kPortable };

// "AMX-BF16", "AVX512-BF16", "portable".
absl::string_view Bf16FormName(Bf16Form form);

// Those that this machine has and this process may use, the fastest first; the last is kPortable, which says what the
// others do. The first call asks for permission to use AMX (lib/base/amx_permission.h).
std::vector<Bf16Form> Bf16Forms();

constexpr int kMostBf16Parts = 3;

class Bf16Products {
 public:
  // The machine's fastest. parts: numbers of bfloat16 that stand for a factor, 1 to kMostBf16Parts.
  explicit Bf16Products(int parts = 1);
  // CHECK-fails for what the machine has not.
  explicit Bf16Products(Bf16Form form, int parts = 1);

  Bf16Form form() const { return form_; }

  // out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
  void Multiply(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride);

 private:
  const Bf16Form form_;
  const int parts_;
  Bf16Memory memory_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_BF16_PRODUCTS_H_
