// ConvE's backward pass from fc's result to its images and its convolution, for each example alone, on AMX: of a few
// rows of the map at a time, so that the gradients of maps never leave the second cache.
//
//   dy[c, p] = sum_j slope[j] fc[j, c P + p] where the map is positive, else 0
//   weight_sums[c, k] = sum over p of dy[c, p] x[p + k]       sums[c] = sum over p of dy[c, p]
//   d_image[q]        = sum over c, k of weight[c, k] dy[c, q - k]
//
// All factors (slopes, fc, dy, x, weight) are rounded to bfloat16; sums are fp32. What is beside an example, or on
// which thread it is, changes no bit.

#ifndef RUTILE_LIB_KGE_LAYERS_AMX_CONVE_BACKWARD_H_
#define RUTILE_LIB_KGE_LAYERS_AMX_CONVE_BACKWARD_H_

#include <cstdint>

#include "lib/kge/layers/conv_shape.h"
#include "lib/matrix/aligned_words.h"

namespace rutile {

class AmxConveBackward {
 public:
  // CHECK-fails where AmxConveFits (amx_conve_forward.h) is false. weight [C, K], fc [inputs, C P]: are copied.
  AmxConveBackward(const ConvShape& conv, const float* weight, const float* fc, int64_t inputs);

  // Of the examples [begin, end) of an array of them.
  struct Examples {
    int64_t begin, end;
    const int32_t* key;        // [E] ascending: whose image and map
    const float* images;       // [keys, image]
    const uint32_t* positive;  // [keys, AmxMapWords] of AmxConveForward
    const float* slopes;       // [E, inputs]
  };
  // Of example `begin` on; overwritten.
  struct Results {
    float* weight_sums;  // [end - begin, C, K]
    float* sums;         // [end - begin, C]
    float* d_images;     // [end - begin, image]
  };
  // memory: of the calling thread.
  void Run(const Examples& examples, const Results& results, AlignedWords* memory) const;

 private:
  struct Pass;

  const ConvShape conv_;
  const int64_t inputs_, blocks_;  // of channels
  const int64_t group_rows_;       // of the map, at one time
  AlignedWords fc_, weight_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_AMX_CONVE_BACKWARD_H_
