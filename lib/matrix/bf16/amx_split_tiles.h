// Multiplies factors in two parts on AMX: x = x' + x'', both of bfloat16, represent 17 bits of x. All products but x''
// y'' are summed in fp32, which is an error of 2^-15 of |x y|. Included only by .cc files; empty on other processors.

#ifndef RUTILE_LIB_MATRIX_BF16_AMX_SPLIT_TILES_H_
#define RUTILE_LIB_MATRIX_BF16_AMX_SPLIT_TILES_H_

#include <algorithm>
#include <cstdint>

#include "lib/matrix/bf16/amx_tiles.h"

#if defined(__x86_64__)
namespace rutile::amx {

// A step of the sums is 32 numbers. This is the number of steps at a time: their part of two columns of tiles of the
// right factor, 32 KB, stays in the first-level cache.
constexpr int64_t kSteps = 8;
// Words in a line of the left factor: [step][rounded, rest] of 32 numbers.
constexpr int64_t kLeftWords = kSteps * 2 * kWords;

// The right factor [depth, n], packed: for each group of steps, pair of columns of tiles, step, column and part there
// is a tile [pair of numbers, column].
struct Right {
  const uint32_t* tiles;  // Put writes to them
  int64_t columns;        // number of columns of tiles
  int64_t parts;          // 2, or 1 for the rounded part only
  int64_t all_steps;      // number of steps in the depth

  static int64_t Words(int64_t columns, int64_t parts, int64_t steps) { return columns * parts * steps * kTile; }

  // Returns the tiles of a pair of columns. first: the step. column: even.
  const uint32_t* At(int64_t first, int64_t steps, int64_t column) const {
    return tiles + (first * columns + steps * column) * parts * kTile;
  }
  // Stores x, number `number` of a step, in column j of the matrix.
  void Put(int64_t j, int64_t step, int64_t number, float x) const {
    const int64_t column = j / kLines, even = column / 2 * 2, width = std::min<int64_t>(2, columns - even);
    const int64_t group = step / kSteps * kSteps, steps = std::min(kSteps, all_steps - group);
    uint32_t* const pair = const_cast<uint32_t*>(At(group, steps, even));
    uint32_t* const tile = pair + ((step - group) * width + column - even) * parts * kTile;
    parts == 2 ? PutRight<2>(tile, number, j % kLines, x) : PutRight<1>(tile, number, j % kLines, x);
  }
};

// Stores 32 numbers in a line of the left factor.
RUTILE_PACK RUTILE_INLINE void PutLeft(__m512 first, __m512 second, uint32_t* left) {
  const __m512i rounded = Rounded(first, second);
  _mm512_store_si512(left, rounded);
  _mm512_store_si512(left + kWords,
                     Rounded(_mm512_sub_ps(first, FirstOf(rounded)), _mm512_sub_ps(second, SecondOf(rounded))));
}

// Adds left * right over some steps to the sums of R x C tiles. `right` is that of this pair of columns.
template <int R, int C, int kParts>
RUTILE_TILES RUTILE_INLINE void AddTiles(const uint32_t* left, const uint32_t* right, int64_t steps, float* sums,
                                         int64_t stride) {
  constexpr int64_t kLeftBytes = kLeftWords * sizeof(uint32_t);
  const int64_t bytes = stride * static_cast<int64_t>(sizeof(float));
  const uint32_t* const lower = left + kLines * kLeftWords;
  float* const lower_sums = sums + kLines * stride;
  RUTILE_MEMORY;
  _tile_loadd(0, sums, bytes);
  if constexpr (C > 1) _tile_loadd(1, sums + kLines, bytes);
  if constexpr (R > 1) _tile_loadd(2, lower_sums, bytes);
  if constexpr (R > 1 && C > 1) _tile_loadd(3, lower_sums + kLines, bytes);
    // Tiles 4 and 5 times 6 and 7.
#define RUTILE_MULTIPLY                         \
  _tile_dpbf16ps(0, 4, 6);                      \
  if constexpr (C > 1) _tile_dpbf16ps(1, 4, 7); \
  if constexpr (R > 1) _tile_dpbf16ps(2, 5, 6); \
  if constexpr (R > 1 && C > 1) _tile_dpbf16ps(3, 5, 7)
  for (int64_t s = 0; s < steps; ++s, right += C * kParts * kTile) {
    const uint32_t *const a = left + s * 2 * kWords, *const b = lower + s * 2 * kWords;
    _tile_loadd(6, right, kLineBytes);
    if constexpr (C > 1) _tile_loadd(7, right + kParts * kTile, kLineBytes);
    if constexpr (kParts > 1) {
      _tile_loadd(4, a + kWords, kLeftBytes);
      if constexpr (R > 1) _tile_loadd(5, b + kWords, kLeftBytes);
      RUTILE_MULTIPLY;
    }
    _tile_loadd(4, a, kLeftBytes);
    if constexpr (R > 1) _tile_loadd(5, b, kLeftBytes);
    RUTILE_MULTIPLY;
    if constexpr (kParts > 1) {
      _tile_loadd(6, right + kTile, kLineBytes);
      if constexpr (C > 1) _tile_loadd(7, right + (kParts + 1) * kTile, kLineBytes);
      RUTILE_MULTIPLY;
    }
  }
#undef RUTILE_MULTIPLY
  _tile_stored(0, sums, bytes);
  if constexpr (C > 1) _tile_stored(1, sums + kLines, bytes);
  if constexpr (R > 1) _tile_stored(2, lower_sums, bytes);
  if constexpr (R > 1 && C > 1) _tile_stored(3, lower_sums + kLines, bytes);
  RUTILE_MEMORY;
}

template <int C, int kParts>
RUTILE_TILES inline void AddColumns(const uint32_t* left, int64_t examples, const uint32_t* right, int64_t steps,
                                    float* sums, int64_t stride) {
  int64_t e = 0;
  for (; e + 2 * kLines <= examples; e += 2 * kLines) {
    AddTiles<2, C, kParts>(left + e * kLeftWords, right, steps, sums + e * stride, stride);
  }
  for (; e < examples; e += kLines) {
    AddTiles<1, C, kParts>(left + e * kLeftWords, right, steps, sums + e * stride, stride);
  }
}

// Adds left * right. examples: number of lines of the left factor, a multiple of whole tiles. sums: those of the first
// column.
template <int kParts>
inline void AddProduct(const uint32_t* left, int64_t examples, const Right& right, int64_t first, int64_t steps,
                       float* sums, int64_t stride) {
  for (int64_t column = 0; column < right.columns; column += 2) {
    const uint32_t* const tiles = right.At(first, steps, column);
    if (column + 2 <= right.columns) {
      AddColumns<2, kParts>(left, examples, tiles, steps, sums + column * kLines, stride);
    } else {
      AddColumns<1, kParts>(left, examples, tiles, steps, sums + column * kLines, stride);
    }
  }
}

}  // namespace rutile::amx

#endif
#endif  // RUTILE_LIB_MATRIX_BF16_AMX_SPLIT_TILES_H_
