// Building blocks that the passes over a block of atoms share: products of weights with rows, activations, and copies
// of features into a tile. network_fused.h explains tiles. Highway compiles this file once for each instruction set.

// Read again for each target.
#if defined(RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_INL_H_
#undef RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_INL_H_
#else
#define RUTILE_LIB_NETWORK_KERNELS_NETWORK_FUSED_INL_H_
#endif

#include <algorithm>

#include "lib/machine/simd.h"
#include "lib/network/kernels/activation-inl.h"
#include "lib/network/kernels/network_fused.h"
#include "lib/network/kernels/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Starts each sum of a product with bias[o] and stores the result to out[o].
template <typename T>
struct ForwardEnds {
  const T* bias;
  T* out;

  template <int R, int V>
  HWY_INLINE void Begin(int o, VecOf<T> (&acc)[R][V]) const {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) acc[r][v] = hn::Set(hn::ScalableTag<T>(), bias[o + r]);
    }
  }
  template <int R, int V>
  HWY_INLINE void End(int o, const VecOf<T> (&acc)[R][V]) const {
    const hn::ScalableTag<T> d;
    const int lanes = hn::Lanes(d);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) hn::Store(acc[r][v], d, out + (o + r) * TileStride<T>() + v * lanes);
    }
  }
};

// Applies y = f(y) to `count` rows of V vectors. Where f' does not follow from the value (twist, silu), it is stored to
// `slopes`, and f'' to `curvatures` unless that is null.
template <int V, typename T>
HWY_INLINE void ActivateRows(Activation activation, int count, T* rows, T* slopes, T* curvatures) {
  const hn::ScalableTag<T> d;
  const int lanes = hn::Lanes(d);
  for (int r = 0; r < count; ++r) {
    for (int v = 0; v < V; ++v) {
      const int64_t offset = r * TileStride<T>() + v * lanes;
      ActivateVector(d, activation, hn::Load(d, rows + offset), rows + offset,
                     slopes == nullptr ? nullptr : slopes + offset,
                     curvatures == nullptr ? nullptr : curvatures + offset);
    }
  }
}

// The products W in (Onward) and W^T d_out (Back) of one layer, over the rows of a tile.
template <typename T>
HWY_INLINE Product<T> Onward(const BlockLayout::Layer& layer, const T* parameters, const T* in) {
  return {parameters + layer.weight, layer.inputs, 1, layer.outputs, layer.inputs, in};
}
template <typename T>
HWY_INLINE Product<T> Back(const BlockLayout::Layer& layer, const T* parameters, const T* d_out) {
  return {parameters + layer.weight, 1, layer.inputs, layer.inputs, layer.outputs, d_out};
}

// Computes one layer before its activation for V vectors of atoms. `in` is the first row of the layer's input.
template <int V, typename T>
HWY_INLINE void ForwardLayer(const BlockLayout::Layer& layer, const T* parameters, const T* in, T* tile) {
  Multiply<V>(Onward<T>(layer, parameters, in),
              ForwardEnds<T>{parameters + layer.bias, tile + layer.output_row * TileStride<T>()});
}

// Rounds n up to whole vectors.
template <typename T>
HWY_INLINE int Padded(int n) {
  const int lanes = hn::Lanes(hn::ScalableTag<T>());
  return (n + lanes - 1) / lanes * lanes;
}

// Fills the first rows of a tile with the features x [n, F], or with rows row[0 .. n) of x if `row` is not null.
// Padding is set to 0.
template <typename T>
HWY_INLINE void ReadRows(const T* x, const int64_t* row, int n, int num_features, T* tile) {
  if (row == nullptr) {
    Transpose(x, n, num_features, num_features, tile, TileStride<T>());
  } else {
    TransposeRows([=](int64_t a) { return x + row[a] * num_features; }, n, num_features, tile, TileStride<T>());
  }
  const int padded = Padded<T>(n);
  for (int f = 0; f < num_features; ++f) {
    for (int a = n; a < padded; ++a) tile[f * TileStride<T>() + a] = 0;
  }
}

// Calls pass.Run<V>(first atom) until all `padded` atoms are done.
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
