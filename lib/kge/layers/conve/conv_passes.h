// ConvE's convolution fused with the layers around it, as few passes over its large arrays as the method allows.
//
//   z[c, p] = sum_k w[c, k] x[p + k] + bias[c]        p: position in the map, k: tap of the kernel
//   a[c, p] = scale[c] max(0, gain[c] z[c, p] + shift[c])    bn1, relu and dropout of channels
//
// z is never stored. Its mean and variance follow from the means and products of the patches of the images, x_k(p) =
// x[p + k]; gain and w are multiplied into one weight; and of the gradient at z,
//
//   dz = gain (dy - mean(dy) - zhat mean(dy zhat)),   zhat = (z - mean) / deviation,
//
// only dy is as large as a: the other terms are linear in the patches, and are computed from their products, too.
//
// Arrays are [examples, ...], row-major; images are [image_height, image_width]. The number of examples may be 0;
// results of an example do not depend on the others. Sums over examples are overwritten.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_CONV_PASSES_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_CONV_PASSES_H_

#include <cstdint>

#include "lib/kge/layers/conve/conv_shape.h"

namespace rutile {

// Returns how many numbers of scratch memory a pass needs; the memory must be aligned to 64 bytes.
int64_t ConvScratchSize(const ConvShape& shape);

// Sums over all positions of all examples: sums [K] of x_k - origin, and products [K, K] of two of these.
template <typename T>
void PatchMoments(const ConvShape& shape, int64_t examples, const T* images, T origin, T* scratch, double* sums,
                  double* products);

// Computes maps [examples, C, P] = scales[e, c] max(0, sum_k weight[c, k] x_k(p) + bias[c]). scales may be null if all
// are 1.
template <typename T>
void ConvForward(const ConvShape& shape, int64_t examples, const T* images, const T* weight, const T* bias,
                 const T* scales, T* scratch, T* maps);

// Computes gradients from the maps of ConvForward and d_maps = d loss / d maps. dy = scale d_map where the map is
// positive, else 0.
//   weight_sums [C, K]  sum over examples and positions of dy_c x_k       sums [C]  of dy_c
//   d_images            sum over c, k of weight[c, k] dy_c(p - k): the gradient before NormCorrection
template <typename T>
void ConvBackward(const ConvShape& shape, int64_t examples, const T* images, const T* weight, const T* scales,
                  const T* maps, const T* d_maps, T* scratch, T* weight_sums, T* sums, T* d_images);

// Subtracts the norm's terms: d_images[p + k] -= constant[k] + sum_l matrix[k, l] x_l(p), for all p and k.
template <typename T>
void NormCorrection(const ConvShape& shape, int64_t examples, const T* images, const T* matrix, const T* constant,
                    T* scratch, T* d_images);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_CONV_PASSES_H_
