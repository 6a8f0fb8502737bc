#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/matrix/dense_products.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/machine/simd.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and vectors of sums in registers, of which AVX-512 has 32 and the others 16.
constexpr int kTileRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
constexpr int kTileVecs = 3;
// Number of terms at a time: with the widest vectors a panel of the right factor, 48 KB, stays in the second-level
// cache.
constexpr int64_t kDepth = 256;

// A strip of the result, V vectors wide.
template <typename T>
struct Strip {
  const T* left;      // at the first row and the first term of the sums
  int64_t row_step;   // from a row of the left factor to the next
  int64_t term_step;  // and from a term of the sums to the next
  const T* panel;     // [depth, V vectors]
  int64_t depth;
  int64_t columns;  // existing columns, without padding
  bool add;
  T* out;
  int64_t stride;
};

// Computes R rows of a strip. Sums are named by constants, not indexed in loops, so that the compiler keeps them in
// registers.
template <typename T, int R, int V>
struct Sums {
  using Lanes = hn::ScalableTag<T>;
  VecOf<T> sums[R * V];

  template <size_t... I>
  HWY_INLINE void Clear(std::index_sequence<I...>) {
    ((sums[I] = hn::Zero(Lanes())), ...);
  }
  template <size_t... I>
  HWY_INLINE void AddTerm(const T* left, int64_t row_step, const T* panel, std::index_sequence<I...>) {
    const Lanes d;
    const int64_t lanes = hn::Lanes(d);
    VecOf<T> b[V];
    for (int v = 0; v < V; ++v) b[v] = hn::Load(d, panel + v * lanes);
    ((sums[I] = hn::MulAdd(hn::Set(d, left[static_cast<int64_t>(I / V) * row_step]), b[I % V], sums[I])), ...);
  }
  // Stores sums in out, or adds them.
  template <size_t... I>
  HWY_INLINE void Put(bool add, T* out, int64_t stride, std::index_sequence<I...>) const {
    const Lanes d;
    const int64_t lanes = hn::Lanes(d);
    if (add) {
      (hn::StoreU(hn::Add(hn::LoadU(d, At<I>(out, stride, lanes)), sums[I]), d, At<I>(out, stride, lanes)), ...);
    } else {
      (hn::StoreU(sums[I], d, At<I>(out, stride, lanes)), ...);
    }
  }
  template <size_t... I>
  HWY_INLINE void Prefetch(T* out, int64_t stride, std::index_sequence<I...>) const {
    (__builtin_prefetch(At<I>(out, stride, hn::Lanes(Lanes())), /*to write*/ 1), ...);
  }
  template <size_t I>
  HWY_INLINE static T* At(T* out, int64_t stride, int64_t lanes) {
    return out + static_cast<int64_t>(I / V) * stride + static_cast<int64_t>(I % V) * lanes;
  }
};

template <typename T, int R, int V, bool kRowsAreNext>
void Tile(const Strip<T>& strip, int64_t row) {
  constexpr auto kAll = std::make_index_sequence<R * V>();
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  // One of the steps is 1, a constant that needs no register.
  const int64_t row_step = kRowsAreNext ? 1 : strip.row_step, term_step = kRowsAreNext ? strip.term_step : 1;
  T* const out = strip.out + row * strip.stride;
  Sums<T, R, V> sums;
  sums.Prefetch(out, strip.stride, kAll);
  sums.Clear(kAll);
  const T *left = strip.left + row * row_step, *panel = strip.panel;
  for (int64_t i = 0; i < strip.depth; ++i, left += term_step, panel += V * lanes) {
    sums.AddTerm(left, row_step, panel, kAll);
  }
  if (strip.columns == V * lanes) return sums.Put(strip.add, out, strip.stride, kAll);
  HWY_ALIGN T tile[R * V * MaxLanes<T>()];
  sums.Put(/*add=*/false, tile, V * lanes, kAll);
  for (int r = 0; r < R; ++r) {
    const T* const from = tile + r * V * lanes;
    T* const to = out + r * strip.stride;
    ForVectors<T>(0, strip.columns, [&](const auto& part, int64_t c) {
      const auto sum = part.Load(from + c);
      part.Store(strip.add ? hn::Add(part.Load(to + c), sum) : sum, to + c);
    });
  }
}

template <int R, int V, typename T>
HWY_INLINE void TileOf(const Strip<T>& strip, int64_t row) {
  if (strip.row_step == 1) return Tile<T, R, V, true>(strip, row);
  Tile<T, R, V, false>(strip, row);
}

template <int V, typename T>
void RowsOfStrip(const Strip<T>& strip, int64_t rows) {
  int64_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) TileOf<kTileRows, V>(strip, r);
  if (r + 4 <= rows) TileOf<4, V>(strip, r), r += 4;
  if (r + 2 <= rows) TileOf<2, V>(strip, r), r += 2;
  if (r < rows) TileOf<1, V>(strip, r);
}

// Transposes a block of kBlock x kBlock numbers, from lines `stride` apart to rows `width` apart.
#if HWY_TARGET != HWY_SCALAR
constexpr int64_t kBlock = 4;
HWY_INLINE void TransposeBlock(const float* from, int64_t stride, float* to, int64_t width) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<uint64_t, 2> pairs;
  const auto low = [&](auto a, auto b) {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto high = [&](auto a, auto b) {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride), e = hn::LoadU(d, from + 2 * stride),
             f = hn::LoadU(d, from + 3 * stride);
  const auto ab = hn::InterleaveLower(d, a, b), ef = hn::InterleaveLower(d, e, f);
  const auto ab2 = hn::InterleaveUpper(d, a, b), ef2 = hn::InterleaveUpper(d, e, f);
  hn::StoreU(low(ab, ef), d, to);
  hn::StoreU(high(ab, ef), d, to + width);
  hn::StoreU(low(ab2, ef2), d, to + 2 * width);
  hn::StoreU(high(ab2, ef2), d, to + 3 * width);
}
HWY_INLINE void TransposeBlock(const double* from, int64_t stride, double* to, int64_t width) {
  const hn::FixedTag<double, 2> d;
  for (int64_t c = 0; c < kBlock; c += 2) {
    for (int64_t i = 0; i < kBlock; i += 2) {
      const auto a = hn::LoadU(d, from + c * stride + i), b = hn::LoadU(d, from + (c + 1) * stride + i);
      hn::StoreU(hn::InterleaveLower(d, a, b), d, to + i * width + c);
      hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + (i + 1) * width + c);
    }
  }
}
#endif

// Sets panel[i, c] to term i of column c, with zeros after the last column, where the terms of a column are adjacent in
// memory.
template <typename T>
HWY_INLINE void PackLines(const T* from, int64_t stride, int64_t depth, int64_t columns, int64_t width, T* panel) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; c + kBlock <= columns; c += kBlock) {
    int64_t i = 0;
    for (; i + kBlock <= depth; i += kBlock) {
      TransposeBlock(from + c * stride + i, stride, panel + i * width + c, width);
    }
    for (; i < depth; ++i) {
      for (int64_t k = 0; k < kBlock; ++k) panel[i * width + c + k] = from[(c + k) * stride + i];
    }
  }
#endif
  for (; c < width; ++c) {
    for (int64_t i = 0; i < depth; ++i) panel[i * width + c] = c < columns ? from[c * stride + i] : 0;
  }
}

// Fills a panel where the columns of a term are adjacent in memory.
template <typename T>
HWY_INLINE void PackRows(const T* from, int64_t stride, int64_t depth, int64_t columns, int64_t width, T* panel) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  for (int64_t i = 0; i < depth; ++i, from += stride, panel += width) {
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) hn::Store(hn::LoadU(d, from + c), d, panel + c);
    if (c < columns) hn::Store(PartOfVector{static_cast<int>(columns - c)}.Load(from + c), d, panel + c), c += lanes;
    for (; c < width; c += lanes) hn::Store(hn::Zero(d), d, panel + c);
  }
}

template <int V, typename T>
void MultiplyStrip(const MatrixView<T>& b, int64_t first, int64_t column, Strip<T> strip, int64_t rows, T* panel) {
  const int64_t width = V * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  strip.columns = std::min(width, strip.columns);
  if (b.transposed) {
    PackLines(b.data + column * b.stride + first, b.stride, strip.depth, strip.columns, width, panel);
  } else {
    PackRows(b.data + first * b.stride + column, b.stride, strip.depth, strip.columns, width, panel);
  }
  strip.panel = panel;
  RowsOfStrip<V>(strip, rows);
}

// Computes out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. Does nothing if k is 0.
template <typename T>
void MultiplyOf(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride) {
  HWY_ALIGN T panel[kDepth * kTileVecs * MaxLanes<T>()];
  const int64_t m = a.height(), n = b.width(), k = a.width(), lanes = hn::Lanes(hn::ScalableTag<T>());
  for (int64_t first = 0; first < k; first += kDepth) {
    Strip<T> strip;
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
      } else if (vecs >= 2) {  // four are processed as two and two, because a strip of one waits for its loads
        MultiplyStrip<2>(b, first, column, strip, m, panel), column += 2 * lanes;
      } else {
        MultiplyStrip<1>(b, first, column, strip, m, panel), column += lanes;
      }
    }
  }
}

void MultiplyF32(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride) {
  MultiplyOf(a, b, add, out, stride);
}
void MultiplyF64(const MatrixView<double>& a, const MatrixView<double>& b, bool add, double* out, int64_t stride) {
  MultiplyOf(a, b, add, out, stride);
}

bool IsFast() { return HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "lib/base/logging.h"

namespace rutile {
namespace {

HWY_EXPORT(IsFast);
HWY_EXPORT(MultiplyF32);
HWY_EXPORT(MultiplyF64);

void Multiply(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(MultiplyF32)(a, b, add, out, stride);
}
void Multiply(const MatrixView<double>& a, const MatrixView<double>& b, bool add, double* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(MultiplyF64)(a, b, add, out, stride);
}

}  // namespace

bool DenseProductsAreFast() { return HWY_DYNAMIC_DISPATCH(IsFast)(); }

template <typename T>
void MultiplyDense(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride) {
  CHECK_EQ(a.width(), b.height());
  if (a.width() == 0 && !add) {
    for (int64_t r = 0; r < a.height(); ++r) std::fill_n(out + r * stride, b.width(), T(0));
  }
  Multiply(a, b, add, out, stride);
}

template void MultiplyDense(const MatrixView<float>&, const MatrixView<float>&, bool, float*, int64_t);
template void MultiplyDense(const MatrixView<double>&, const MatrixView<double>&, bool, double*, int64_t);

}  // namespace rutile
#endif  // HWY_ONCE
