#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/network/kernels/network_fused.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include "lib/machine/simd.h"
#include "lib/network/kernels/network_fused-inl.h"
#include "lib/network/kernels/network_fused.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Prefetches V vectors of each of the rows at `features`.
template <int V, typename T>
HWY_INLINE void PrefetchFeatures(int num_features, const T* features) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t numbers = V * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (int f = 0; f < num_features; ++f) {
    for (int64_t a = 0; a < numbers; a += kLine) hwy::Prefetch(features + f * TileStride<T>() + a);
  }
}

// Runs all layers for V vectors of atoms. features: their feature rows, in the tile or in a cache. next: the feature
// rows of the next block, or null. Cached features have left the processor's caches since they were last read; they are
// prefetched after the first layer, which itself waits for loads.
template <typename T>
struct ForwardPass {
  const BlockLayout& layout;
  const T* parameters;
  const T* features;
  const T* next;
  int padded;
  T* tile;

  // Prefetches the features that follow those of the atoms before `end`.
  template <int V>
  HWY_INLINE void AskForNext(int end) const {
    if (features != tile && end < padded) {
      PrefetchFeatures<V>(layout.num_features, features + end);
    } else if (next != nullptr) {
      PrefetchFeatures<V>(layout.num_features, next);
    }
  }

  template <int V>
  HWY_INLINE void Run(int atom) const {
    constexpr int64_t kStride = TileStride<T>();
    const int end = atom + V * static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
    T* const at = tile + atom;
    for (const BlockLayout::Layer& layer : layout.layers) {
      const T* const in = layer.input_row == 0 ? features + atom : at + layer.input_row * kStride;
      ForwardLayer<V>(layer, parameters, in, at);
      if (layer.input_row == 0) AskForNext<V>(end);
      if (layer.output_row == layout.result_row) break;
      ActivateRows<V, T>(layout.activation, layer.outputs, at + layer.output_row * kStride,
                         layer.slope_row < 0 ? nullptr : at + layer.slope_row * kStride, nullptr);
    }
  }
};

// Multiplies the product by the slope and stores it over the inputs: d[i] = slope[i] product[i]. slopes: null if the
// slope is the polynomial of the input's value.
template <typename T>
struct BackwardEnds {
  const SlopePolynomial& polynomial;
  const T* slopes;
  T* in;

  template <int R, int V>
  HWY_INLINE void Begin(int, VecOf<T> (&acc)[R][V]) const {
    SetZero<R, V, T>(acc);
  }
  template <int R, int V>
  HWY_INLINE void End(int i, const VecOf<T> (&acc)[R][V]) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    const auto c0 = hn::Set(d, T(polynomial.c0)), c1 = hn::Set(d, T(polynomial.c1)), c2 = hn::Set(d, T(polynomial.c2));
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        const int64_t at = (i + r) * TileStride<T>() + v * lanes;
        const auto y = hn::Load(d, in + at);
        const auto slope = slopes ? hn::Load(d, slopes + at) : hn::MulAdd(hn::MulAdd(c2, y, c1), y, c0);
        hn::Store(hn::Mul(acc[r][v], slope), d, in + at);
      }
    }
  }
};

// Overwrites one layer's inputs with d loss/d(input before its activation).
template <typename T>
struct BackwardPass {
  const BlockLayout::Layer& layer;
  const T* parameters;
  SlopePolynomial polynomial;
  const T* slopes;
  T* tile;

  template <int V>
  HWY_INLINE void Run(int atom) const {
    constexpr int64_t kStride = TileStride<T>();
    T* const at = tile + atom;
    Multiply<V>(Back<T>(layer, parameters, at + layer.output_row * kStride),
                BackwardEnds<T>{polynomial, slopes ? slopes + atom : slopes, at + layer.input_row * kStride});
  }
};

template <typename T>
void Forward(const BlockLayout& layout, const T* parameters, const T* features, const T* next, int n, T* tile) {
  const int padded = Padded<T>(n);
  ForVectors<T>(padded, ForwardPass<T>{layout, parameters, features, next, padded, tile});
}

template <typename T>
void Backward(const BlockLayout& layout, const T* parameters, int n, T* tile, T* gradients, T* x_gradients) {
  constexpr int64_t kStride = TileStride<T>();
  const int padded = Padded<T>(n);
  for (int a = n; a < padded; ++a) tile[layout.result_row * kStride + a] = 0;  // padding adds exactly nothing
  for (int l = static_cast<int>(layout.layers.size()) - 1; l >= 0; --l) {
    const BlockLayout::Layer& layer = layout.layers[l];
    if (gradients != nullptr) {
      const T* delta = tile + layer.output_row * kStride;
      AddRowSums(padded, delta, layer.outputs, gradients + layer.bias);
      AddOuterProducts(padded, OuterProduct<T, 1>{{delta}, {tile + layer.input_row * kStride}}, layer.outputs,
                       layer.inputs, layout.gradients, gradients + layer.weight);
    }
    if (l == 0 && x_gradients == nullptr) break;
    const SlopePolynomial polynomial = l == 0 ? SlopePolynomial{1, 0, 0} : SlopeOf(layout.activation);
    const int slope_row = l == 0 ? -1 : layout.layers[l - 1].slope_row;
    const T* slopes = slope_row < 0 ? nullptr : tile + slope_row * kStride;
    ForVectors<T>(padded, BackwardPass<T>{layer, parameters, polynomial, slopes, tile});
  }
  if (x_gradients != nullptr) Transpose(tile, layout.num_features, n, kStride, x_gradients, layout.num_features);
}

void TurnF32(int num_features, const float* x, const int64_t* row, int n, float* transposed) {
  ReadRows(x, row, n, num_features, transposed);
}
void TurnF64(int num_features, const double* x, const int64_t* row, int n, double* transposed) {
  ReadRows(x, row, n, num_features, transposed);
}
void ForwardF32(const BlockLayout& layout, const float* parameters, const float* features, const float* next, int n,
                float* tile) {
  Forward(layout, parameters, features, next, n, tile);
}
void ForwardF64(const BlockLayout& layout, const double* parameters, const double* features, const double* next, int n,
                double* tile) {
  Forward(layout, parameters, features, next, n, tile);
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

HWY_EXPORT(TurnF32);
HWY_EXPORT(TurnF64);
HWY_EXPORT(ForwardF32);
HWY_EXPORT(ForwardF64);
HWY_EXPORT(BackwardF32);
HWY_EXPORT(BackwardF64);

BlockLayout::BlockLayout(const NetworkShape& shape, GradientForm gradients)
    : activation(shape.activation),
      gradients(gradients),
      num_features(shape.num_features),
      num_rows(shape.num_features) {
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

void TransposeBlock(int num_features, const float* x, const int64_t* row, int n, float* transposed) {
  HWY_DYNAMIC_DISPATCH(TurnF32)(num_features, x, row, n, transposed);
}
void TransposeBlock(int num_features, const double* x, const int64_t* row, int n, double* transposed) {
  HWY_DYNAMIC_DISPATCH(TurnF64)(num_features, x, row, n, transposed);
}
void ForwardTransposedBlock(const BlockLayout& layout, const float* parameters, const float* transposed,
                            const float* next, int n, float* tile) {
  HWY_DYNAMIC_DISPATCH(ForwardF32)(layout, parameters, transposed, next, n, tile);
}
void ForwardTransposedBlock(const BlockLayout& layout, const double* parameters, const double* transposed,
                            const double* next, int n, double* tile) {
  HWY_DYNAMIC_DISPATCH(ForwardF64)(layout, parameters, transposed, next, n, tile);
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
