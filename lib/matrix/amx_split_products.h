// Products of rows with held rows on AMX, nearly those of fp32: factors are two numbers of bfloat16 each.
//
//   out[i, j] = sum over l of a[i, l] held[j, l]
//
// wrong by 2^-15 of each |a held| at most (amx_split_tiles.h). A row has the same bits whatever rows are beside it.

#ifndef RUTILE_LIB_MATRIX_AMX_SPLIT_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_AMX_SPLIT_PRODUCTS_H_

#include <cstdint>

#include "lib/matrix/aligned_words.h"

namespace rutile {

class AmxSplitProducts {
 public:
  // Whether this machine can, and the process may.
  static bool IsPossible();

  // Copies held [n, depth], rows `stride` apart. CHECK-fails where IsPossible() is false.
  AmxSplitProducts(const float* held, int64_t n, int64_t depth, int64_t stride);

  // a [rows, depth], rows a_stride apart; out [rows, n], rows out_stride apart: is added to. memory: of the calling
  // thread.
  void Add(const float* a, int64_t rows, int64_t a_stride, float* out, int64_t out_stride, AlignedWords* memory) const;

 private:
  const int64_t n_, depth_;
  AlignedWords held_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_AMX_SPLIT_PRODUCTS_H_
