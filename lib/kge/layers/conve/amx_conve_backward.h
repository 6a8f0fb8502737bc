// ConvE's backward pass from fc's result to the images and the convolution, for each example alone, on AMX. It computes
// a few rows of the map at a time, so that the gradients of maps never leave the second-level cache.
//
//   dy[c, p] = sum_j slope[j] fc[j, c P + p] where the map is positive, else 0
//   weight_sums[c, k] = sum over p of dy[c, p] x[p + k]       sums[c] = sum over p of dy[c, p]
//   d_image[q]        = sum over c, k of weight[c, k] dy[c, q - k]
//
// All factors (slopes, fc, dy, x, weight) are rounded to bfloat16; sums are fp32. Results of an example have the same
// bits whatever other examples are computed with it, and on whichever thread.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_AMX_CONVE_BACKWARD_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_AMX_CONVE_BACKWARD_H_

#include <cstdint>

#include "lib/kge/layers/conve/conv_shape.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// Computes gradients of single examples through ConvE's layers with fixed weights, for influence.
class AmxConveBackward {
 public:
  // Copies weight [C, K] and fc [inputs, C P]. CHECK-fails if AmxConveFits (amx_conve_forward.h) is false.
  AmxConveBackward(const ConvShape& conv, const float* weight, const float* fc, int64_t inputs);

  // Inputs of Run: the examples [begin, end) of arrays of E examples.
  struct Examples {
    int64_t begin, end;
    const int32_t* key;        // [E] ascending: index of the example's image and map
    const float* images;       // [keys, image]
    const uint32_t* positive;  // [keys, AmxMapWords] from AmxConveForward
    const float* slopes;       // [E, inputs]
  };
  // Outputs of Run for the examples from `begin` on, which are overwritten.
  struct Results {
    float* weight_sums;  // [end - begin, C, K]
    float* sums;         // [end - begin, C]
    float* d_images;     // [end - begin, image]
  };
  // Computes the gradients. memory is scratch space of the calling thread.
  void Run(const Examples& examples, const Results& results, AlignedBuffer<uint32_t>* memory) const;

 private:
  struct Pass;

  const ConvShape conv_;
  const int64_t inputs_, blocks_;  // of channels
  const int64_t group_rows_;       // of the map, at one time
  AlignedBuffer<uint32_t> fc_, weight_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_AMX_CONVE_BACKWARD_H_
