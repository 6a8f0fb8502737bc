// Multiplies rows with a stored matrix on AMX, nearly as accurately as fp32: each factor is two numbers of bfloat16.
//
//   out[i, j] = sum over l of a[i, l] b[j, l]
//
// The error is at most 2^-15 of each |a b| (amx_split_tiles.h). A row has the same bits whatever other rows are
// multiplied.
//
//   const AmxSplitProducts products(b, n, depth, /*stride=*/depth);
//   products.Add(a, rows, /*a_stride=*/depth, out, /*out_stride=*/n, &memory);

#ifndef RUTILE_LIB_MATRIX_BF16_AMX_SPLIT_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_BF16_AMX_SPLIT_PRODUCTS_H_

#include <cstdint>

#include "lib/machine/aligned_buffer.h"

namespace rutile {

// Products with one stored matrix. Several threads may use an object, each with its own `memory`.
class AmxSplitProducts {
 public:
  // True if this machine has AMX and the process may use it.
  static bool IsPossible();

  // Copies b [n, depth], rows `stride` apart. CHECK-fails if IsPossible() is false.
  AmxSplitProducts(const float* b, int64_t n, int64_t depth, int64_t stride);

  // Adds the products to out [rows, n], rows out_stride apart. a: [rows, depth], rows a_stride apart. memory: scratch
  // memory of the calling thread.
  void Add(const float* a, int64_t rows, int64_t a_stride, float* out, int64_t out_stride,
           AlignedBuffer<uint32_t>* memory) const;

 private:
  const int64_t n_, depth_;
  AlignedBuffer<uint32_t> b_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_BF16_AMX_SPLIT_PRODUCTS_H_
