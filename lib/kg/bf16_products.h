// Products of fp32 matrices whose factors are rounded to bfloat16 first, summed in fp32: what mixed precision means.
//
// Factors are rounded (to nearest, ties to even) while they are packed, so that no copies of them exist. Every machine
// can do it; those with AVX512-BF16 about twice as fast as fp32 products, others more slowly than these (CpuBf16...).
// Pairs of products are added before they meet the sum, whose rounding differs between machines. One thread; a part of
// a product has the bits of the whole one's.

#ifndef RUTILE_LIB_KG_BF16_PRODUCTS_H_
#define RUTILE_LIB_KG_BF16_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "lib/kg/matrix_view.h"

namespace rutile {

class Bf16Products {
 public:
  // fast: use AVX512-BF16 where the machine has it.
  explicit Bf16Products(bool fast = true);

  bool fast() const { return fast_; }

  // out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
  void Multiply(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride);

 private:
  const bool fast_;
  std::vector<uint32_t> left_;  // packed rows of a
};

}  // namespace rutile

#endif  // RUTILE_LIB_KG_BF16_PRODUCTS_H_
