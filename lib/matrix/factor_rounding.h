// What products of fp32 matrices may leave out of their factors; sums are fp32 in any case (bf16_products.h).

#ifndef RUTILE_LIB_MATRIX_FACTOR_ROUNDING_H_
#define RUTILE_LIB_MATRIX_FACTOR_ROUNDING_H_

namespace rutile {

enum class FactorRounding {
  kNone,      // results are as near to the exact ones as those of fp32's own multiply-adds
  kTwoParts,  // 17 bits stay: two numbers of bfloat16 for each of fp32, three products
  kBf16,      // 8 bits stay
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_FACTOR_ROUNDING_H_
