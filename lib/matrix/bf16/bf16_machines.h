// The implementations behind bf16_products.h, one for each kind of machine. They differ only in the order in which
// terms are added.

#ifndef RUTILE_LIB_MATRIX_BF16_BF16_MACHINES_H_
#define RUTILE_LIB_MATRIX_BF16_BF16_MACHINES_H_

#include <cstdint>

#include "lib/machine/aligned_buffer.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

// A product out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. Sizes must agree, and none is 0.
// parts: how many numbers of bfloat16 represent a factor (bf16_products.h).
struct Bf16Problem {
  MatrixView<float> a, b;
  bool add = false;
  float* out = nullptr;
  int64_t stride = 0;
  int parts = 1;
};

// Memory for packed factors, which grows as needed and is never freed.
using Bf16Memory = AlignedBuffer<uint32_t>;

// Works on any machine. This function and MultiplyBf16Avx512 handle one part only.
void MultiplyBf16Portable(const Bf16Problem& problem, Bf16Memory* memory);

// True if this machine has the instructions and the process may use them. Otherwise the functions below do nothing.
bool HasBf16Avx512();
void MultiplyBf16Avx512(const Bf16Problem& problem, Bf16Memory* memory);
// AMX handles one to three parts.
bool HasBf16Amx();
void MultiplyBf16Amx(const Bf16Problem& problem, Bf16Memory* memory);

// A product of packed factors, which may be used in several products. It has the bits of MultiplyBf16Amx. packed:
// Bf16AmxWords words, 64-byte aligned; lines are the rows of a left factor or the columns of a right one, and depth is
// the number of terms.
struct Bf16PackedProblem {
  const uint32_t *left, *right;
  int64_t rows, columns, depth;  // none is 0
  bool add = false;
  float* out = nullptr;
  int64_t stride = 0;
  int parts = 1;
};
int64_t Bf16AmxWords(int64_t lines, int64_t depth, int parts);
void PackBf16AmxLeft(const MatrixView<float>& a, int parts, uint32_t* packed);
void PackBf16AmxRight(const MatrixView<float>& b, int parts, uint32_t* packed);
void MultiplyBf16AmxPacked(const Bf16PackedProblem& problem);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_BF16_BF16_MACHINES_H_
