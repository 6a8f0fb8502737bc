// The forms of bf16_products.h, one for each kind of machine. All agree but for the order in which terms are added.

#ifndef RUTILE_LIB_MATRIX_BF16_MACHINES_H_
#define RUTILE_LIB_MATRIX_BF16_MACHINES_H_

#include <cstdint>
#include <vector>

#include "lib/matrix/matrix_view.h"

namespace rutile {

// out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`; sizes agree, and none is 0. parts: numbers of
// bfloat16 that stand for a factor (bf16_products.h).
struct Bf16Problem {
  MatrixView<float> a, b;
  bool add = false;
  float* out = nullptr;
  int64_t stride = 0;
  int parts = 1;
};

// Where factors are packed; grows to what a form needs, and stays.
using Bf16Memory = std::vector<uint32_t>;

// Any machine. This one and the next: one part.
void MultiplyBf16Portable(const Bf16Problem& problem, Bf16Memory* memory);

// Whether this machine can, and the process may. Elsewhere the functions beside them do nothing.
bool HasBf16Avx512();
void MultiplyBf16Avx512(const Bf16Problem& problem, Bf16Memory* memory);
// One part to three.
bool HasBf16Amx();
void MultiplyBf16Amx(const Bf16Problem& problem, Bf16Memory* memory);

// Factors that were packed, for several products: the bits of MultiplyBf16Amx. packed: Bf16AmxWords, 64-byte aligned;
// lines are the rows of a left factor, the columns of a right one, and depth is the number of terms.
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

#endif  // RUTILE_LIB_MATRIX_BF16_MACHINES_H_
