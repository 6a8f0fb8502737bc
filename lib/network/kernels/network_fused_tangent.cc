#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/network/kernels/network_fused_tangent.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>

#include "lib/machine/simd.h"
#include "lib/network/kernels/network_fused-inl.h"
#include "lib/network/kernels/network_fused_tangent.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The stored rows of one hidden layer, from its first neuron on.
template <typename T>
struct HiddenRows {
  const T* values;
  const T* slopes;      // null if computed from the value
  const T* deltas;      // d
  const T* curvatures;  // f'' u; null if computed from value and d
};

template <typename T>
HWY_INLINE HiddenRows<T> RowsOf(const TangentLayout& layout, int l, const T* tile) {
  constexpr int64_t kStride = TileStride<T>();
  const BlockLayout::Layer& layer = layout.values.layers[l];
  return {tile + layer.output_row * kStride, layer.slope_row < 0 ? nullptr : tile + layer.slope_row * kStride,
          tile + layout.delta_row[l] * kStride,
          layout.curvature_row[l] < 0 ? nullptr : tile + layout.curvature_row[l] * kStride};
}

// The coefficients of a SlopePolynomial in registers.
template <typename T>
struct SlopeFunction {
  explicit HWY_INLINE SlopeFunction(const SlopePolynomial& p)
      : c0(hn::Set(hn::ScalableTag<T>(), T(p.c0))),
        c1(hn::Set(hn::ScalableTag<T>(), T(p.c1))),
        c2(hn::Set(hn::ScalableTag<T>(), T(p.c2))) {}

  // Returns f' at offset `at` of the rows.
  HWY_INLINE VecOf<T> Slope(const HiddenRows<T>& rows, int64_t at) const {
    const hn::ScalableTag<T> d;
    if (rows.slopes != nullptr) return hn::Load(d, rows.slopes + at);
    const auto y = hn::Load(d, rows.values + at);
    return hn::MulAdd(hn::MulAdd(c2, y, c1), y, c0);
  }
  // f'' u = (c1 + 2 c2 y) f' u = (c1 + 2 c2 y) d.
  HWY_INLINE VecOf<T> Curvature(const HiddenRows<T>& rows, int64_t at) const {
    const hn::ScalableTag<T> d;
    if (rows.curvatures != nullptr) return hn::Load(d, rows.curvatures + at);
    const auto y = hn::Load(d, rows.values + at);
    return hn::Mul(hn::MulAdd(hn::Add(c2, c2), y, c1), hn::Load(d, rows.deltas + at));
  }

  VecOf<T> c0, c1, c2;
};

// Stores deltas[i] = slope[i] product[i], and turns the stored curvatures from f'' into f'' u.
template <typename T>
struct DeltaEnds {
  SlopePolynomial polynomial;
  HiddenRows<T> rows;
  T* deltas;
  T* curvatures;

  template <int R, int V>
  HWY_INLINE void Begin(int, VecOf<T> (&acc)[R][V]) const {
    SetZero<R, V, T>(acc);
  }
  template <int R, int V>
  HWY_INLINE void End(int i, const VecOf<T> (&acc)[R][V]) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    const SlopeFunction<T> function(polynomial);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        const int64_t at = (i + r) * TileStride<T>() + v * lanes;
        hn::Store(hn::Mul(acc[r][v], function.Slope(rows, at)), d, deltas + at);
        if (curvatures) hn::Store(hn::Mul(acc[r][v], hn::Load(d, curvatures + at)), d, curvatures + at);
      }
    }
  }
};

// Stores the product to out[i].
template <typename T>
struct PlainEnds {
  T* out;

  template <int R, int V>
  HWY_INLINE void Begin(int, VecOf<T> (&acc)[R][V]) const {
    SetZero<R, V, T>(acc);
  }
  template <int R, int V>
  HWY_INLINE void End(int i, const VecOf<T> (&acc)[R][V]) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) hn::Store(acc[r][v], d, out + (i + r) * TileStride<T>() + v * lanes);
    }
  }
};

// Runs the network forward, then back to its inputs, for V vectors of atoms whose features are in the tile.
template <typename T>
struct DerivativePass {
  const TangentLayout& layout;
  const T* parameters;
  T* tile;
  T* x_gradients;  // [F] rows

  template <int V>
  HWY_INLINE void Run(int atom) const {
    constexpr int64_t kStride = TileStride<T>();
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    const BlockLayout& values = layout.values;
    const int last = static_cast<int>(values.layers.size()) - 1;
    const SlopePolynomial polynomial = SlopeOf(values.activation);
    T* const at = tile + atom;
    for (int l = 0; l <= last; ++l) {
      const BlockLayout::Layer& layer = values.layers[l];
      ForwardLayer<V>(layer, parameters, at + layer.input_row * TileStride<T>(), at);
      if (l == last) break;
      ActivateRows<V, T>(values.activation, layer.outputs, at + layer.output_row * kStride,
                         layer.slope_row < 0 ? nullptr : at + layer.slope_row * kStride,
                         layout.curvature_row[l] < 0 ? nullptr : at + layout.curvature_row[l] * kStride);
    }
    for (int v = 0; v < V; ++v) hn::Store(hn::Set(d, T(1)), d, at + layout.delta_row[last] * kStride + v * lanes);
    for (int l = last; l >= 0; --l) {
      const BlockLayout::Layer& layer = values.layers[l];
      const Product<T> product = Back<T>(layer, parameters, at + layout.delta_row[l] * kStride);
      if (l == 0) {
        Multiply<V>(product, PlainEnds<T>{x_gradients + atom});
      } else {
        const int curvature = layout.curvature_row[l - 1];
        Multiply<V>(product, DeltaEnds<T>{polynomial, RowsOf(layout, l - 1, at), at + layout.delta_row[l - 1] * kStride,
                                          curvature < 0 ? nullptr : at + curvature * kStride});
      }
    }
  }
};

// From adot = W zdot_in, computes zdot = f' adot and mu = f'' u adot.
template <typename T>
struct TangentEnds {
  SlopePolynomial polynomial;
  HiddenRows<T> rows;
  T* zdot;
  T* mu;

  template <int R, int V>
  HWY_INLINE void Begin(int, VecOf<T> (&acc)[R][V]) const {
    SetZero<R, V, T>(acc);
  }
  template <int R, int V>
  HWY_INLINE void End(int o, const VecOf<T> (&acc)[R][V]) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    const SlopeFunction<T> function(polynomial);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        const int64_t at = (o + r) * TileStride<T>() + v * lanes;
        hn::Store(hn::Mul(acc[r][v], function.Slope(rows, at)), d, zdot + at);
        hn::Store(hn::Mul(acc[r][v], function.Curvature(rows, at)), d, mu + at);
      }
    }
  }
};

// Adds f'[i] product[i] to mu[i].
template <typename T>
struct ReverseEnds {
  SlopePolynomial polynomial;
  HiddenRows<T> rows;
  T* mu;

  template <int R, int V>
  HWY_INLINE void Begin(int, VecOf<T> (&acc)[R][V]) const {
    SetZero<R, V, T>(acc);
  }
  template <int R, int V>
  HWY_INLINE void End(int i, const VecOf<T> (&acc)[R][V]) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    const SlopeFunction<T> function(polynomial);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        const int64_t at = (i + r) * TileStride<T>() + v * lanes;
        hn::Store(hn::MulAdd(acc[r][v], function.Slope(rows, at), hn::Load(d, mu + at)), d, mu + at);
      }
    }
  }
};

// The scratch holds zdot in the rows that values have in a tile, then mu of the hidden layers, then one more row.
template <typename T>
HWY_INLINE T* MuRow(const TangentLayout& layout, int l, T* scratch) {
  return scratch + (layout.values.result_row + layout.delta_row[l] - layout.delta_row[0]) * TileStride<T>();
}

// Propagates tangents forward and mu back, for V vectors of atoms whose tangents are in the scratch.
template <typename T>
struct TangentPass {
  const TangentLayout& layout;
  const T* parameters;
  const T* tile;
  T* scratch;

  template <int V>
  HWY_INLINE void Run(int atom) const {
    constexpr int64_t kStride = TileStride<T>();
    const BlockLayout& values = layout.values;
    const int last = static_cast<int>(values.layers.size()) - 1;
    const SlopePolynomial polynomial = SlopeOf(values.activation);
    T* const at = scratch + atom;
    for (int l = 0; l < last; ++l) {
      const BlockLayout::Layer& layer = values.layers[l];
      Multiply<V>(Onward<T>(layer, parameters, at + layer.input_row * kStride),
                  TangentEnds<T>{polynomial, RowsOf(layout, l, tile + atom), at + layer.output_row * kStride,
                                 MuRow(layout, l, at)});
    }
    for (int l = last - 1; l > 0; --l) {
      const BlockLayout::Layer& layer = values.layers[l];
      Multiply<V>(Back<T>(layer, parameters, MuRow(layout, l, at)),
                  ReverseEnds<T>{polynomial, RowsOf(layout, l - 1, tile + atom), MuRow(layout, l - 1, at)});
    }
  }
};

// Overwrites the tangents of the features, which nothing needs any longer, with W^T mu of the first layer.
template <typename T>
struct SecondPass {
  const TangentLayout& layout;
  const T* parameters;
  T* scratch;

  template <int V>
  HWY_INLINE void Run(int atom) const {
    Multiply<V>(Back<T>(layout.values.layers[0], parameters, MuRow(layout, 0, scratch + atom)),
                PlainEnds<T>{scratch + atom});
  }
};

template <typename T>
void ForwardWithInputGradients(const TangentLayout& layout, const T* parameters, const T* x, int n, T* tile, T* scratch,
                               T* x_gradients) {
  const int num_features = layout.values.num_features;
  ReadRows<T>(x, nullptr, n, num_features, tile);
  ForVectors<T>(Padded<T>(n), DerivativePass<T>{layout, parameters, tile, scratch});
  Transpose(scratch, num_features, n, TileStride<T>(), x_gradients, num_features);
}

// Adds slope d to mu of all layers or, without `add`, sets mu to it. `slopes` has zeros beyond the last atom.
template <typename T>
void AddScaledDeltas(const TangentLayout& layout, int padded, const T* slopes, bool add, const T* tile, T* scratch) {
  const hn::ScalableTag<T> d;
  const int lanes = hn::Lanes(d);
  const int rows = layout.delta_row.back() - layout.delta_row.front();
  const T* deltas = tile + layout.delta_row[0] * TileStride<T>();
  T* mu = MuRow(layout, 0, scratch);
  for (int r = 0; r < rows; ++r, deltas += TileStride<T>(), mu += TileStride<T>()) {
    for (int a = 0; a < padded; a += lanes) {
      const auto delta = hn::Load(d, deltas + a), slope = hn::Load(d, slopes + a);
      hn::Store(add ? hn::MulAdd(delta, slope, hn::Load(d, mu + a)) : hn::Mul(delta, slope), d, mu + a);
    }
  }
}

template <typename T>
void AddGradients(const TangentLayout& layout, const T* parameters, int n, const T* slopes, const T* tangents,
                  const T* tile, T* scratch, T* gradients, T* x_second) {
  constexpr int64_t kStride = TileStride<T>();
  const BlockLayout& values = layout.values;
  const int last = static_cast<int>(values.layers.size()) - 1;
  const int padded = Padded<T>(n);
  if (tangents != nullptr) {
    ReadRows<T>(tangents, nullptr, n, values.num_features, scratch);
    ForVectors<T>(padded, TangentPass<T>{layout, parameters, tile, scratch});
  }
  T* const last_mu = MuRow(layout, last, scratch);  // d = 1 there
  if (slopes != nullptr) {
    std::copy(slopes, slopes + n, last_mu);
    std::fill(last_mu + n, last_mu + padded, T(0));  // padding adds exactly nothing
    AddScaledDeltas(layout, padded, last_mu, tangents != nullptr, tile, scratch);
  }
  for (int l = 0; l <= last; ++l) {
    const BlockLayout::Layer& layer = values.layers[l];
    const T* mu = MuRow(layout, l, scratch);
    const T* z = tile + layer.input_row * kStride;
    const T* zdot = scratch + layer.input_row * kStride;
    const T* delta = tile + layout.delta_row[l] * kStride;
    T* w = gradients + layer.weight;
    if (l == last) {
      if (tangents != nullptr) AddRowSums(padded, zdot, layer.inputs, w);
      if (slopes == nullptr) break;
    }
    AddRowSums(padded, mu, layer.outputs, gradients + layer.bias);
    if (l < last && tangents != nullptr) {
      AddOuterProducts(padded, OuterProduct<T, 2>{{delta, mu}, {zdot, z}}, layer.outputs, layer.inputs,
                       values.gradients, w);
    } else {
      AddOuterProducts(padded, OuterProduct<T, 1>{{mu}, {z}}, layer.outputs, layer.inputs, values.gradients, w);
    }
  }
  if (x_second == nullptr) return;
  if (last == 0 && slopes == nullptr) {
    std::fill_n(x_second, int64_t{n} * values.num_features, T(0));
    return;
  }
  ForVectors<T>(padded, SecondPass<T>{layout, parameters, scratch});
  Transpose(scratch, values.num_features, n, kStride, x_second, values.num_features);
}

void DerivativesF32(const TangentLayout& layout, const float* parameters, const float* x, int n, float* tile,
                    float* scratch, float* x_gradients) {
  ForwardWithInputGradients(layout, parameters, x, n, tile, scratch, x_gradients);
}
void DerivativesF64(const TangentLayout& layout, const double* parameters, const double* x, int n, double* tile,
                    double* scratch, double* x_gradients) {
  ForwardWithInputGradients(layout, parameters, x, n, tile, scratch, x_gradients);
}
void GradientsF32(const TangentLayout& layout, const float* parameters, int n, const float* slopes,
                  const float* tangents, const float* tile, float* scratch, float* gradients, float* x_second) {
  AddGradients(layout, parameters, n, slopes, tangents, tile, scratch, gradients, x_second);
}
void GradientsF64(const TangentLayout& layout, const double* parameters, int n, const double* slopes,
                  const double* tangents, const double* tile, double* scratch, double* gradients, double* x_second) {
  AddGradients(layout, parameters, n, slopes, tangents, tile, scratch, gradients, x_second);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(DerivativesF32);
HWY_EXPORT(DerivativesF64);
HWY_EXPORT(GradientsF32);
HWY_EXPORT(GradientsF64);

TangentLayout::TangentLayout(const NetworkShape& shape, GradientForm gradients)
    : values(shape, gradients), num_rows(values.num_rows) {
  const bool keeps_curvatures = shape.activation == Activation::kTwist || shape.activation == Activation::kSilu;
  for (const BlockLayout::Layer& layer : values.layers) {
    delta_row.push_back(num_rows);
    num_rows += layer.outputs;
  }
  for (int l = 0; l + 1 < shape.num_layers(); ++l) {
    curvature_row.push_back(keeps_curvatures ? num_rows : -1);
    if (keeps_curvatures) num_rows += shape.layer_outputs(l);
  }
  num_scratch_rows = values.result_row + (delta_row.back() - delta_row.front()) + 1;
}

void ForwardWithInputGradientsBlock(const TangentLayout& layout, const float* parameters, const float* x, int n,
                                    float* tile, float* scratch, float* x_gradients) {
  HWY_DYNAMIC_DISPATCH(DerivativesF32)(layout, parameters, x, n, tile, scratch, x_gradients);
}
void ForwardWithInputGradientsBlock(const TangentLayout& layout, const double* parameters, const double* x, int n,
                                    double* tile, double* scratch, double* x_gradients) {
  HWY_DYNAMIC_DISPATCH(DerivativesF64)(layout, parameters, x, n, tile, scratch, x_gradients);
}
void AddGradientsBlock(const TangentLayout& layout, const float* parameters, int n, const float* slopes,
                       const float* tangents, const float* tile, float* scratch, float* gradients, float* x_second) {
  HWY_DYNAMIC_DISPATCH(GradientsF32)(layout, parameters, n, slopes, tangents, tile, scratch, gradients, x_second);
}
void AddGradientsBlock(const TangentLayout& layout, const double* parameters, int n, const double* slopes,
                       const double* tangents, const double* tile, double* scratch, double* gradients,
                       double* x_second) {
  HWY_DYNAMIC_DISPATCH(GradientsF64)(layout, parameters, n, slopes, tangents, tile, scratch, gradients, x_second);
}

}  // namespace rutile
#endif  // HWY_ONCE
