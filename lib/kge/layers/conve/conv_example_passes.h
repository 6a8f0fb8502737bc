// The backward pass of conv_passes.h with separate results for each example, for influence.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_CONV_EXAMPLE_PASSES_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_CONV_EXAMPLE_PASSES_H_

#include <cstdint>

#include "lib/kge/layers/conve/conv_passes.h"

namespace rutile {

// Computes gradients of the convolution for each example. Example e has image key[e] and that image's maps; maps of
// consecutive images are map_stride numbers apart, d_maps of consecutive examples d_map_stride. Consecutive examples
// with one key share work. dy = d_map where the map is positive, else 0.
//
//   weight_sums [examples, C, K]  sum over positions of dy_c x_k     sums [examples, C]  of dy_c
//   d_images [examples, image]    sum over c, k of weight[c, k] dy_c(p - k): is added to
//
// `scratch` has ConvScratchSize numbers. Defined for float and double.
template <typename T>
void ConvBackwardEach(const ConvShape& shape, int64_t examples, const int32_t* key, const T* images, const T* weight,
                      const T* maps, int64_t map_stride, const T* d_maps, int64_t d_map_stride, T* scratch,
                      T* weight_sums, T* sums, T* d_images);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_CONV_EXAMPLE_PASSES_H_
