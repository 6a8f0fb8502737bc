#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/potential/energy_blocks.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>

#include "lib/base/simd.h"
#include "lib/potential/energy_blocks.h"
#include "lib/potential/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and vectors that a product keeps in registers: AVX-512 has 32 of them, the others 16.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 4;
constexpr int kVecs = 4;
#else
constexpr int kRows = 4;
constexpr int kVecs = 2;
#endif
constexpr int kGradientRows = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int kGradientColumns = 4;

// out[r] = bias[r] + sum_i w[r, i] in[i] for R rows and V vectors of atoms.
template <int R, int V, typename T>
HWY_INLINE void ForwardTile(const T* HWY_RESTRICT w, const T* HWY_RESTRICT bias, int num_inputs, const T* in, T* out) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> acc[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Set(d, bias[r]);
  }
  for (int i = 0; i < num_inputs; ++i) {
    hn::Vec<decltype(d)> x[V];
    for (int v = 0; v < V; ++v) x[v] = hn::Load(d, in + i * kStride + v * lanes);
    for (int r = 0; r < R; ++r) {
      const auto weight = hn::Set(d, w[r * num_inputs + i]);
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(weight, x[v], acc[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) hn::Store(acc[r][v], d, out + r * kStride + v * lanes);
  }
}

template <int V, typename T>
HWY_INLINE void ForwardLayer(const BlockLayout::Layer& layer, const T* parameters, T* tile) {
  constexpr int64_t kStride = TileStride<T>();
  const T* w = parameters + layer.weight;
  const T* bias = parameters + layer.bias;
  const T* in = tile + layer.input_row * kStride;
  T* out = tile + layer.output_row * kStride;
  const int n = layer.inputs;
  int o = 0;
  for (; o + kRows <= layer.outputs; o += kRows) {
    ForwardTile<kRows, V>(w + int64_t{o} * n, bias + o, n, in, out + o * kStride);
  }
  switch (layer.outputs - o) {
    case 3:
      return ForwardTile<3, V>(w + int64_t{o} * n, bias + o, n, in, out + o * kStride);
    case 2:
      return ForwardTile<2, V>(w + int64_t{o} * n, bias + o, n, in, out + o * kStride);
    case 1:
      return ForwardTile<1, V>(w + int64_t{o} * n, bias + o, n, in, out + o * kStride);
  }
}

// The slope of an activation as a polynomial of its value: c0 + c1 y + c2 y^2.
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

// y = f(y) for `count` rows of V vectors; where slopes is not null, f' goes there.
template <int V, typename T>
HWY_INLINE void ActivateRows(Activation activation, int count, T* rows, T* slopes) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(d);
  const auto one = hn::Set(d, T(1)), half = hn::Set(d, T(0.5));
  const auto scale = hn::Set(d, T(kMtanhScale)), two_thirds = hn::Set(d, T(2.0 / 3)), tenth = hn::Set(d, T(0.1));
  for (int r = 0; r < count; ++r) {
    for (int v = 0; v < V; ++v) {
      T* at = rows + r * kStride + v * lanes;
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
          const auto slope = hn::MulAdd(hn::Mul(scale, two_thirds), hn::NegMulAdd(t, t, one), tenth);
          hn::Store(slope, d, slopes + r * kStride + v * lanes);
          break;
        }
        case Activation::kSilu: {
          const auto s = hn::MulAdd(half, FastTanh(d, hn::Mul(half, z)), half);
          hn::Store(hn::Mul(z, s), d, at);
          hn::Store(hn::MulAdd(hn::Mul(z, s), hn::Sub(one, s), s), d, slopes + r * kStride + v * lanes);
          break;
        }
      }
    }
  }
}

// All layers for V vectors of atoms whose features are in the tile.
template <int V, typename T>
void ForwardAtoms(const BlockLayout& layout, const T* parameters, T* tile) {
  constexpr int64_t kStride = TileStride<T>();
  for (const BlockLayout::Layer& layer : layout.layers) {
    ForwardLayer<V>(layer, parameters, tile);
    if (layer.output_row == layout.result_row) break;
    ActivateRows<V>(layout.activation, layer.outputs, tile + layer.output_row * kStride,
                    layer.slope_row < 0 ? nullptr : tile + layer.slope_row * kStride);
  }
}

// d[i] = slope[i] * sum_o w[o, i] d_out[o] for R inputs from the one that `w` and `in` point at, written over the
// inputs. slopes: null where the polynomial of the inputs' values serves.
template <int R, int V, typename T>
HWY_INLINE void BackwardTile(const T* HWY_RESTRICT w, int num_inputs, int num_outputs, const T* d_out,
                             const SlopePolynomial& polynomial, const T* slopes, T* in) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> acc[R][V];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) acc[r][v] = hn::Zero(d);
  }
  for (int o = 0; o < num_outputs; ++o) {
    hn::Vec<decltype(d)> delta[V];
    for (int v = 0; v < V; ++v) delta[v] = hn::Load(d, d_out + o * kStride + v * lanes);
    for (int r = 0; r < R; ++r) {
      const auto weight = hn::Set(d, w[int64_t{o} * num_inputs + r]);
      for (int v = 0; v < V; ++v) acc[r][v] = hn::MulAdd(weight, delta[v], acc[r][v]);
    }
  }
  const auto c0 = hn::Set(d, T(polynomial.c0)), c1 = hn::Set(d, T(polynomial.c1)), c2 = hn::Set(d, T(polynomial.c2));
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      const int64_t at = r * kStride + v * lanes;
      const auto y = hn::Load(d, in + at);
      const auto slope = slopes ? hn::Load(d, slopes + at) : hn::MulAdd(hn::MulAdd(c2, y, c1), y, c0);
      hn::Store(hn::Mul(acc[r][v], slope), d, in + at);
    }
  }
}

template <int V, typename T>
HWY_INLINE void BackwardLayer(const BlockLayout::Layer& layer, const T* parameters, const SlopePolynomial& polynomial,
                              const T* slopes, T* tile) {
  constexpr int64_t kStride = TileStride<T>();
  const T* w = parameters + layer.weight;
  const T* d_out = tile + layer.output_row * kStride;
  T* in = tile + layer.input_row * kStride;
  const int ni = layer.inputs, no = layer.outputs;
  int i = 0;
  for (; i + kRows <= ni; i += kRows) {
    BackwardTile<kRows, V>(w + i, ni, no, d_out, polynomial, slopes ? slopes + i * kStride : slopes, in + i * kStride);
  }
  if (slopes) slopes += i * kStride;
  switch (ni - i) {
    case 3:
      return BackwardTile<3, V>(w + i, ni, no, d_out, polynomial, slopes, in + i * kStride);
    case 2:
      return BackwardTile<2, V>(w + i, ni, no, d_out, polynomial, slopes, in + i * kStride);
    case 1:
      return BackwardTile<1, V>(w + i, ni, no, d_out, polynomial, slopes, in + i * kStride);
  }
}

// out[i] = sum over lanes of v[i], for four vectors.
#if HWY_TARGET == HWY_SCALAR
template <class D, typename T>
HWY_INLINE void SumLanes4(D, const hn::Vec<D>* v, T* out) {
  for (int i = 0; i < 4; ++i) out[i] = hn::GetLane(v[i]);
}
#else
template <class D>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4> > SumOfQuarters(D d, hn::Vec<D> v) {
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

// gradient[o, i] += sum over n atoms of delta[o] in[i], for R outputs and four inputs. `columns` of those four exist;
// the others repeat the last.
template <int R, typename T>
HWY_INLINE void GradientTile(int n, const T* delta, const T* in, int columns, int num_inputs, T* gradient) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(d);
  const T* column[kGradientColumns];
  for (int c = 0; c < kGradientColumns; ++c) column[c] = in + std::min(c, columns - 1) * kStride;
  hn::Vec<decltype(d)> acc[R][kGradientColumns];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < kGradientColumns; ++c) acc[r][c] = hn::Zero(d);
  }
  for (int a = 0; a < n; a += lanes) {
    hn::Vec<decltype(d)> x[kGradientColumns];
    for (int c = 0; c < kGradientColumns; ++c) x[c] = hn::Load(d, column[c] + a);
    for (int r = 0; r < R; ++r) {
      const auto y = hn::Load(d, delta + r * kStride + a);
      for (int c = 0; c < kGradientColumns; ++c) acc[r][c] = hn::MulAdd(y, x[c], acc[r][c]);
    }
  }
  T sums[R][kGradientColumns];
  for (int r = 0; r < R; ++r) SumLanes4(d, acc[r], sums[r]);
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < columns; ++c) gradient[r * int64_t{num_inputs} + c] += sums[r][c];
  }
}

template <typename T>
void LayerGradient(const BlockLayout::Layer& layer, int n, const T* tile, T* gradients) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(d);
  const T* delta = tile + layer.output_row * kStride;
  const T* in = tile + layer.input_row * kStride;
  T* bias = gradients + layer.bias;
  for (int o = 0; o < layer.outputs; o += 4) {
    hn::Vec<decltype(d)> acc[4];
    const int count = std::min(4, layer.outputs - o);
    for (int r = 0; r < 4; ++r) {
      const T* row = delta + (o + std::min(r, count - 1)) * kStride;
      acc[r] = hn::Zero(d);
      for (int a = 0; a < n; a += lanes) acc[r] = hn::Add(acc[r], hn::Load(d, row + a));
    }
    T sums[4];
    SumLanes4(d, acc, sums);
    for (int r = 0; r < count; ++r) bias[o + r] += sums[r];
  }
  const int ni = layer.inputs;
  for (int i = 0; i < ni; i += kGradientColumns) {
    const int columns = std::min(kGradientColumns, ni - i);
    T* g = gradients + layer.weight + i;
    int o = 0;
    for (; o + kGradientRows <= layer.outputs; o += kGradientRows) {
      GradientTile<kGradientRows>(n, delta + o * kStride, in + i * kStride, columns, ni, g + int64_t{o} * ni);
    }
    for (; o < layer.outputs; ++o) {
      GradientTile<1>(n, delta + o * kStride, in + i * kStride, columns, ni, g + int64_t{o} * ni);
    }
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

template <typename T>
void Forward(const BlockLayout& layout, const T* parameters, const T* x, int n, T* tile) {
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  Transpose(x, n, layout.num_features, layout.num_features, tile, kStride);
  const int padded = (n + lanes - 1) / lanes * lanes;
  for (int f = 0; f < layout.num_features; ++f) {
    for (int a = n; a < padded; ++a) tile[f * kStride + a] = 0;
  }
  int a = 0;
  for (; a + kVecs * lanes <= padded; a += kVecs * lanes) ForwardAtoms<kVecs>(layout, parameters, tile + a);
  for (; a < padded; a += lanes) ForwardAtoms<1>(layout, parameters, tile + a);
}

template <typename T>
void Backward(const BlockLayout& layout, const T* parameters, int n, T* tile, T* gradients, T* x_gradients) {
  constexpr int64_t kStride = TileStride<T>();
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  const int padded = (n + lanes - 1) / lanes * lanes;
  for (int a = n; a < padded; ++a) tile[layout.result_row * kStride + a] = 0;  // padding adds exactly nothing
  for (int l = static_cast<int>(layout.layers.size()) - 1; l >= 0; --l) {
    const BlockLayout::Layer& layer = layout.layers[l];
    if (gradients != nullptr) LayerGradient(layer, padded, tile, gradients);
    if (l == 0 && x_gradients == nullptr) break;
    const SlopePolynomial polynomial = l == 0 ? SlopePolynomial{1, 0, 0} : SlopeOf(layout.activation);
    const int slope_row = l == 0 ? -1 : layout.layers[l - 1].slope_row;
    const T* slopes = slope_row < 0 ? nullptr : tile + slope_row * kStride;
    int a = 0;
    for (; a + kVecs * lanes <= padded; a += kVecs * lanes) {
      BackwardLayer<kVecs>(layer, parameters, polynomial, slopes ? slopes + a : slopes, tile + a);
    }
    for (; a < padded; a += lanes) {
      BackwardLayer<1>(layer, parameters, polynomial, slopes ? slopes + a : slopes, tile + a);
    }
  }
  if (x_gradients != nullptr) Transpose(tile, layout.num_features, n, kStride, x_gradients, layout.num_features);
}

void ForwardF32(const BlockLayout& layout, const float* parameters, const float* x, int n, float* tile) {
  Forward(layout, parameters, x, n, tile);
}
void ForwardF64(const BlockLayout& layout, const double* parameters, const double* x, int n, double* tile) {
  Forward(layout, parameters, x, n, tile);
}
void BackwardF32(const BlockLayout& layout, const float* parameters, int n, float* tile, float* g, float* x_g) {
  Backward(layout, parameters, n, tile, g, x_g);
}
void BackwardF64(const BlockLayout& layout, const double* parameters, int n, double* tile, double* g, double* x_g) {
  Backward(layout, parameters, n, tile, g, x_g);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(ForwardF32);
HWY_EXPORT(ForwardF64);
HWY_EXPORT(BackwardF32);
HWY_EXPORT(BackwardF64);

BlockLayout::BlockLayout(const NetworkShape& shape)
    : activation(shape.activation), num_features(shape.num_features), num_rows(shape.num_features) {
  const bool keeps_slopes = activation == Activation::kTwist || activation == Activation::kSilu;
  int input_row = 0;
  for (int l = 0; l < shape.num_layers(); ++l) {
    layers.push_back({shape.layer_inputs(l), shape.layer_outputs(l), shape.weight_offset(0, l), shape.bias_offset(0, l),
                      input_row, num_rows, -1});
    input_row = num_rows;
    num_rows += shape.layer_outputs(l);
  }
  result_row = num_rows - 1;
  for (int l = 0; keeps_slopes && l + 1 < shape.num_layers(); ++l) {
    layers[l].slope_row = num_rows;
    num_rows += shape.layer_outputs(l);
  }
}

void ForwardBlock(const BlockLayout& layout, const float* parameters, const float* x, int n, float* tile) {
  HWY_DYNAMIC_DISPATCH(ForwardF32)(layout, parameters, x, n, tile);
}
void ForwardBlock(const BlockLayout& layout, const double* parameters, const double* x, int n, double* tile) {
  HWY_DYNAMIC_DISPATCH(ForwardF64)(layout, parameters, x, n, tile);
}
void BackwardBlock(const BlockLayout& layout, const float* parameters, int n, float* tile, float* gradients,
                   float* x_gradients) {
  HWY_DYNAMIC_DISPATCH(BackwardF32)(layout, parameters, n, tile, gradients, x_gradients);
}
void BackwardBlock(const BlockLayout& layout, const double* parameters, int n, double* tile, double* gradients,
                   double* x_gradients) {
  HWY_DYNAMIC_DISPATCH(BackwardF64)(layout, parameters, n, tile, gradients, x_gradients);
}

}  // namespace rutile
#endif  // HWY_ONCE
