// Multiplies with AMX tiles of 16 lines of 32 numbers. Four tiles are sums of 32 x 32 results, two are of the left
// factor and two of the right one, whose numbers are in pairs. A step of 32 terms takes four products for four loads;
// with factors in two parts twelve for eight, in three parts 24 for fourteen.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/base/round_up.h"
#include "lib/machine/amx_permission.h"
#include "lib/matrix/bf16/amx_tiles.h"
#include "lib/matrix/bf16/bf16_machines.h"
#include "lib/matrix/bf16/bf16_part.h"

namespace rutile {

#if defined(__x86_64__)
namespace {

using amx::FirstOf;
using amx::kLines;
using amx::kNumbers;
using amx::kTile;
using amx::kWords;
using amx::Mask;
using amx::Rounded;
using amx::SecondOf;
using amx::StepsOf;
using amx::TileConfiguration;
using amx::TilesOf;
using amx::Transpose;
using bf16::Part;

// Terms, rows of the left factor and columns of the right one at a time: 256 and 512 KB of the second-level cache for
// each part, half as much with three parts.
constexpr int64_t kDepth = 512;
constexpr int64_t Height(int parts) { return parts > 2 ? 128 : 256; }
constexpr int64_t Width(int parts) { return parts > 2 ? 256 : 512; }

// One tile for each part.
template <int kParts>
using TilesOfParts = __m512i[kParts][16];

// Stores word `i` of the tiles, made of 32 numbers: each part is the rounded rest of the parts before.
template <int kParts>
RUTILE_PACK RUTILE_INLINE void PutParts(__m512 first, __m512 second, int i, TilesOfParts<kParts>& x) {
  x[0][i] = Rounded(first, second);
#pragma GCC unroll 2
  for (int p = 1; p < kParts; ++p) {
    first = _mm512_sub_ps(first, FirstOf(x[p - 1][i]));
    second = _mm512_sub_ps(second, SecondOf(x[p - 1][i]));
    x[p][i] = Rounded(first, second);
  }
}

// Loads one tile of lines whose numbers are adjacent: words x[part][line], zeros beyond the factor.
template <int kParts>
RUTILE_PACK RUTILE_INLINE void LoadAlong(const Part& part, int64_t line, int64_t number, TilesOfParts<kParts>& x) {
  const __mmask16 first = Mask(part.depth - number), second = Mask(part.depth - number - 16);
  const float* from = part.from + line * part.across + number;
  const int64_t lines = part.lines - line;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i, from += part.across) {
    const bool exists = i < lines;
    const __m512 a = _mm512_maskz_loadu_ps(exists ? first : 0, from);
    const __m512 b = _mm512_maskz_loadu_ps(exists ? second : 0, from + 16);
    PutParts<kParts>(a, b, i, x);
  }
}

// Loads one tile of numbers whose lines are adjacent: x[part][word].
template <int kParts>
RUTILE_PACK RUTILE_INLINE void LoadAcross(const Part& part, int64_t line, int64_t number, TilesOfParts<kParts>& x) {
  alignas(64) static constexpr uint16_t kOrder[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i interleaved = _mm512_load_si512(kOrder);
  const __mmask16 lines = Mask(part.lines - line);
  const float* from = part.from + number * part.along + line;
  const int64_t numbers = part.depth - number;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i, from += 2 * part.along) {
    const __m512 a = _mm512_maskz_loadu_ps(2 * i < numbers ? lines : 0, from);
    const __m512 b = _mm512_maskz_loadu_ps(2 * i + 1 < numbers ? lines : 0, from + part.along);
    PutParts<kParts>(a, b, i, x);
#pragma GCC unroll 3
    for (int p = 0; p < kParts; ++p) x[p][i] = _mm512_permutexvar_epi16(interleaved, x[p][i]);
  }
}

// Packs a tile of each part, as [line, word], or as [word, line] for the right factor.
template <bool kAlong, bool kRight, int kParts>
RUTILE_PACK RUTILE_INLINE void PackTile(const Part& part, int64_t line, int64_t number, uint32_t* packed) {
  TilesOfParts<kParts> x;
  if constexpr (kAlong) {
    LoadAlong<kParts>(part, line, number, x);
  } else {
    LoadAcross<kParts>(part, line, number, x);
  }
#pragma GCC unroll 3
  for (int p = 0; p < kParts; ++p) {
    if constexpr (kAlong == kRight) Transpose(x[p]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) _mm512_store_si512(packed + p * kTile + i * kWords, x[p][i]);
  }
}

// Packs all tiles: packed [lines / 16, depth / 32, parts], the first two rounded up. Memory is read in its order as far
// as tiles allow.
template <bool kAlong, bool kRight, int kParts>
RUTILE_PACK void PackTiles(const Part& part, uint32_t* packed) {
  const int64_t steps = StepsOf(part.depth);
  const auto pack = [&](int64_t line, int64_t number) RUTILE_PACK {
    uint32_t* const to = packed + (line / kLines * steps + number / kNumbers) * kParts * kTile;
    PackTile<kAlong, kRight, kParts>(part, line, number, to);
  };
  if constexpr (kAlong) {
    for (int64_t line = 0; line < part.lines; line += kLines) {
      for (int64_t number = 0; number < part.depth; number += kNumbers) pack(line, number);
    }
  } else {
    for (int64_t number = 0; number < part.depth; number += kNumbers) {
      for (int64_t line = 0; line < part.lines; line += kLines) pack(line, number);
    }
  }
}

template <bool kRight, int kParts>
void Pack(const Part& part, uint32_t* packed) {
  part.along == 1 ? PackTiles<true, kRight, kParts>(part, packed) : PackTiles<false, kRight, kParts>(part, packed);
}

// A block of the result.
struct Block {
  const uint32_t *left, *right;  // tiles
  int64_t steps;                 // number of tiles along the terms
  int64_t rows, columns;
  bool add;
  float* out;
  int64_t stride;
};

// Computes R x C tiles of the result; row and column count tiles. The old values of `out` are added last, when they
// have arrived from memory. With two parts, all products are summed but that of both rests; with three, all but the
// products of third parts with others than the first.
template <int R, int C, int kParts>
RUTILE_TILES void Tiles(const Block& block, int64_t row, int64_t column) {
  constexpr int64_t kBytes = kWords * sizeof(uint32_t), kWidthOfSums = C * 16;
  alignas(64) float sums[R * kLines * kWidthOfSums];
  const int64_t line = block.steps * kParts * kTile;
  const uint32_t *const a0 = block.left + row * line, *const a1 = a0 + line;
  const uint32_t *const b0 = block.right + column * line, *const b1 = b0 + line;
  const int64_t rows = std::min(R * kLines, block.rows - row * kLines);
  const int64_t columns = block.columns - column * kLines;
  float* out = block.out + row * kLines * block.stride + column * kLines;
  for (int64_t r = 0; r < rows; ++r) {
    __builtin_prefetch(out + r * block.stride, /*to write*/ 1);
    if constexpr (C > 1) __builtin_prefetch(out + r * block.stride + 16, 1);
  }
  RUTILE_MEMORY;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  // Parts of the left factor are in tiles 4 and 5, of the right one in 6 and 7.
#define RUTILE_LEFT(part)                        \
  _tile_loadd(4, a0 + i + part * kTile, kBytes); \
  if constexpr (R > 1) _tile_loadd(5, a1 + i + part * kTile, kBytes)
#define RUTILE_RIGHT(part)                       \
  _tile_loadd(6, b0 + i + part * kTile, kBytes); \
  if constexpr (C > 1) _tile_loadd(7, b1 + i + part * kTile, kBytes)
#define RUTILE_MULTIPLY                         \
  _tile_dpbf16ps(0, 4, 6);                      \
  if constexpr (C > 1) _tile_dpbf16ps(1, 4, 7); \
  if constexpr (R > 1) _tile_dpbf16ps(2, 5, 6); \
  if constexpr (R > 1 && C > 1) _tile_dpbf16ps(3, 5, 7)
  for (int64_t i = 0; i < line; i += kParts * kTile) {
    if constexpr (kParts > 2) {
      RUTILE_LEFT(2);
      RUTILE_RIGHT(0);
      RUTILE_MULTIPLY;
      RUTILE_LEFT(1);
      RUTILE_MULTIPLY;
      RUTILE_RIGHT(1);
      RUTILE_MULTIPLY;
      RUTILE_LEFT(0);
      RUTILE_MULTIPLY;
      RUTILE_RIGHT(2);
      RUTILE_MULTIPLY;
    } else {
      RUTILE_LEFT(0);
      if constexpr (kParts > 1) {
        RUTILE_RIGHT(1);
        RUTILE_MULTIPLY;
      }
    }
    RUTILE_RIGHT(0);
    RUTILE_MULTIPLY;
    if constexpr (kParts == 2) {
      RUTILE_LEFT(1);
      RUTILE_MULTIPLY;
    }
  }
#undef RUTILE_LEFT
#undef RUTILE_RIGHT
#undef RUTILE_MULTIPLY
  constexpr int64_t kSumBytes = kWidthOfSums * sizeof(float);
  _tile_stored(0, sums, kSumBytes);
  if constexpr (C > 1) _tile_stored(1, sums + 16, kSumBytes);
  if constexpr (R > 1) _tile_stored(2, sums + kLines * kWidthOfSums, kSumBytes);
  if constexpr (R > 1 && C > 1) _tile_stored(3, sums + kLines * kWidthOfSums + 16, kSumBytes);
  RUTILE_MEMORY;
  const __mmask16 masks[2] = {Mask(columns), Mask(columns - 16)};
  for (int64_t r = 0; r < rows; ++r, out += block.stride) {
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) {
      __m512 sum = _mm512_load_ps(sums + r * kWidthOfSums + c * 16);
      if (block.add) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(masks[c], out + c * 16), sum);
      _mm512_mask_storeu_ps(out + c * 16, masks[c], sum);
    }
  }
}

template <int R, int kParts>
RUTILE_INLINE void RowOfTiles(const Block& block, int64_t row) {
  const int64_t columns = (block.columns + kLines - 1) / kLines;
  int64_t column = 0;
  for (; column + 2 <= columns; column += 2) Tiles<R, 2, kParts>(block, row, column);
  if (column < columns) Tiles<R, 1, kParts>(block, row, column);
}

template <int kParts>
void MultiplyBlock(const Block& block) {
  const int64_t rows = TilesOf(block.rows);
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) RowOfTiles<2, kParts>(block, row);
  if (row < rows) RowOfTiles<1, kParts>(block, row);
}

template <int kParts>
void Multiply(const Bf16Problem& problem, Bf16Memory* memory) {
  const MatrixView<float>&a = problem.a, &b = problem.b;
  constexpr int64_t kHeight = Height(kParts), kWidth = Width(kParts);
  const int64_t m = a.height(), n = b.width(), k = a.width();
  const int64_t most = kParts * RoundUp(std::min(kDepth, k), kNumbers) / 2;  // words in a line
  const int64_t left_size = RoundUp(std::min(kHeight, m), kLines) * most;
  uint32_t* const left = memory->Take(left_size + RoundUp(std::min(kWidth, n), kLines) * most);
  uint32_t* const right = left + left_size;

  const TileConfiguration configuration;
  Block block;
  block.left = left;
  block.right = right;
  block.stride = problem.stride;
  for (int64_t first = 0; first < k; first += kDepth) {
    const int64_t depth = std::min(kDepth, k - first);
    block.steps = StepsOf(depth);
    block.add = problem.add || first > 0;
    int64_t packed_row = -1;
    for (int64_t column = 0; column < n; column += kWidth) {
      block.columns = std::min(kWidth, n - column);
      Pack<true, kParts>(
          {b.At(first, column), block.columns, depth, b.transposed ? 1 : b.stride, b.transposed ? b.stride : 1}, right);
      for (int64_t row = 0; row < m; row += kHeight) {
        block.rows = std::min(kHeight, m - row);
        if (packed_row != row) {
          Pack<false, kParts>(
              {a.At(row, first), block.rows, depth, a.transposed ? a.stride : 1, a.transposed ? 1 : a.stride}, left);
          packed_row = row;
        }
        block.out = problem.out + row * problem.stride + column;
        MultiplyBlock<kParts>(block);
      }
    }
  }
}

// Iterates over a completely packed factor: the tiles of kDepth numbers of all lines, then those of the next. Calls
// body(first number, numbers, words before them).
template <typename Body>
void ForDepths(int64_t depth, int64_t lines, int parts, const Body& body) {
  const int64_t tiles = TilesOf(lines);
  for (int64_t first = 0; first < depth; first += kDepth) {
    body(first, std::min(kDepth, depth - first), first / kNumbers * tiles * parts * kTile);
  }
}

template <bool kRight>
void PackAll(const MatrixView<float>& factor, int parts, uint32_t* packed) {
  // Lines are columns of the right factor, rows of the left one.
  const int64_t lines = kRight ? factor.width() : factor.height(), depth = kRight ? factor.height() : factor.width();
  const bool along = kRight == factor.transposed;
  ForDepths(depth, lines, parts, [&](int64_t first, int64_t count, int64_t words) {
    const float* const from = kRight ? factor.At(first, 0) : factor.At(0, first);
    const Part part = {from, lines, count, along ? 1 : factor.stride, along ? factor.stride : 1};
    if (parts == 1) return Pack<kRight, 1>(part, packed + words);
    parts == 2 ? Pack<kRight, 2>(part, packed + words) : Pack<kRight, 3>(part, packed + words);
  });
}

template <int kParts>
void MultiplyAll(const Bf16PackedProblem& problem) {
  constexpr int64_t kWidth = Width(kParts);
  const TileConfiguration configuration;
  int64_t right_words = 0;
  ForDepths(problem.depth, problem.rows, kParts, [&](int64_t first, int64_t count, int64_t words) {
    Block block;
    block.left = problem.left + words;
    block.steps = StepsOf(count);
    block.rows = problem.rows;
    block.add = problem.add || first > 0;
    block.stride = problem.stride;
    const int64_t line = block.steps * kParts * kTile;
    for (int64_t column = 0; column < problem.columns; column += kWidth) {
      block.right = problem.right + right_words + column / kLines * line;
      block.columns = std::min(kWidth, problem.columns - column);
      block.out = problem.out + column;
      MultiplyBlock<kParts>(block);
    }
    right_words += TilesOf(problem.columns) * line;
  });
}

}  // namespace

int64_t Bf16AmxWords(int64_t lines, int64_t depth, int parts) {
  return RoundUp(lines, kLines) * RoundUp(depth, kNumbers) / 2 * parts;
}

void PackBf16AmxLeft(const MatrixView<float>& a, int parts, uint32_t* packed) { PackAll<false>(a, parts, packed); }
void PackBf16AmxRight(const MatrixView<float>& b, int parts, uint32_t* packed) { PackAll<true>(b, parts, packed); }

void MultiplyBf16AmxPacked(const Bf16PackedProblem& problem) {
  if (problem.parts == 1) return MultiplyAll<1>(problem);
  problem.parts == 2 ? MultiplyAll<2>(problem) : MultiplyAll<3>(problem);
}

// Packing needs AVX512-BF16.
bool HasBf16Amx() { return HasBf16Avx512() && AmxIsPermitted(); }

void MultiplyBf16Amx(const Bf16Problem& problem, Bf16Memory* memory) {
  if (problem.parts == 1) return Multiply<1>(problem, memory);
  problem.parts == 2 ? Multiply<2>(problem, memory) : Multiply<3>(problem, memory);
}

#else
bool HasBf16Amx() { return false; }
void MultiplyBf16Amx(const Bf16Problem&, Bf16Memory*) {}
int64_t Bf16AmxWords(int64_t, int64_t, int) { return 0; }
void PackBf16AmxLeft(const MatrixView<float>&, int, uint32_t*) {}
void PackBf16AmxRight(const MatrixView<float>&, int, uint32_t*) {}
void MultiplyBf16AmxPacked(const Bf16PackedProblem&) {}
#endif

}  // namespace rutile
