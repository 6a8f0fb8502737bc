// Part of a factor on its way into packed pairs of bfloat16.

#ifndef RUTILE_LIB_MATRIX_BF16_PART_H_
#define RUTILE_LIB_MATRIX_BF16_PART_H_

#include <cstdint>

namespace rutile::bf16 {

// `lines` lines of `depth` numbers, `along` from one number of a line to the next and `across` to the next line; one of
// both is 1.
struct Part {
  const float* from;
  int64_t lines, depth, along, across;

  int64_t pairs() const { return (depth + 1) / 2; }
};

}  // namespace rutile::bf16

#endif  // RUTILE_LIB_MATRIX_BF16_PART_H_
