// Multiplies fp32 matrices with factors rounded to bfloat16 and sums in fp32, which is what mixed precision means.
// Alternatively each factor is several numbers of bfloat16: one rounded, each other the rest that rounding left.
//
//   two parts    17 bits of a factor. All products but that of both rests are summed; the error is at most 2^-15 of
//                each |a b|. PyTorch calls it float32_matmul_precision "high".
//   three parts  all 24 bits. The six products in which both parts matter are summed; the others are at most 2^-23 of
//                each |a b|. Results are as accurate as those of fp32 multiply-adds (tested).
//
// Numbers above 3.38e38 round to infinity; with several parts the result is then NaN.
//
// Factors are rounded (to nearest, ties to even) while they are packed, so no rounded copies exist. Every machine can
// do it: with AMX several times as fast as fp32 products; with only AVX512-BF16 twice as fast on AMD's Zen 4, but half
// as fast on Intel's, whose unit for it is narrow; without either still more slowly (CpuBf16Instructions). Machines
// differ in the order in which terms are added and rounded: pairs of products are added first, on AMX the even and the
// odd terms of each 32. AVX512-BF16 and AMX treat denormal factors and sums (below 1.2e-38) as zero, so that a third
// part has fewer digits if |x| < 1e-33. With several parts, the forms other than AMX copy them, and are for tests. Runs
// on one thread; a part of a product has the bits of the whole one.
//
//   Bf16Products products;
//   products.Multiply({a, m, k, k}, {b, k, n, n}, /*add=*/false, out, /*stride=*/n);

#ifndef RUTILE_LIB_MATRIX_BF16_BF16_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_BF16_BF16_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/matrix/bf16/bf16_machines.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

// Implementations, by instruction set.
enum class Bf16Form { kAmx, kAvx512, kPortable };

// Returns "AMX-BF16", "AVX512-BF16" or "portable".
absl::string_view Bf16FormName(Bf16Form form);

// Returns the forms that this machine has and this process may use, the fastest first. The last is kPortable, which
// defines the result of the others. The first call asks for permission to use AMX (lib/machine/amx_permission.h).
std::vector<Bf16Form> Bf16Forms();

constexpr int kMostBf16Parts = 3;

// Products in one form and precision. One thread at a time may use an object.
class Bf16Products {
 public:
  // Uses the machine's fastest form. parts: how many numbers of bfloat16 represent a factor, 1 to kMostBf16Parts.
  explicit Bf16Products(int parts = 1);
  // Uses the given form; CHECK-fails if the machine lacks it.
  explicit Bf16Products(Bf16Form form, int parts = 1);

  Bf16Form form() const { return form_; }

  // Computes out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails if sizes disagree.
  void Multiply(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride);

 private:
  const Bf16Form form_;
  const int parts_;
  Bf16Memory memory_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_BF16_BF16_PRODUCTS_H_
