// What lies between the matrix products of a wide network: activations, their slopes, and sums over atoms. Numbers of a
// layer are a matrix [atoms, neurons], row-major.

#ifndef RUTILE_LIB_NETWORK_GEMM_EPILOGUE_H_
#define RUTILE_LIB_NETWORK_GEMM_EPILOGUE_H_

#include <cstdint>

#include "lib/network/network_shape.h"

namespace rutile {

// A hidden layer for some atoms. Each matrix is [rows, stride], 64-byte aligned, and stride a multiple of a cache line;
// of a row the first `width` count, and the rest is overwritten with anything.
template <typename T>
struct GemmEpilogue {
  Activation activation;
  int64_t rows, width, stride;
  T* values;      // z = f(a)
  T* slopes;      // f'(a), of twist and silu alone; null for the others
  T* deltas;      // d = f' u
  T* curvatures;  // f''(a), then f'' u, of twist and silu alone; null for the others
};

// Where slopes and curvatures are matrices of their own: they do not follow from the value.
inline bool KeepsSlopes(Activation activation) {
  return activation == Activation::kTwist || activation == Activation::kSilu;
}

// values = f(values + bias), and slopes and curvatures (may be null) with them. T is float or double in all of these.
template <typename T>
void ActivateLayer(const GemmEpilogue<T>& layer, const T* bias);

// Of u in deltas: deltas = f' u, and where there are curvatures these are multiplied by u.
template <typename T>
void SlopesToDeltas(const GemmEpilogue<T>& layer);
// The same of u[a, i] = scales[a] weights[i], as of the last hidden layer. scales: [rows], or null: 1.
template <typename T>
void OutputSlopesToDeltas(const GemmEpilogue<T>& layer, const T* scales, const T* weights);

// tangent holds adot: mu = f'' u adot, tangent = f' adot. Both are matrices as of the layer.
template <typename T>
void TangentsOfLayer(const GemmEpilogue<T>& layer, T* tangent, T* mu);
// mu += f' product.
template <typename T>
void AddReversed(const GemmEpilogue<T>& layer, const T* product, T* mu);
// mu = scales[a] deltas, or += with `add`.
template <typename T>
void ScaledDeltas(const GemmEpilogue<T>& layer, const T* scales, bool add, T* mu);

// out[i] += sum over rows of scales[a] from[a, i], for i < width. scales: [rows], or null: 1.
template <typename T>
void AddColumnSums(const T* from, int64_t rows, int64_t width, int64_t stride, const T* scales, T* out);
// out[a] = from[a] . weights + bias.
template <typename T>
void RowDots(const T* from, int64_t rows, int64_t width, int64_t stride, const T* weights, T bias, T* out);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_GEMM_EPILOGUE_H_
