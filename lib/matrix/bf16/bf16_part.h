// Describes a part of a factor that is being packed into pairs of bfloat16.

#ifndef RUTILE_LIB_MATRIX_BF16_BF16_PART_H_
#define RUTILE_LIB_MATRIX_BF16_BF16_PART_H_

#include <cstdint>

namespace rutile::bf16 {

// `lines` lines of `depth` numbers, `along` apart within a line and `across` from a line to the next; one of the two is
// 1.
struct Part {
  const float* from;
  int64_t lines, depth, along, across;

  int64_t pairs() const { return (depth + 1) / 2; }
};

}  // namespace rutile::bf16

#endif  // RUTILE_LIB_MATRIX_BF16_BF16_PART_H_
