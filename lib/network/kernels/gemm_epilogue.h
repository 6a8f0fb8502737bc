// Elementwise work between the matrix products of a wide network: activations, their slopes, and sums over atoms. The
// values of a layer are a row-major matrix [atoms, neurons].

#ifndef RUTILE_LIB_NETWORK_KERNELS_GEMM_EPILOGUE_H_
#define RUTILE_LIB_NETWORK_KERNELS_GEMM_EPILOGUE_H_

#include <cstdint>

#include "lib/network/network_shape.h"

namespace rutile {

// The matrices of one hidden layer for a block of atoms. Each is [rows, stride], 64-byte aligned, and `stride` is a
// multiple of a cache line. Only the first `width` elements of a row count; the others are overwritten with unspecified
// values.
template <typename T>
struct GemmEpilogue {
  Activation activation;
  int64_t rows, width, stride;
  T* values;      // z = f(a)
  T* slopes;      // f'(a) for twist and silu; null for the others
  T* deltas;      // d = f' u
  T* curvatures;  // f''(a), later f'' u, for twist and silu; null for the others
};

// True if slopes and curvatures are stored as matrices, because they do not follow from the value of the activation.
inline bool KeepsSlopes(Activation activation) {
  return activation == Activation::kTwist || activation == Activation::kSilu;
}

// Sets values = f(values + bias), and stores slopes and curvatures unless they are null. In all functions below, T is
// float or double.
template <typename T>
void ActivateLayer(const GemmEpilogue<T>& layer, const T* bias);

// On entry `deltas` holds u. Sets deltas = f' u and, where the layer has curvatures, multiplies these by u.
template <typename T>
void SlopesToDeltas(const GemmEpilogue<T>& layer);
// Does for the last hidden layer what SlopesToDeltas does for the others: there u[a, i] = scales[a] weights[i]. scales:
// [rows], or null for 1.
template <typename T>
void OutputSlopesToDeltas(const GemmEpilogue<T>& layer, const T* scales, const T* weights);

// On entry `tangent` holds adot. Sets mu = f'' u adot and tangent = f' adot. Both are matrices of the layer's shape.
template <typename T>
void TangentsOfLayer(const GemmEpilogue<T>& layer, T* tangent, T* mu);
// Adds f' product to `mu`.
template <typename T>
void AddReversed(const GemmEpilogue<T>& layer, const T* product, T* mu);
// Sets mu[a, i] = scales[a] deltas[a, i], or adds this to `mu` if `add`.
template <typename T>
void ScaledDeltas(const GemmEpilogue<T>& layer, const T* scales, bool add, T* mu);

// Adds to out[i], for i < width, the sum over rows a of scales[a] from[a, i]. scales: [rows], or null for 1.
template <typename T>
void AddColumnSums(const T* from, int64_t rows, int64_t width, int64_t stride, const T* scales, T* out);
// Sets out[a] to the dot product of row a with `weights`, plus `bias`.
template <typename T>
void RowDots(const T* from, int64_t rows, int64_t width, int64_t stride, const T* weights, T bias, T* out);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNELS_GEMM_EPILOGUE_H_
