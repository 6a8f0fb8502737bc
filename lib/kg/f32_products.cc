#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kg/f32_products.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/base/simd.h"
#include "lib/kg/f32_products.h"
#include "lib/kg/matrix_view.h"
#include "lib/kg/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and vectors of sums that stay in registers: AVX-512 has 32 of them, the others 16.
constexpr int kTileRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
constexpr int kTileVecs = 3;
// Of the sums at one time: with the widest vectors a panel of the right factor, 48 KB, stays in the second cache.
constexpr int64_t kDepth = 256;

using Lanes = hn::ScalableTag<float>;

// A strip of the result, V vectors wide.
struct Strip {
  const float* left;   // of the first row, and the first term of the sums
  int64_t row_step;    // from a row of the left factor to the next
  int64_t term_step;   // and from a term of the sums to the next
  const float* panel;  // [depth, V vectors]
  int64_t depth;
  int64_t columns;  // that exist
  bool add;
  float* out;
  int64_t stride;
};

// R rows of it. Sums are named by constants, not in loops: the compiler then keeps them in registers, all the time.
template <int R, int V>
struct Sums {
  VecOf<float> sums[R * V];

  template <size_t... I>
  HWY_INLINE void Clear(std::index_sequence<I...>) {
    ((sums[I] = hn::Zero(Lanes())), ...);
  }
  template <size_t... I>
  HWY_INLINE void AddTerm(const float* left, int64_t row_step, const float* panel, std::index_sequence<I...>) {
    const Lanes d;
    const int64_t lanes = hn::Lanes(d);
    VecOf<float> b[V];
    for (int v = 0; v < V; ++v) b[v] = hn::Load(d, panel + v * lanes);
    ((sums[I] = hn::MulAdd(hn::Set(d, left[static_cast<int64_t>(I / V) * row_step]), b[I % V], sums[I])), ...);
  }
  // out = sums, or += them.
  template <size_t... I>
  HWY_INLINE void Put(bool add, float* out, int64_t stride, std::index_sequence<I...>) const {
    const Lanes d;
    const int64_t lanes = hn::Lanes(d);
    if (add) {
      (hn::StoreU(hn::Add(hn::LoadU(d, At<I>(out, stride, lanes)), sums[I]), d, At<I>(out, stride, lanes)), ...);
    } else {
      (hn::StoreU(sums[I], d, At<I>(out, stride, lanes)), ...);
    }
  }
  template <size_t... I>
  HWY_INLINE void Prefetch(float* out, int64_t stride, std::index_sequence<I...>) const {
    (__builtin_prefetch(At<I>(out, stride, hn::Lanes(Lanes())), /*to write*/ 1), ...);
  }
  template <size_t I>
  HWY_INLINE static float* At(float* out, int64_t stride, int64_t lanes) {
    return out + static_cast<int64_t>(I / V) * stride + static_cast<int64_t>(I % V) * lanes;
  }
};

template <int R, int V, bool kRowsAreNext>
void Tile(const Strip& strip, int64_t row) {
  constexpr auto kAll = std::make_index_sequence<R * V>();
  const int64_t lanes = hn::Lanes(Lanes());
  // One of the steps is 1: what is known costs no register.
  const int64_t row_step = kRowsAreNext ? 1 : strip.row_step, term_step = kRowsAreNext ? strip.term_step : 1;
  float* const out = strip.out + row * strip.stride;
  Sums<R, V> sums;
  sums.Prefetch(out, strip.stride, kAll);
  sums.Clear(kAll);
  const float *left = strip.left + row * row_step, *panel = strip.panel;
  for (int64_t i = 0; i < strip.depth; ++i, left += term_step, panel += V * lanes) {
    sums.AddTerm(left, row_step, panel, kAll);
  }
  if (strip.columns == V * lanes) return sums.Put(strip.add, out, strip.stride, kAll);
  HWY_ALIGN float tile[R * V * MaxLanes<float>()];
  sums.Put(/*add=*/false, tile, V * lanes, kAll);
  for (int r = 0; r < R; ++r) {
    const float* const from = tile + r * V * lanes;
    float* const to = out + r * strip.stride;
    ForVectors<float>(0, strip.columns, [&](const auto& part, int64_t c) {
      const auto sum = part.Load(from + c);
      part.Store(strip.add ? hn::Add(part.Load(to + c), sum) : sum, to + c);
    });
  }
}

template <int R, int V>
HWY_INLINE void TileOf(const Strip& strip, int64_t row) {
  if (strip.row_step == 1) return Tile<R, V, true>(strip, row);
  Tile<R, V, false>(strip, row);
}

template <int V>
void RowsOfStrip(const Strip& strip, int64_t rows) {
  int64_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) TileOf<kTileRows, V>(strip, r);
  if (r + 4 <= rows) TileOf<4, V>(strip, r), r += 4;
  if (r + 2 <= rows) TileOf<2, V>(strip, r), r += 2;
  if (r < rows) TileOf<1, V>(strip, r);
}

// panel[i, c] = the term i of column c, zeros after the last column. Lines lie along the terms.
HWY_INLINE void PackLines(const float* from, int64_t stride, int64_t depth, int64_t columns, int64_t width,
                          float* panel) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  // Four numbers of four lines at a time.
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<uint64_t, 2> pairs;
  const auto low = [&](auto a, auto b) {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto high = [&](auto a, auto b) {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  for (; c + 4 <= columns; c += 4) {
    const float *const l0 = from + c * stride, *const l1 = l0 + stride, *const l2 = l1 + stride,
                       *const l3 = l2 + stride;
    int64_t i = 0;
    for (; i + 4 <= depth; i += 4) {
      const auto a = hn::LoadU(d, l0 + i), b = hn::LoadU(d, l1 + i), e = hn::LoadU(d, l2 + i), f = hn::LoadU(d, l3 + i);
      const auto ab = hn::InterleaveLower(d, a, b), ef = hn::InterleaveLower(d, e, f);
      const auto ab2 = hn::InterleaveUpper(d, a, b), ef2 = hn::InterleaveUpper(d, e, f);
      float* const to = panel + i * width + c;
      hn::StoreU(low(ab, ef), d, to);
      hn::StoreU(high(ab, ef), d, to + width);
      hn::StoreU(low(ab2, ef2), d, to + 2 * width);
      hn::StoreU(high(ab2, ef2), d, to + 3 * width);
    }
    for (; i < depth; ++i) {
      float* const to = panel + i * width + c;
      to[0] = l0[i], to[1] = l1[i], to[2] = l2[i], to[3] = l3[i];
    }
  }
#endif
  for (; c < width; ++c) {
    for (int64_t i = 0; i < depth; ++i) panel[i * width + c] = c < columns ? from[c * stride + i] : 0;
  }
}

// The same, of lines along the columns.
HWY_INLINE void PackRows(const float* from, int64_t stride, int64_t depth, int64_t columns, int64_t width,
                         float* panel) {
  const Lanes d;
  const int64_t lanes = hn::Lanes(d);
  for (int64_t i = 0; i < depth; ++i, from += stride, panel += width) {
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) hn::Store(hn::LoadU(d, from + c), d, panel + c);
    if (c < columns) hn::Store(PartOfVector{static_cast<int>(columns - c)}.Load(from + c), d, panel + c), c += lanes;
    for (; c < width; c += lanes) hn::Store(hn::Zero(d), d, panel + c);
  }
}

template <int V>
void MultiplyStrip(const MatrixView<float>& b, int64_t first, int64_t column, Strip strip, int64_t rows, float* panel) {
  const int64_t width = V * static_cast<int64_t>(hn::Lanes(Lanes()));
  strip.columns = std::min(width, strip.columns);
  if (b.transposed) {
    PackLines(b.data + column * b.stride + first, b.stride, strip.depth, strip.columns, width, panel);
  } else {
    PackRows(b.data + first * b.stride + column, b.stride, strip.depth, strip.columns, width, panel);
  }
  strip.panel = panel;
  RowsOfStrip<V>(strip, rows);
}

void Multiply(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride) {
  HWY_ALIGN float panel[kDepth * kTileVecs * MaxLanes<float>()];
  const int64_t m = a.height(), n = b.width(), k = a.width(), lanes = hn::Lanes(Lanes());
  for (int64_t first = 0; first < k; first += kDepth) {
    Strip strip;
    strip.row_step = a.transposed ? 1 : a.stride;
    strip.term_step = a.transposed ? a.stride : 1;
    strip.left = a.data + first * strip.term_step;
    strip.depth = std::min(kDepth, k - first);
    strip.add = add || first > 0;
    strip.stride = stride;
    for (int64_t column = 0; column < n;) {
      const int64_t vecs = (n - column + lanes - 1) / lanes;
      strip.columns = n - column;
      strip.out = out + column;
      if (vecs == 3 || vecs > 4) {
        MultiplyStrip<3>(b, first, column, strip, m, panel), column += 3 * lanes;
      } else if (vecs >= 2) {  // four are two and two, as a strip of one waits for its loads
        MultiplyStrip<2>(b, first, column, strip, m, panel), column += 2 * lanes;
      } else {
        MultiplyStrip<1>(b, first, column, strip, m, panel), column += lanes;
      }
    }
  }
}

bool IsFast() { return HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "lib/base/logging.h"

namespace rutile {

HWY_EXPORT(IsFast);
HWY_EXPORT(Multiply);

bool F32ProductsAreFast() { return HWY_DYNAMIC_DISPATCH(IsFast)(); }

void MultiplyF32(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  if (a.width() == 0 && !add) {
    for (int64_t r = 0; r < a.height(); ++r) std::fill_n(out + r * stride, b.width(), 0.0f);
  }
  HWY_DYNAMIC_DISPATCH(Multiply)(a, b, add, out, stride);
}

}  // namespace rutile
#endif  // HWY_ONCE
