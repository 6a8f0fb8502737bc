// How much products of fp32 matrices may round their factors; sums are always fp32 (bf16_products.h).

#ifndef RUTILE_LIB_MATRIX_FACTOR_ROUNDING_H_
#define RUTILE_LIB_MATRIX_FACTOR_ROUNDING_H_

namespace rutile {

enum class FactorRounding {
  kNone,      // results are as accurate as those of fp32 multiply-adds
  kTwoParts,  // keeps 17 bits: two numbers of bfloat16 per factor, three products
  kBf16,      // keeps 8 bits
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_FACTOR_ROUNDING_H_
