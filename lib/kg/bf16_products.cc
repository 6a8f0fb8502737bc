#include "lib/kg/bf16_products.h"

#include <algorithm>
#include <cstring>

#include "lib/base/cpu_bf16.h"
#include "lib/base/logging.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define RUTILE_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define RUTILE_INLINE inline __attribute__((always_inline))
#else
#define RUTILE_BF16
#define RUTILE_INLINE inline
#endif

namespace rutile {
namespace {

// A tile of the result: 8 rows and two vectors of 16 columns are 16 registers of sums.
constexpr int64_t kRows = 8;
constexpr int64_t kColumns = 32;
// Of the sums at one time: a panel of the right factor, 16 KB, is read from the first cache.
constexpr int64_t kDepth = 256;
// Of the left factor at one time: 256 KB, in the second.
constexpr int64_t kHeight = 512;

uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
float FloatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// Rounded; in the upper half. NaN of any bits stays one, as what is added ends in its mantissa or its sign.
RUTILE_INLINE uint32_t Round(uint32_t bits) {
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return (bits & 0x7fffffff) > 0x7f800000 ? bits | 0x400000 : rounded;
}
RUTILE_INLINE uint32_t Pair(uint32_t first, uint32_t second) {
  return Round(first) >> 16 | (Round(second) & 0xffff0000);
}

// A tile of the result.
struct Tile {
  const uint32_t *left, *right;  // [pairs, kRows], [pairs, kColumns]
  int64_t pairs;
  int64_t rows, columns;  // that exist
  bool add;
  float* out;
  int64_t stride;
};

// packed[p * W + c] = numbers 2 p and 2 p + 1 of line c, for `lines` <= W lines of `depth` numbers; zeros where there
// is no line or number. along: from one number of a line to the next, across: to the next line; one of both is 1. May
// write beyond the pairs, up to whole fours of them.
struct Panel {
  const float* from;
  int64_t lines, depth, along, across;

  int64_t pairs() const { return (depth + 1) / 2; }
};

// Any machine. Says what the other does.
struct Portable {
  template <int64_t W>
  static void Pack(const Panel& panel, uint32_t* packed) {
    const auto number = [&panel](int64_t c, int64_t i) {
      return c < panel.lines && i < panel.depth ? BitsOf(panel.from[c * panel.across + i * panel.along]) : 0;
    };
    for (int64_t p = 0; p < panel.pairs(); ++p) {
      for (int64_t c = 0; c < W; ++c) packed[p * W + c] = Pair(number(c, 2 * p), number(c, 2 * p + 1));
    }
  }

  static void Multiply(const Tile& tile) {
    float sums[kRows][kColumns] = {};
    for (int64_t p = 0; p < tile.pairs; ++p) {
      for (int64_t r = 0; r < kRows; ++r) {
        const uint32_t a = tile.left[p * kRows + r];
        const float a0 = FloatOf(a << 16), a1 = FloatOf(a & 0xffff0000);
        for (int64_t c = 0; c < kColumns; ++c) {
          const uint32_t b = tile.right[p * kColumns + c];
          sums[r][c] += a0 * FloatOf(b << 16) + a1 * FloatOf(b & 0xffff0000);
        }
      }
    }
    for (int64_t r = 0; r < tile.rows; ++r) {
      float* const out = tile.out + r * tile.stride;
      for (int64_t c = 0; c < tile.columns; ++c) out[c] = (tile.add ? out[c] : 0) + sums[r][c];
    }
  }
};

#if defined(__x86_64__)
struct Avx512 {
  template <int64_t W>
  RUTILE_BF16 static inline void Pack(const Panel& panel, uint32_t* packed) {
    if (panel.across == 1) {
      PackAcross<W>(panel, packed);
    } else {
      PackAlong<W>(panel, packed);
    }
  }

  static uint16_t Mask(int64_t count) {
    return static_cast<uint16_t>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
  }

  // Two rows of numbers become one of pairs: converted beside each other, then interleaved.
  template <int64_t W>
  RUTILE_BF16 static inline void PackAcross(const Panel& panel, uint32_t* packed) {
    constexpr int64_t kLanes = W < 16 ? W : 16;
    alignas(64) uint16_t order[32];
    for (int i = 0; i < 16; ++i) {
      order[2 * i] = static_cast<uint16_t>(i);
      order[2 * i + 1] = static_cast<uint16_t>(16 + i);
    }
    const __m512i interleaved = _mm512_load_si512(order);
    const __mmask16 stored = Mask(kLanes);
    __mmask16 masks[W / kLanes];
    for (int64_t v = 0; v < W / kLanes; ++v) masks[v] = Mask(std::min(kLanes, panel.lines - v * kLanes));
    for (int64_t p = 0; p < panel.pairs(); ++p, packed += W) {
      const float* const first = panel.from + 2 * p * panel.along;
      const bool both = 2 * p + 1 < panel.depth;
      for (int64_t v = 0; v < W / kLanes; ++v) {
        const __m512 a = _mm512_maskz_loadu_ps(masks[v], first + v * kLanes);
        const __m512 b = both ? _mm512_maskz_loadu_ps(masks[v], first + panel.along + v * kLanes) : _mm512_setzero_ps();
        const __m512i pairs = _mm512_permutexvar_epi16(interleaved, (__m512i)_mm512_cvtne2ps_pbh(b, a));
        _mm512_mask_storeu_epi32(packed + v * kLanes, stored, pairs);
      }
    }
  }

  // Lines become pairs as they are, and are then turned, 4 x 4 of them at a time.
  template <int64_t W>
  RUTILE_BF16 static inline void PackAlong(const Panel& panel, uint32_t* packed) {
    alignas(64) uint32_t line[4][kDepth / 2];
    for (int64_t c = 0; c < W; c += 4) {
      for (int64_t l = 0; l < 4; ++l) {
        const float* const from = panel.from + (c + l) * panel.across;
        const int64_t depth = c + l < panel.lines ? panel.depth : 0;
        for (int64_t i = 0; i < panel.depth; i += 32) {
          const __m512 a = _mm512_maskz_loadu_ps(Mask(depth - i), from + i);
          const __m512 b = _mm512_maskz_loadu_ps(Mask(depth - i - 16), from + i + 16);
          _mm512_store_si512(line[l] + i / 2, (__m512i)_mm512_cvtne2ps_pbh(b, a));
        }
      }
      for (int64_t p = 0; p < panel.pairs(); p += 4) {
        __m128 rows[4];
        for (int l = 0; l < 4; ++l) rows[l] = _mm_castsi128_ps(_mm_load_si128((const __m128i*)(line[l] + p)));
        _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
        for (int l = 0; l < 4; ++l) _mm_storeu_ps(reinterpret_cast<float*>(packed + (p + l) * W + c), rows[l]);
      }
    }
  }

  RUTILE_BF16 static inline void Multiply(const Tile& tile) {
    __m512 sums[kRows][2];
    for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
    const uint32_t *left = tile.left, *right = tile.right;
    for (int64_t p = 0; p < tile.pairs; ++p, left += kRows, right += kColumns) {
      const __m512bh b0 = (__m512bh)_mm512_loadu_si512(right), b1 = (__m512bh)_mm512_loadu_si512(right + 16);
      for (int r = 0; r < kRows; ++r) {
        const __m512bh a = (__m512bh)_mm512_set1_epi32(static_cast<int>(left[r]));
        sums[r][0] = _mm512_dpbf16_ps(sums[r][0], a, b0);
        sums[r][1] = _mm512_dpbf16_ps(sums[r][1], a, b1);
      }
    }
    const __mmask16 masks[2] = {Mask(tile.columns), Mask(tile.columns - 16)};
    for (int r = 0; r < kRows; ++r) {
      if (r >= tile.rows) break;
      float* const out = tile.out + r * tile.stride;
      for (int v = 0; v < 2; ++v) {
        const __m512 before = tile.add ? _mm512_maskz_loadu_ps(masks[v], out + 16 * v) : _mm512_setzero_ps();
        _mm512_mask_storeu_ps(out + 16 * v, masks[v], _mm512_add_ps(before, sums[r][v]));
      }
    }
  }
};
#endif

struct Problem {
  MatrixView<float> a, b;
  bool add;
  float* out;
  int64_t stride;
  uint32_t* left;
};

RUTILE_INLINE const float* At(const MatrixView<float>& m, int64_t row, int64_t column) {
  return m.data + (m.transposed ? column * m.stride + row : row * m.stride + column);
}

template <class Machine>
RUTILE_INLINE void MultiplyAll(const Problem& problem) {
  const MatrixView<float>&a = problem.a, &b = problem.b;
  const int64_t m = a.height(), n = b.width(), k = a.width();
  alignas(64) uint32_t right[kDepth / 2 * kColumns];
  for (int64_t row = 0; row < m; row += kHeight) {
    const int64_t height = std::min(kHeight, m - row);
    for (int64_t first = 0; first < k; first += kDepth) {
      const int64_t depth = std::min(kDepth, k - first), pairs = (depth + 1) / 2;
      for (int64_t r = 0; r < height; r += kRows) {
        const Panel panel = {At(a, row + r, first), std::min(kRows, height - r), depth, a.transposed ? a.stride : 1,
                             a.transposed ? 1 : a.stride};
        Machine::template Pack<kRows>(panel, problem.left + r * pairs);
      }
      for (int64_t column = 0; column < n; column += kColumns) {
        const int64_t columns = std::min(kColumns, n - column);
        const Panel panel = {At(b, first, column), columns, depth, b.transposed ? 1 : b.stride,
                             b.transposed ? b.stride : 1};
        Machine::template Pack<kColumns>(panel, right);
        for (int64_t r = 0; r < height; r += kRows) {
          Machine::Multiply(Tile{problem.left + r * pairs, right, pairs, std::min(kRows, height - r), columns,
                                 problem.add || first > 0, problem.out + (row + r) * problem.stride + column,
                                 problem.stride});
        }
      }
    }
  }
}

#if defined(__x86_64__)
RUTILE_BF16 void MultiplyFast(const Problem& problem) { MultiplyAll<Avx512>(problem); }
#endif

bool HasBf16() {
#if defined(__x86_64__)
  return !CpuBf16Instructions().empty() && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}

}  // namespace

Bf16Products::Bf16Products(bool fast) : fast_(fast && HasBf16()), left_((kHeight + kRows) * (kDepth / 2)) {}

void Bf16Products::Multiply(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out,
                            int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  const Problem problem = {a, b, add, out, stride, left_.data()};
  if (a.width() == 0 && !add) {
    for (int64_t r = 0; r < a.height(); ++r) std::fill_n(out + r * stride, b.width(), 0.0f);
  }
#if defined(__x86_64__)
  if (fast_) return MultiplyFast(problem);
#endif
  MultiplyAll<Portable>(problem);
}

}  // namespace rutile
