#include "lib/kg/bf16_products.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

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

// A tile of the result: 8 rows of at most three vectors of 16 columns are 24 registers of sums.
constexpr int64_t kRows = 8;
constexpr int64_t kLanes = 16;
constexpr int64_t kVecs = 3;
// Of the sums at one time: a panel of the right factor, 24 KB, is read from the first cache.
constexpr int64_t kDepth = 256;
constexpr int64_t kPairs = kDepth / 2;
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

// What is packed: `lines` lines of `depth` numbers, `along` from one number of a line to the next and `across` to the
// next line; one of both is 1.
struct Part {
  const float* from;
  int64_t lines, depth, along, across;

  int64_t pairs() const { return (depth + 1) / 2; }
};

// A strip of the result: `vecs` vectors wide.
struct Strip {
  const uint32_t* left;  // pairs of all rows
  int64_t row_step, pair_step;
  const uint32_t* right;  // [pairs, vecs * kLanes]
  int64_t vecs;
  int64_t pairs, rows, columns;  // that exist
  bool add;
  float* out;
  int64_t stride;
};

// Any machine. Says what the other does.
struct Portable {
  static uint32_t PairOf(const Part& part, int64_t c, int64_t p) {
    const auto number = [&](int64_t i) {
      return c < part.lines && i < part.depth ? BitsOf(part.from[c * part.across + i * part.along]) : 0;
    };
    return Pair(number(2 * p), number(2 * p + 1));
  }

  // packed[p * width + c] = numbers 2 p and 2 p + 1 of line c; zeros where there is no line or number.
  static void PackAcross(const Part& part, int64_t width, uint32_t* packed) {
    for (int64_t p = 0; p < part.pairs(); ++p) {
      for (int64_t c = 0; c < width; ++c) packed[p * width + c] = PairOf(part, c, p);
    }
  }
  // The same, for lines whose numbers are next to each other; may write beyond the pairs, up to whole fours of them.
  static void PackAlong(const Part& part, int64_t width, uint32_t* packed) { PackAcross(part, width, packed); }
  // packed[c * kPairs + p], of such lines.
  static void PackLines(const Part& part, uint32_t* packed) {
    for (int64_t c = 0; c < part.lines; ++c) {
      for (int64_t p = 0; p < part.pairs(); ++p) packed[c * kPairs + p] = PairOf(part, c, p);
    }
  }

  static void Multiply(const Strip& strip) {
    const int64_t width = strip.vecs * kLanes;
    for (int64_t r = 0; r < strip.rows; ++r) {
      float sums[kVecs * kLanes] = {};
      for (int64_t p = 0; p < strip.pairs; ++p) {
        const uint32_t a = strip.left[r * strip.row_step + p * strip.pair_step];
        const float a0 = FloatOf(a << 16), a1 = FloatOf(a & 0xffff0000);
        for (int64_t c = 0; c < width; ++c) {
          const uint32_t b = strip.right[p * width + c];
          sums[c] += a0 * FloatOf(b << 16) + a1 * FloatOf(b & 0xffff0000);
        }
      }
      float* const out = strip.out + r * strip.stride;
      for (int64_t c = 0; c < strip.columns; ++c) out[c] = (strip.add ? out[c] : 0) + sums[c];
    }
  }
};

#if defined(__x86_64__)
// R rows and V vectors of the result. Sums are named by constants, not in loops: the compiler then keeps them in
// registers, all the time.
template <int R, int V>
struct Sums {
  __m512 sums[R * V];

  template <size_t... I>
  RUTILE_BF16 RUTILE_INLINE void Clear(std::index_sequence<I...>) {
    ((sums[I] = _mm512_setzero_ps()), ...);
  }
  template <size_t... I>
  RUTILE_BF16 RUTILE_INLINE void AddPair(const uint32_t* left, int64_t row_step, const uint32_t* right,
                                         std::index_sequence<I...>) {
    __m512bh b[V];
    for (int v = 0; v < V; ++v) b[v] = (__m512bh)_mm512_load_si512(right + v * kLanes);
    ((sums[I] = _mm512_dpbf16_ps(
          sums[I], (__m512bh)_mm512_set1_epi32(static_cast<int>(left[static_cast<int64_t>(I / V) * row_step])),
          b[I % V])),
     ...);
  }
  // out = sums, or += them. masks: [V], of the columns that exist.
  template <size_t... I>
  RUTILE_BF16 RUTILE_INLINE void Put(bool add, const __mmask16* masks, float* out, int64_t stride,
                                     std::index_sequence<I...>) const {
    if (add) {
      (_mm512_mask_storeu_ps(At<I>(out, stride), masks[I % V],
                             _mm512_add_ps(_mm512_maskz_loadu_ps(masks[I % V], At<I>(out, stride)), sums[I])),
       ...);
    } else {
      (_mm512_mask_storeu_ps(At<I>(out, stride), masks[I % V], sums[I]), ...);
    }
  }
  template <size_t... I>
  RUTILE_BF16 RUTILE_INLINE void Prefetch(float* out, int64_t stride, std::index_sequence<I...>) const {
    (__builtin_prefetch(At<I>(out, stride), /*to write*/ 1), ...);
  }
  template <size_t I>
  RUTILE_BF16 RUTILE_INLINE static float* At(float* out, int64_t stride) {
    return out + static_cast<int64_t>(I / V) * stride + static_cast<int64_t>(I % V) * kLanes;
  }
};

struct Avx512 {
  RUTILE_BF16 static inline __mmask16 Mask(int64_t count) {
    return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
  }

  // Two rows of numbers become one of pairs: converted beside each other, then interleaved.
  RUTILE_BF16 static inline void PackAcross(const Part& part, int64_t width, uint32_t* packed) {
    alignas(64) uint16_t order[32];
    for (int i = 0; i < 16; ++i) {
      order[2 * i] = static_cast<uint16_t>(i);
      order[2 * i + 1] = static_cast<uint16_t>(16 + i);
    }
    const __m512i interleaved = _mm512_load_si512(order);
    for (int64_t p = 0; p < part.pairs(); ++p, packed += width) {
      const float* const first = part.from + 2 * p * part.along;
      const bool both = 2 * p + 1 < part.depth;
      for (int64_t c = 0; c < width; c += kLanes) {
        const __mmask16 exist = Mask(part.lines - c);
        const __m512 a = _mm512_maskz_loadu_ps(exist, first + c);
        const __m512 b = both ? _mm512_maskz_loadu_ps(exist, first + part.along + c) : _mm512_setzero_ps();
        const __m512i pairs = _mm512_permutexvar_epi16(interleaved, (__m512i)_mm512_cvtne2ps_pbh(b, a));
        _mm512_mask_storeu_epi32(packed + c, Mask(width - c), pairs);
      }
    }
  }

  RUTILE_BF16 static inline void PackLine(const float* from, int64_t depth, int64_t end, uint32_t* packed) {
    for (int64_t i = 0; i < end; i += 32) {
      const __m512 a = _mm512_maskz_loadu_ps(Mask(depth - i), from + i);
      const __m512 b = _mm512_maskz_loadu_ps(Mask(depth - i - 16), from + i + 16);
      _mm512_storeu_si512(packed + i / 2, (__m512i)_mm512_cvtne2ps_pbh(b, a));
    }
  }

  RUTILE_BF16 static inline void PackLines(const Part& part, uint32_t* packed) {
    for (int64_t c = 0; c < part.lines; ++c) {
      PackLine(part.from + c * part.across, part.depth, part.depth, packed + c * kPairs);
    }
  }

  // Lines become pairs as they are, and are then turned, 4 x 4 of them at a time.
  RUTILE_BF16 static inline void PackAlong(const Part& part, int64_t width, uint32_t* packed) {
    alignas(64) uint32_t line[4][kPairs];
    for (int64_t c = 0; c < width; c += 4) {
      for (int64_t l = 0; l < 4; ++l) {
        PackLine(part.from + (c + l) * part.across, c + l < part.lines ? part.depth : 0, part.depth, line[l]);
      }
      for (int64_t p = 0; p < part.pairs(); p += 4) {
        __m128 rows[4];
        for (int l = 0; l < 4; ++l) rows[l] = _mm_castsi128_ps(_mm_load_si128((const __m128i*)(line[l] + p)));
        _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
        for (int l = 0; l < 4; ++l) _mm_storeu_ps(reinterpret_cast<float*>(packed + (p + l) * width + c), rows[l]);
      }
    }
  }

  template <int R, int V, bool kRowsAreNext>
  RUTILE_BF16 static void Tile(const Strip& strip, int64_t row) {
    constexpr auto kAll = std::make_index_sequence<R * V>();
    // One of the steps is 1: what is known costs no register.
    const int64_t row_step = kRowsAreNext ? 1 : strip.row_step, pair_step = kRowsAreNext ? strip.pair_step : 1;
    float* const out = strip.out + row * strip.stride;
    Sums<R, V> sums;
    sums.Prefetch(out, strip.stride, kAll);
    sums.Clear(kAll);
    const uint32_t *left = strip.left + row * row_step, *right = strip.right;
    for (int64_t p = 0; p < strip.pairs; ++p, left += pair_step, right += V * kLanes) {
      sums.AddPair(left, row_step, right, kAll);
    }
    __mmask16 masks[V];
    for (int v = 0; v < V; ++v) masks[v] = Mask(strip.columns - v * kLanes);
    sums.Put(strip.add, masks, out, strip.stride, kAll);
  }

  template <int V, bool kRowsAreNext>
  RUTILE_BF16 static void MultiplyRows(const Strip& strip) {
    int64_t r = 0;
    for (; r + kRows <= strip.rows; r += kRows) Tile<kRows, V, kRowsAreNext>(strip, r);
    if (r + 4 <= strip.rows) Tile<4, V, kRowsAreNext>(strip, r), r += 4;
    if (r + 2 <= strip.rows) Tile<2, V, kRowsAreNext>(strip, r), r += 2;
    if (r < strip.rows) Tile<1, V, kRowsAreNext>(strip, r);
  }

  RUTILE_BF16 static void Multiply(const Strip& strip) {
    const bool rows_are_next = strip.row_step == 1;
    if (strip.vecs == 3) {
      rows_are_next ? MultiplyRows<3, true>(strip) : MultiplyRows<3, false>(strip);
    } else if (strip.vecs == 2) {
      rows_are_next ? MultiplyRows<2, true>(strip) : MultiplyRows<2, false>(strip);
    } else {
      rows_are_next ? MultiplyRows<1, true>(strip) : MultiplyRows<1, false>(strip);
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
  alignas(64) uint32_t right[kPairs * kVecs * kLanes];
  Strip strip;
  strip.left = problem.left;
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
        Machine::PackAcross({At(a, row, first), strip.rows, depth, a.stride, 1}, strip.rows, problem.left);
      } else {
        strip.row_step = kPairs, strip.pair_step = 1;
        Machine::PackLines({At(a, row, first), strip.rows, depth, 1, a.stride}, problem.left);
      }
      for (int64_t column = 0; column < n; column += strip.columns) {
        // Four vectors are two and two, as one alone waits for its loads.
        const int64_t vecs = (n - column + kLanes - 1) / kLanes;
        strip.vecs = vecs == 4 ? 2 : std::min(kVecs, vecs);
        strip.columns = std::min(strip.vecs * kLanes, n - column);
        strip.out = problem.out + row * problem.stride + column;
        if (b.transposed) {
          Machine::PackAlong({At(b, first, column), strip.columns, depth, 1, b.stride}, strip.vecs * kLanes, right);
        } else {
          Machine::PackAcross({At(b, first, column), strip.columns, depth, b.stride, 1}, strip.vecs * kLanes, right);
        }
        Machine::Multiply(strip);
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

Bf16Products::Bf16Products(bool fast) : fast_(fast && HasBf16()), left_(kHeight * kPairs) {}

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
