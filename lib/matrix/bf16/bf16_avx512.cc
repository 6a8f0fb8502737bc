#include "lib/matrix/bf16/bf16_machines.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <utility>

#include "lib/machine/cpu_bf16.h"
#include "lib/matrix/bf16/bf16_part.h"
#include "lib/matrix/bf16/bf16_strips.h"

namespace rutile {

#if defined(__x86_64__)
namespace {

#define RUTILE_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define RUTILE_INLINE inline __attribute__((always_inline))

using bf16::Part;
using bf16_strips::kLanes;
using bf16_strips::kPairs;
using bf16_strips::kRows;
using bf16_strips::Strip;

// Sums of R rows and V vectors of the result. They are named by constants, not indexed in loops, so that the compiler
// keeps them in registers.
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
  // Stores sums in out, or adds them. masks: [V], of the existing columns.
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

  // Two rows of numbers become one of pairs: they are converted together, then interleaved.
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

  // Lines are converted to pairs, and then transposed in blocks of 4 x 4.
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
    // One of the steps is 1, a constant that needs no register.
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

}  // namespace

bool HasBf16Avx512() {
  return !CpuBf16Instructions().empty() && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

RUTILE_BF16 void MultiplyBf16Avx512(const Bf16Problem& problem, Bf16Memory* memory) {
  bf16_strips::MultiplyAll<Avx512>(problem, memory);
}

#else
bool HasBf16Avx512() { return false; }
void MultiplyBf16Avx512(const Bf16Problem&, Bf16Memory*) {}
#endif

}  // namespace rutile
