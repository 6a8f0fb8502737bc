// Multiplies bfloat16 matrices in strips of the result, for machines with vector instructions. A machine defines how it
// packs pairs of numbers, and how it multiplies a strip.

#ifndef RUTILE_LIB_MATRIX_BF16_BF16_STRIPS_H_
#define RUTILE_LIB_MATRIX_BF16_BF16_STRIPS_H_

#include <algorithm>
#include <cstdint>

#include "lib/matrix/bf16/bf16_machines.h"
#include "lib/matrix/matrix_view.h"

namespace rutile::bf16_strips {

// Size of a tile of the result: 8 rows of at most three vectors of 16 columns are 24 registers of sums.
constexpr int64_t kRows = 8;
constexpr int64_t kLanes = 16;
constexpr int64_t kVecs = 3;
// Number of terms at a time: a panel of the right factor, 24 KB, then stays in the first-level cache.
constexpr int64_t kDepth = 256;
constexpr int64_t kPairs = kDepth / 2;
// Number of rows of the left factor at a time: 256 KB, in the second-level cache.
constexpr int64_t kHeight = 512;

// A strip of the result, `vecs` vectors wide.
struct Strip {
  const uint32_t* left;  // pairs of numbers of all rows
  int64_t row_step, pair_step;
  const uint32_t* right;  // [pairs, vecs * kLanes]
  int64_t vecs;
  int64_t pairs, rows, columns;  // existing ones, without padding
  bool add;
  float* out;
  int64_t stride;
};

// Computes the product. It is inline, so that it is compiled for the machine of its caller.
template <class Machine>
inline __attribute__((always_inline)) void MultiplyAll(const Bf16Problem& problem, Bf16Memory* memory) {
  const MatrixView<float>&a = problem.a, &b = problem.b;
  const int64_t m = a.height(), n = b.width(), k = a.width();
  alignas(64) uint32_t right[kPairs * kVecs * kLanes];
  uint32_t* const left = memory->Take(kHeight * kPairs);
  Strip strip;
  strip.left = left;
  strip.right = right;
  strip.stride = problem.stride;
  for (int64_t row = 0; row < m; row += kHeight) {
    strip.rows = std::min(kHeight, m - row);
    for (int64_t first = 0; first < k; first += kDepth) {
      const int64_t depth = std::min(kDepth, k - first);
      strip.pairs = (depth + 1) / 2;
      strip.add = problem.add || first > 0;
      if (a.transposed) {
        strip.row_step = 1, strip.pair_step = strip.rows;
        Machine::PackAcross({a.At(row, first), strip.rows, depth, a.stride, 1}, strip.rows, left);
      } else {
        strip.row_step = kPairs, strip.pair_step = 1;
        Machine::PackLines({a.At(row, first), strip.rows, depth, 1, a.stride}, left);
      }
      for (int64_t column = 0; column < n; column += strip.columns) {
        // Four vectors are processed as two and two, because a single one waits for its loads.
        const int64_t vecs = (n - column + kLanes - 1) / kLanes;
        strip.vecs = vecs == 4 ? 2 : std::min(kVecs, vecs);
        strip.columns = std::min(strip.vecs * kLanes, n - column);
        strip.out = problem.out + row * problem.stride + column;
        if (b.transposed) {
          Machine::PackAlong({b.At(first, column), strip.columns, depth, 1, b.stride}, strip.vecs * kLanes, right);
        } else {
          Machine::PackAcross({b.At(first, column), strip.columns, depth, b.stride, 1}, strip.vecs * kLanes, right);
        }
        Machine::Multiply(strip);
      }
    }
  }
}

}  // namespace rutile::bf16_strips

#endif  // RUTILE_LIB_MATRIX_BF16_BF16_STRIPS_H_
