// Matrix products over the rows of a tile: weights times rows, outer products summed over atoms, and transposition.
// network_fused.h explains tiles. Highway compiles this file once for each instruction set.
//
// A product keeps kRows rows of kVecs vectors of atoms in registers. Gradients, which are outer products summed over
// atoms, have two forms (GradientForm):
//
//   lanes       vectors lie along the atoms, and a horizontal sum over lanes ends each element
//   transposed  inputs are transposed first, so that vectors lie along the inputs and atoms are the depth of the
//               product: no horizontal sums, but lanes are wasted where inputs do not fill the last vector

// Read again for each target.
#if defined(RUTILE_LIB_NETWORK_KERNELS_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_NETWORK_KERNELS_PRODUCTS_INL_H_
#undef RUTILE_LIB_NETWORK_KERNELS_PRODUCTS_INL_H_
#else
#define RUTILE_LIB_NETWORK_KERNELS_PRODUCTS_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "lib/machine/simd.h"
#include "lib/network/kernels/network_fused.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using VecOf = hn::Vec<hn::ScalableTag<T>>;

// Rows and vectors that a product keeps in registers: AVX-512 has 32 registers, the others 16. Measured: 8 x 2 runs at
// the core's peak where 4 x 4 reaches 80 % of it (Zen 4, gcc 12).
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
constexpr int kVecs = 2;
constexpr int kGradientRows = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int kGradientColumns = 4;

// The most elements that a vector of any target holds.
template <typename T>
constexpr int MaxLanes() {
  return 64 / static_cast<int>(sizeof(T));
}

// Calls tile.Run<R, V>(first row) until `count` rows are done, kRows at a time. The remainder goes by powers of two,
// except that kRows - 1 rows are done at once: with few rows the sums wait for each other, so that 4 + 2 + 1 take
// longer than 7. (Each R instantiates every product once more.)
template <int V, class Tile>
HWY_INLINE void ForRows(int count, const Tile& tile) {
  int r = 0;
  for (; r + kRows <= count; r += kRows) tile.template Run<kRows, V>(r);
  if (r + kRows - 1 == count) return tile.template Run<kRows - 1, V>(r);
  if (kRows > 4 && r + 4 <= count) {
    tile.template Run<4, V>(r);
    r += 4;
  }
  if (r + 2 <= count) {
    tile.template Run<2, V>(r);
    r += 2;
  }
  if (r < count) tile.template Run<1, V>(r);
}

template <int R, int V, typename T>
HWY_INLINE void SetZero(VecOf<T> (&acc)[R][V]) {
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(hn::ScalableTag<T>());
  }
}

// Adds sum over i < count of w[r * row_step + i * step] in[i * in_step + v] to acc[r][v], for R rows and V vectors.
template <int R, int V, typename T>
HWY_INLINE void AddProduct(const T* HWY_RESTRICT w, int64_t row_step, int64_t step, int count, const T* in,
                           int64_t in_step, VecOf<T> (&acc)[R][V]) {
  const hn::ScalableTag<T> d;
  const int lanes = hn::Lanes(d);
  for (int i = 0; i < count; ++i) {
    VecOf<T> x[V];
    for (int v = 0; v < V; ++v) x[v] = hn::Load(d, in + i * in_step + v * lanes);
    for (int r = 0; r < R; ++r) {
      const auto weight = hn::Set(d, w[r * row_step + i * step]);
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(weight, x[v], acc[r][v]);
    }
  }
}

// Describes the product sum_i w[r * row_step + i * step] in[i] for `rows` rows r and `depth` rows of a tile.
template <typename T>
struct Product {
  const T* w;
  int64_t row_step, step;
  int rows, depth;
  const T* in;
};

// Computes R rows of a product. ends.Begin<R, V>(r, acc) initializes the sums, and ends.End<R, V>(r, acc) consumes
// them.
template <typename T, class Ends>
struct ProductTile {
  const Product<T>& product;
  const Ends& ends;

  template <int R, int V>
  HWY_INLINE void Run(int r) const {
    VecOf<T> acc[R][V];
    ends.template Begin<R, V>(r, acc);
    AddProduct<R, V, T>(product.w + r * product.row_step, product.row_step, product.step, product.depth, product.in,
                        TileStride<T>(), acc);
    ends.template End<R, V>(r, acc);
  }
};

template <int V, typename T, class Ends>
HWY_INLINE void Multiply(const Product<T>& product, const Ends& ends) {
  ForRows<V>(product.rows, ProductTile<T, Ends>{product, ends});
}

// Sums the lanes of each of four vectors: out[i] = sum over lanes of v[i].
#if HWY_TARGET == HWY_SCALAR
template <class D, typename T>
HWY_INLINE void SumLanes4(D, const hn::Vec<D>* v, T* out) {
  for (int i = 0; i < 4; ++i) out[i] = hn::GetLane(v[i]);
}
#else
template <class D>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> SumOfQuarters(D d, hn::Vec<D> v) {
  if constexpr (sizeof(hn::Vec<D>) == 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return SumOfQuarters(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

template <class D>
HWY_INLINE void SumLanes4(D d, const hn::Vec<D>* v, float* out) {
  const hn::Repartition<double, D> dd;
  const auto ab = hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  const auto ce = hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
  const auto low = hn::BitCast(d, hn::InterleaveLower(dd, hn::BitCast(dd, ab), hn::BitCast(dd, ce)));
  const auto high = hn::BitCast(d, hn::InterleaveUpper(dd, hn::BitCast(dd, ab), hn::BitCast(dd, ce)));
  hn::StoreU(SumOfQuarters(d, hn::Add(low, high)), hn::FixedTag<float, 4>(), out);
}

template <class D>
HWY_INLINE void SumLanes4(D d, const hn::Vec<D>* v, double* out) {
  for (int i = 0; i < 4; ++i) out[i] = hn::GetLane(hn::SumOfLanes(d, v[i]));
}
#endif

// Adds the sum over n atoms of rows[o] to sums[o], for `count` rows.
template <typename T>
HWY_INLINE void AddRowSums(int n, const T* rows, int count, T* sums) {
  const hn::ScalableTag<T> d;
  const int lanes = hn::Lanes(d);
  for (int o = 0; o < count; o += 4) {
    VecOf<T> acc[4];
    const int here = std::min(4, count - o);
    for (int r = 0; r < 4; ++r) {
      const T* row = rows + (o + std::min(r, here - 1)) * TileStride<T>();
      acc[r] = hn::Zero(d);
      for (int a = 0; a < n; a += lanes) acc[r] = hn::Add(acc[r], hn::Load(d, row + a));
    }
    T of_lanes[4];
    SumLanes4(d, acc, of_lanes);
    for (int r = 0; r < here; ++r) sums[o + r] += of_lanes[r];
  }
}

// One or two outer products, summed over atoms: each pair (delta [outputs] and in [inputs], rows of a tile) adds
// delta[o] in[i] to gradient[o, i].
template <typename T, int Pairs>
struct OuterProduct {
  const T* delta[Pairs];
  const T* in[Pairs];
};

// Computes R outputs from o on for four inputs from i on. Only `columns` of these inputs exist; the others repeat the
// last.
template <int R, typename T, int Pairs>
HWY_INLINE void GradientTile(int n, const OuterProduct<T, Pairs>& product, int o, int i, int columns,
                             int64_t num_inputs, T* gradient) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(d);
  const T* delta[Pairs];
  const T* column[Pairs][kGradientColumns];
  for (int p = 0; p < Pairs; ++p) {
    delta[p] = product.delta[p] + o * kStride;
    for (int c = 0; c < kGradientColumns; ++c) {
      column[p][c] = product.in[p] + (i + std::min(c, columns - 1)) * kStride;
    }
  }
  VecOf<T> acc[R][kGradientColumns];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < kGradientColumns; ++c) acc[r][c] = hn::Zero(d);
  }
  for (int a = 0; a < n; a += lanes) {
    for (int p = 0; p < Pairs; ++p) {
      VecOf<T> x[kGradientColumns];
      for (int c = 0; c < kGradientColumns; ++c) x[c] = hn::Load(d, column[p][c] + a);
      for (int r = 0; r < R; ++r) {
        const auto y = hn::Load(d, delta[p] + r * kStride + a);
        for (int c = 0; c < kGradientColumns; ++c) acc[r][c] = hn::MulAdd(y, x[c], acc[r][c]);
      }
    }
  }
  T sums[R][kGradientColumns];
  for (int r = 0; r < R; ++r) SumLanes4(d, acc[r], sums[r]);
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < columns; ++c) gradient[(o + r) * num_inputs + i + c] += sums[r][c];
  }
}

#if HWY_TARGET != HWY_SCALAR
// The number of elements of one row that are transposed together: 16 bytes.
template <typename T>
constexpr int kTransposeColumns = 16 / sizeof(T);

// Loads kTransposeColumns elements of each of the rows in[0], in[kTransposeColumns], in[2 kTransposeColumns], ..., one
// after the other.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadPieces(D d, const T* const* in, int64_t column) {
  if constexpr (hn::MaxLanes(d) == kTransposeColumns<T>) {
    return hn::LoadU(d, in[0] + column);
  } else {
    const hn::Half<D> half;
    const auto lower = LoadPieces(half, in, column);
    return hn::Combine(d, LoadPieces(half, in + hn::MaxLanes(half), column), lower);
  }
}

// Transposes kTransposeColumns columns of as many rows as a vector has lanes; the rows may lie anywhere. The result is
// kTransposeColumns vectors, stored as rows of `out`, `to` elements apart. Shuffles stay within 16 bytes.
template <class D>
HWY_INLINE void Transpose(D d, const float* const* in, int64_t column, float* out, int64_t to) {
  const hn::Repartition<double, D> dd;
  const auto a = LoadPieces(d, in, column), b = LoadPieces(d, in + 1, column);
  const auto c = LoadPieces(d, in + 2, column), e = LoadPieces(d, in + 3, column);
  const auto ab0 = hn::BitCast(dd, hn::InterleaveLower(d, a, b)), ab2 = hn::BitCast(dd, hn::InterleaveUpper(d, a, b));
  const auto ce0 = hn::BitCast(dd, hn::InterleaveLower(d, c, e)), ce2 = hn::BitCast(dd, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab0, ce0)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab0, ce0)), d, out + to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab2, ce2)), d, out + 2 * to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab2, ce2)), d, out + 3 * to);
}

template <class D>
HWY_INLINE void Transpose(D d, const double* const* in, int64_t column, double* out, int64_t to) {
  const auto a = LoadPieces(d, in, column), b = LoadPieces(d, in + 1, column);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, out);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + to);
}

// Transposes rows from r on, as many at a time as d has lanes, and returns the first row that is left.
template <class D, typename T, class In>
HWY_INLINE int TransposeRows(D d, const In& in, int r, int rows, int columns, T* out, int64_t to) {
  constexpr int kRows = hn::MaxLanes(D());
  constexpr int64_t kLine = 64 / sizeof(T);
  const int whole_columns = columns / kTransposeColumns<T> * kTransposeColumns<T>;
  for (; r + kRows <= rows; r += kRows) {
    const T* row[kRows];
    for (int k = 0; k < kRows; ++k) row[k] = in(r + k);
    for (int k = r + kRows; k < std::min(r + 2 * kRows, rows); ++k) {
      for (int64_t c = 0; c < columns; c += kLine) hwy::Prefetch(in(k) + c);
    }
    for (int c = 0; c < whole_columns; c += kTransposeColumns<T>) Transpose(d, row, c, out + c * to + r, to);
    for (int c = whole_columns; c < columns; ++c) {
      for (int k = 0; k < kRows; ++k) out[c * to + r + k] = row[k][c];
    }
  }
  return r;
}
#endif

// Sets out[c, r] = in(r)[c], where in(r) returns a pointer to row r.
template <typename T, class In>
HWY_INLINE void TransposeRows(const In& in, int rows, int columns, T* out, int64_t to) {
  int r = 0;
#if HWY_TARGET != HWY_SCALAR
  r = TransposeRows(hn::ScalableTag<T>(), in, r, rows, columns, out, to);
  r = TransposeRows(hn::FixedTag<T, kTransposeColumns<T>>(), in, r, rows, columns, out, to);
#endif
  for (; r < rows; ++r) {
    const T* const row = in(r);
    for (int c = 0; c < columns; ++c) out[c * to + r] = row[c];
  }
}

// Sets out[c, r] = in[r, c].
template <typename T>
HWY_INLINE void Transpose(const T* in, int rows, int columns, int64_t from, T* out, int64_t to) {
  TransposeRows([=](int64_t r) { return in + r * from; }, rows, columns, out, to);
}

// Adds to the gradients of R outputs the product over n atoms for V vectors of inputs, of which `columns` exist.
template <typename T, int Pairs>
struct TransposedTile {
  int n, columns;
  const T* const* delta;  // [Pairs] rows of a tile
  const T* slabs;         // [Pairs, n, V vectors]
  int64_t num_inputs;
  T* gradient;

  template <int R, int V>
  HWY_INLINE void Run(int o) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d), width = V * lanes;
    VecOf<T> acc[R][V];
    SetZero<R, V, T>(acc);
    for (int p = 0; p < Pairs; ++p) {
      AddProduct<R, V, T>(delta[p] + o * TileStride<T>(), TileStride<T>(), 1, n, slabs + p * n * width, width, acc);
    }
    for (int r = 0; r < R; ++r) {
      T* const out = gradient + (o + r) * num_inputs;
      for (int v = 0; v < V; ++v) Add(acc[r][v], columns - v * lanes, out + v * lanes);
    }
  }

  static HWY_INLINE void Add(VecOf<T> sum, int count, T* out) {
    const hn::ScalableTag<T> d;
    if (count >= static_cast<int>(hn::Lanes(d))) {
      hn::StoreU(hn::Add(hn::LoadU(d, out), sum), d, out);
      return;
    }
#if HWY_TARGET == HWY_AVX3
    const auto mask = hn::FirstN(d, count);
    hn::BlendedStore(hn::Add(hn::MaskedLoad(mask, d, out), sum), mask, d, out);
#else
    HWY_ALIGN T rest[MaxLanes<T>()];
    hn::Store(sum, d, rest);
    for (int c = 0; c < count; ++c) out[c] += rest[c];
#endif
  }
};

// Adds the gradients of all outputs for `columns` inputs in V vectors.
template <int V, typename T, int Pairs>
HWY_INLINE void AddTransposedColumns(int n, const OuterProduct<T, Pairs>& product, int i, int columns, int outputs,
                                     int inputs, T* gradient) {
  const int width = V * static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  HWY_ALIGN T slabs[Pairs * kBlockAtoms * V * MaxLanes<T>()];
  for (int p = 0; p < Pairs; ++p) {
    T* const slab = slabs + p * n * width;
    Transpose(product.in[p] + i * TileStride<T>(), columns, n, TileStride<T>(), slab, width);
    for (int a = 0; columns < width && a < n; ++a) std::fill(slab + a * width + columns, slab + (a + 1) * width, T(0));
  }
  ForRows<V>(outputs, TransposedTile<T, Pairs>{n, columns, product.delta, slabs, inputs, gradient + i});
}

template <typename T, int Pairs>
HWY_NOINLINE void AddTransposedProducts(int n, const OuterProduct<T, Pairs>& product, int outputs, int inputs,
                                        T* gradient) {
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  for (int i = 0; i < inputs; i += kVecs * lanes) {
    const int columns = std::min(kVecs * lanes, inputs - i);
    if (columns <= lanes) {
      AddTransposedColumns<1>(n, product, i, columns, outputs, inputs, gradient);
    } else {
      AddTransposedColumns<kVecs>(n, product, i, columns, outputs, inputs, gradient);
    }
  }
}

// Chooses the form of a layer's gradients. Measured: with AVX-512 the transposed form is 1.3 to 1.6 times as fast (2 to
// 3 times for few atoms) where few lanes are wasted; with AVX2 it gains for few atoms of wide layers, and with SSE4
// nothing.
HWY_INLINE bool IsTransposed(GradientForm form, int outputs, int inputs, int lanes) {
  if (form != GradientForm::kAuto) return form == GradientForm::kTransposed;
  if (HWY_TARGET == HWY_AVX3) return outputs >= 16 && (inputs >= 32 || inputs % lanes == 0);
  return HWY_TARGET == HWY_AVX2 && outputs >= 64 && inputs >= 64;
}

// Adds outer products to `gradient` [outputs, inputs]. The rows of deltas hold n atoms, then zeros up to whole vectors.
template <typename T, int Pairs>
HWY_INLINE void AddOuterProducts(int n, const OuterProduct<T, Pairs>& product, int outputs, int inputs,
                                 GradientForm form, T* gradient) {
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  if (IsTransposed(form, outputs, inputs, lanes)) return AddTransposedProducts(n, product, outputs, inputs, gradient);
  for (int i = 0; i < inputs; i += kGradientColumns) {
    const int columns = std::min(kGradientColumns, inputs - i);
    int o = 0;
    for (; o + kGradientRows <= outputs; o += kGradientRows) {
      GradientTile<kGradientRows>(n, product, o, i, columns, inputs, gradient);
    }
    for (; o < outputs; ++o) GradientTile<1>(n, product, o, i, columns, inputs, gradient);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
