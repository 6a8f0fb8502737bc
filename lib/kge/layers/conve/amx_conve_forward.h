// ConvE's forward pass to fc's result in evaluation mode, on AMX. Maps are computed, rounded to pairs of bfloat16 and
// multiplied a few positions at a time; a whole map is never stored.
//
//   map[c, p] = max(0, sum_k weight[c, k] x_k(p) + bias[c])      x_k(p) = x[p + k], p: position in the map, k: tap
//   sums[j]   = sum over c, p of fc[j, c P + p] map[c, p]
//   products[t] = sum over c, p of map_rows[t, c P + p] map[c, p]
//
// Maps are summed in fp32, with the bits of ConvForward. In `sums` a map m and a weight w are each split into two
// bfloat16 numbers, m = m' + m'', w = w' + w'', and all products but m'' w'' are added: the error is 2^-15 of |m w| at
// most. In `products` each is one bfloat16 number: the error is 2^-8 of |m map_rows|. Results of an example have the
// same bits whatever other examples are computed with it, and on whichever thread.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_AMX_CONVE_FORWARD_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_AMX_CONVE_FORWARD_H_

#include <cstdint>
#include <vector>

#include "lib/base/round_up.h"
#include "lib/kge/layers/conve/conv_shape.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// The number of channels whose bits share one word; a map has [ceil(C / 32), P] words.
constexpr int64_t kAmxChannels = 32;
inline int64_t AmxMapWords(const ConvShape& conv) { return CeilDivide(conv.channels, kAmxChannels) * conv.map_size(); }

// True if this machine has AMX, the process may use it, and the kernel has at most 15 taps, which is what the passes
// support.
bool AmxConveFits(const ConvShape& conv);

// Computes fc's results of images with fixed weights, and products of their maps with rows that are set by Hold.
class AmxConveForward {
 public:
  // Copies weight [C, K], bias [C] and fc [outputs, C P], in twice their size. CHECK-fails if AmxConveFits is false.
  AmxConveForward(const ConvShape& conv, const float* weight, const float* bias, const float* fc, int64_t outputs);

  // Copies the rows map_rows [rows, C P] that maps are multiplied with; 0 rows: none.
  void SetMapRows(const float* map_rows, int64_t rows);
  int64_t num_map_rows() const { return num_map_rows_; }

  // Outputs of Run, which are overwritten.
  struct Results {
    float* sums;         // [examples, outputs]
    float* products;     // [examples, num_map_rows()]; null if there are none
    uint32_t* positive;  // [examples, AmxMapWords]: bit c % 32 of word [c / 32, p] is 1 where the map is positive
    float* squares;      // [examples] sum of the map's squares; null: not asked for
  };
  // Computes the results of images [examples, image]. memory is scratch space of the calling thread.
  void Run(const float* images, int64_t examples, const Results& results, AlignedBuffer<uint32_t>* memory) const;

 private:
  void RunSome(const float* images, int64_t examples, const Results& results, AlignedBuffer<uint32_t>* memory) const;

  const ConvShape conv_;
  const int64_t outputs_, blocks_;  // number of channel blocks
  int64_t num_map_rows_ = 0;
  std::vector<float> weight_, bias_;  // [blocks, K, 32], [blocks, 32], zeros beyond C
  AlignedBuffer<uint32_t> fc_, map_rows_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_AMX_CONVE_FORWARD_H_
