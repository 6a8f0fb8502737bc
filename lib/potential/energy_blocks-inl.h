// What the passes over a block of atoms share, for kernels that Highway compiles for each instruction set: products of
// weights with rows, sums over atoms, activations, and transposition. energy_blocks.h explains tiles.

// Read again for each target.
#if defined(RUTILE_LIB_POTENTIAL_ENERGY_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_POTENTIAL_ENERGY_BLOCKS_INL_H_
#undef RUTILE_LIB_POTENTIAL_ENERGY_BLOCKS_INL_H_
#else
#define RUTILE_LIB_POTENTIAL_ENERGY_BLOCKS_INL_H_
#endif

#include <algorithm>

#include "lib/base/simd.h"
#include "lib/potential/energy_blocks.h"
#include "lib/potential/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using VecOf = hn::Vec<hn::ScalableTag<T>>;

// Rows and vectors that a product keeps in registers: AVX-512 has 32 of them, the others 16.
constexpr int kRows = 4;
constexpr int kVecs = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int kGradientRows = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int kGradientColumns = 4;

// Calls tile.Run<R, V>(first row) until `count` rows are done, kRows at a time.
template <int V, class Tile>
HWY_INLINE void ForRows(int count, const Tile& tile) {
  int r = 0;
  for (; r + kRows <= count; r += kRows) tile.template Run<kRows, V>(r);
  switch (count - r) {
    case 3:
      return tile.template Run<3, V>(r);
    case 2:
      return tile.template Run<2, V>(r);
    case 1:
      return tile.template Run<1, V>(r);
  }
}

// acc[r][v] += sum over i < count of w[r * row_step + i * step] in[i], for R rows and V vectors of atoms.
template <int R, int V, typename T>
HWY_INLINE void AddProduct(const T* HWY_RESTRICT w, int64_t row_step, int64_t step, int count, const T* in,
                           VecOf<T> (&acc)[R][V]) {
  const hn::ScalableTag<T> d;
  const int lanes = hn::Lanes(d);
  for (int i = 0; i < count; ++i) {
    VecOf<T> x[V];
    for (int v = 0; v < V; ++v) x[v] = hn::Load(d, in + i * TileStride<T>() + v * lanes);
    for (int r = 0; r < R; ++r) {
      const auto weight = hn::Set(d, w[r * row_step + i * step]);
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(weight, x[v], acc[r][v]);
    }
  }
}

// out[o] = bias[o] + sum_i w[o, i] in[i].
template <typename T>
struct ForwardTile {
  const T* w;
  const T* bias;
  int num_inputs;
  const T* in;
  T* out;

  template <int R, int V>
  HWY_INLINE void Run(int o) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    VecOf<T> acc[R][V];
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) acc[r][v] = hn::Set(d, bias[o + r]);
    }
    AddProduct(w + int64_t{o} * num_inputs, num_inputs, 1, num_inputs, in, acc);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) hn::Store(acc[r][v], d, out + (o + r) * TileStride<T>() + v * lanes);
    }
  }
};

// The slope of an activation as a polynomial of its value: f' = c0 + c1 y + c2 y^2, so that f'' = (c1 + 2 c2 y) f'.
struct SlopePolynomial {
  double c0, c1, c2;
};

constexpr double kMtanhScale = 1.7159;

inline SlopePolynomial SlopeOf(Activation activation) {
  switch (activation) {
    case Activation::kTanh:
      return {1, 0, -1};
    case Activation::kSigmoid:
      return {0, 1, -1};
    case Activation::kMtanh:
      return {kMtanhScale * 2 / 3, 0, -2 / (3 * kMtanhScale)};
    default:
      return {1, 0, 0};
  }
}

// y = f(y) for `count` rows of V vectors. slopes: f' goes there, read where the value does not tell (twist, silu) only.
// curvatures: f'' of the same activations, or null.
template <int V, typename T>
HWY_INLINE void ActivateRows(Activation activation, int count, T* rows, T* slopes, T* curvatures) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(d);
  const auto one = hn::Set(d, T(1)), half = hn::Set(d, T(0.5)), two = hn::Set(d, T(2));
  const auto scale = hn::Set(d, T(kMtanhScale)), two_thirds = hn::Set(d, T(2.0 / 3)), tenth = hn::Set(d, T(0.1));
  const auto four_thirds = hn::Set(d, T(4.0 / 3));
  for (int r = 0; r < count; ++r) {
    for (int v = 0; v < V; ++v) {
      const int64_t offset = r * kStride + v * lanes;
      T* at = rows + offset;
      const auto z = hn::Load(d, at);
      switch (activation) {
        case Activation::kLinear:
          break;
        case Activation::kTanh:
          hn::Store(FastTanh(d, z), d, at);
          break;
        case Activation::kSigmoid:
          hn::Store(hn::MulAdd(half, FastTanh(d, hn::Mul(half, z)), half), d, at);
          break;
        case Activation::kMtanh:
          hn::Store(hn::Mul(scale, FastTanh(d, hn::Mul(two_thirds, z))), d, at);
          break;
        case Activation::kTwist: {
          const auto t = FastTanh(d, hn::Mul(two_thirds, z));
          hn::Store(hn::MulAdd(scale, t, hn::Mul(tenth, z)), d, at);
          const auto steep = hn::Mul(scale, two_thirds), rest = hn::NegMulAdd(t, t, one);  // mtanh' = steep * rest
          hn::Store(hn::MulAdd(steep, rest, tenth), d, slopes + offset);
          if (curvatures) {
            hn::Store(hn::Mul(hn::Mul(four_thirds, t), hn::Neg(hn::Mul(steep, rest))), d, curvatures + offset);
          }
          break;
        }
        case Activation::kSilu: {
          const auto s = hn::MulAdd(half, FastTanh(d, hn::Mul(half, z)), half);
          hn::Store(hn::Mul(z, s), d, at);
          hn::Store(hn::MulAdd(hn::Mul(z, s), hn::Sub(one, s), s), d, slopes + offset);
          if (curvatures) {  // s (1 - s) (2 + z (1 - 2 s))
            const auto factor = hn::MulAdd(z, hn::NegMulAdd(two, s, one), two);
            hn::Store(hn::Mul(hn::Mul(s, hn::Sub(one, s)), factor), d, curvatures + offset);
          }
          break;
        }
      }
    }
  }
}

// One layer before its activation for V vectors of atoms.
template <int V, typename T>
HWY_INLINE void ForwardLayer(const BlockLayout::Layer& layer, const T* parameters, T* tile) {
  constexpr int64_t kStride = TileStride<T>();
  ForRows<V>(layer.outputs, ForwardTile<T>{parameters + layer.weight, parameters + layer.bias, layer.inputs,
                                           tile + layer.input_row * kStride, tile + layer.output_row * kStride});
}

// out[i] = sum over lanes of v[i], for four vectors.
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

// sums[o] += sum over n atoms of rows[o].
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

// For R outputs from o and four inputs from i. `columns` of those four exist; the others repeat the last.
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

// gradient: [outputs, inputs], added to.
template <typename T, int Pairs>
HWY_INLINE void AddOuterProducts(int n, const OuterProduct<T, Pairs>& product, int outputs, int inputs, T* gradient) {
  for (int i = 0; i < inputs; i += kGradientColumns) {
    const int columns = std::min(kGradientColumns, inputs - i);
    int o = 0;
    for (; o + kGradientRows <= outputs; o += kGradientRows) {
      GradientTile<kGradientRows>(n, product, o, i, columns, inputs, gradient);
    }
    for (; o < outputs; ++o) GradientTile<1>(n, product, o, i, columns, inputs, gradient);
  }
}

#if HWY_TARGET == HWY_SCALAR
template <typename T>
constexpr int kTurnSide = 1;
template <typename T>
HWY_INLINE void Turn(const T* in, int64_t, T* out, int64_t) {
  *out = *in;
}
#else
template <typename T>
constexpr int kTurnSide = 16 / sizeof(T);

// 4x4 (fp32) or 2x2 (fp64) numbers turned about their diagonal, from rows `from` apart to rows `to` apart.
HWY_INLINE void Turn(const float* in, int64_t from, float* out, int64_t to) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> dd;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + from);
  const auto c = hn::LoadU(d, in + 2 * from), e = hn::LoadU(d, in + 3 * from);
  const auto ab0 = hn::BitCast(dd, hn::InterleaveLower(d, a, b)), ab2 = hn::BitCast(dd, hn::InterleaveUpper(d, a, b));
  const auto ce0 = hn::BitCast(dd, hn::InterleaveLower(d, c, e)), ce2 = hn::BitCast(dd, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab0, ce0)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab0, ce0)), d, out + to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab2, ce2)), d, out + 2 * to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab2, ce2)), d, out + 3 * to);
}

HWY_INLINE void Turn(const double* in, int64_t from, double* out, int64_t to) {
  const hn::FixedTag<double, 2> d;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + from);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, out);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + to);
}
#endif

// out[c, r] = in[r, c].
template <typename T>
HWY_INLINE void Transpose(const T* in, int rows, int columns, int64_t from, T* out, int64_t to) {
  constexpr int kSide = kTurnSide<T>;
  const int whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  for (int r = 0; r < whole_rows; r += kSide) {
    for (int c = 0; c < whole_columns; c += kSide) Turn(in + r * from + c, from, out + c * to + r, to);
    for (int c = whole_columns; c < columns; ++c) {
      for (int k = r; k < r + kSide; ++k) out[c * to + k] = in[k * from + c];
    }
  }
  for (int r = whole_rows; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) out[c * to + r] = in[r * from + c];
  }
}

// n rounded up to whole vectors.
template <typename T>
HWY_INLINE int Padded(int n) {
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  return (n + lanes - 1) / lanes * lanes;
}

// The first rows of a tile from x [n, F]; padding is 0.
template <typename T>
HWY_INLINE void ReadRows(const T* x, int n, int num_features, T* tile) {
  Transpose(x, n, num_features, num_features, tile, TileStride<T>());
  const int padded = Padded<T>(n);
  for (int f = 0; f < num_features; ++f) {
    for (int a = n; a < padded; ++a) tile[f * TileStride<T>() + a] = 0;
  }
}

// Calls pass.Run<V>(first atom) for all vectors of `padded` atoms.
template <typename T, class Pass>
HWY_INLINE void ForVectors(int padded, const Pass& pass) {
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  int a = 0;
  for (; a + kVecs * lanes <= padded; a += kVecs * lanes) pass.template Run<kVecs>(a);
  for (; a < padded; a += lanes) pass.template Run<1>(a);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
