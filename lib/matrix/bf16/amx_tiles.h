// Helpers of AMX kernels: tiles of 16 lines of 64 bytes, pairs of bfloat16, masks. Included only by .cc files, and
// empty on other processors.

#ifndef RUTILE_LIB_MATRIX_BF16_AMX_TILES_H_
#define RUTILE_LIB_MATRIX_BF16_AMX_TILES_H_

#if defined(__x86_64__)
// gcc 12's own headers make vectors of undefined values.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "lib/base/round_up.h"
#include "lib/matrix/bf16/bf16_number.h"

#define RUTILE_PACK __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define RUTILE_TILES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))
#define RUTILE_INLINE inline __attribute__((always_inline))
// gcc 12 does not know that tile instructions read and write memory.
#define RUTILE_MEMORY asm volatile("" : : : "memory")

namespace rutile::amx {

// Lines in a tile, words (pairs of numbers) in a line, and numbers in a line.
constexpr int64_t kLines = 16, kWords = 16, kNumbers = 32;
constexpr int64_t kTile = kLines * kWords;                 // words
constexpr int64_t kLineBytes = kWords * sizeof(uint32_t);  // of a line

// Returns how many tiles hold n lines, and how many steps of kNumbers a depth has.
inline int64_t TilesOf(int64_t n) { return CeilDivide(n, kLines); }
inline int64_t StepsOf(int64_t depth) { return CeilDivide(depth, kNumbers); }

// Stores x in a tile of a right factor, [pair of numbers, column], as number `number` and column `column`. With two
// parts, what rounding took off goes into the tile behind it.
template <int kParts>
inline void PutRight(uint32_t* tile, int64_t number, int64_t column, float x) {
  uint16_t* const to = reinterpret_cast<uint16_t*>(tile) + (number / 2 * kWords + column) * 2 + number % 2;
  to[0] = RoundToBf16(x);
  if constexpr (kParts == 2) to[2 * kTile] = RoundToBf16(x - FromBf16(to[0]));
}

RUTILE_PACK RUTILE_INLINE __mmask16 Mask(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// Rounds 32 numbers to bfloat16.
RUTILE_PACK RUTILE_INLINE __m512i Rounded(__m512 first, __m512 second) {
  return (__m512i)_mm512_cvtne2ps_pbh(second, first);
}

// Returns the rounded values of the first 16 numbers as floats.
RUTILE_PACK RUTILE_INLINE __m512 FirstOf(__m512i rounded) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(rounded)), 16));
}
RUTILE_PACK RUTILE_INLINE __m512 SecondOf(__m512i rounded) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(rounded, 1)), 16));
}

// Transposes 16 x 16 words: x[i] word j <-> x[j] word i.
RUTILE_PACK RUTILE_INLINE void Transpose(__m512i* x) {
  __m512i y[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  // x[4 g + c]: column c of each 128 bits, of lines 4 g to 4 g + 3.
#pragma GCC unroll 16
  for (int g = 0; g < 16; g += 4) {
    x[g] = _mm512_unpacklo_epi64(y[g], y[g + 2]);
    x[g + 1] = _mm512_unpackhi_epi64(y[g], y[g + 2]);
    x[g + 2] = _mm512_unpacklo_epi64(y[g + 1], y[g + 3]);
    x[g + 3] = _mm512_unpackhi_epi64(y[g + 1], y[g + 3]);
  }
#pragma GCC unroll 16
  for (int c = 0; c < 4; ++c) {
    y[c] = _mm512_shuffle_i32x4(x[c], x[4 + c], 0x44);
    y[4 + c] = _mm512_shuffle_i32x4(x[c], x[4 + c], 0xee);
    y[8 + c] = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0x44);
    y[12 + c] = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0xee);
  }
#pragma GCC unroll 16
  for (int c = 0; c < 4; ++c) {
    x[c] = _mm512_shuffle_i32x4(y[c], y[8 + c], 0x88);
    x[4 + c] = _mm512_shuffle_i32x4(y[c], y[8 + c], 0xdd);
    x[8 + c] = _mm512_shuffle_i32x4(y[4 + c], y[12 + c], 0x88);
    x[12 + c] = _mm512_shuffle_i32x4(y[4 + c], y[12 + c], 0xdd);
  }
}

// Configures the tiles of this thread while it exists: 64 bytes a line; tiles 0 to 5 have `lines` lines, tiles 6 and 7,
// for right factors, 16. Configurations of callers do not survive calls (the binary interface says so), and unused
// registers cost nothing in thread switches.
class TileConfiguration {
 public:
  RUTILE_TILES explicit TileConfiguration(int64_t lines = kLines) { Set(lines); }
  RUTILE_TILES ~TileConfiguration() { _tile_release(); }

  // Sets the number of lines; tiles become zero.
  RUTILE_TILES void Set(int64_t lines) {
    struct alignas(64) {
      uint8_t palette, start_row, reserved[14];
      uint16_t line_bytes[16];
      uint8_t lines[16];
    } config = {};
    config.palette = 1;
    for (int i = 0; i < 8; ++i) {
      config.line_bytes[i] = kLineBytes;
      config.lines[i] = static_cast<uint8_t>(i < 6 ? lines : kLines);
    }
    asm volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
  }
};

}  // namespace rutile::amx

#endif
#endif  // RUTILE_LIB_MATRIX_BF16_AMX_TILES_H_
