// ConvE's forward pass to fc's result in evaluation mode, on AMX: maps are made, rounded to pairs of bfloat16 and
// multiplied a few positions at a time, and never lie in memory as a whole.
//
//   map[c, p] = max(0, sum_k weight[c, k] x_k(p) + bias[c])      x_k(p) = x[p + k], p: position in the map, k: tap
//   sums[j]   = sum over c, p of fc[j, c P + p] map[c, p]
//   products[t] = sum over c, p of held[t, c P + p] map[c, p]
//
// Maps are summed in fp32, with the bits of ConvForward. In `sums` a map m and a weight w are two numbers of bfloat16
// each, m = m' + m'', w = w' + w'', and all but m'' w'' count: an error of 2^-15 of |m w| at most. In `products`
// they are one number each, 2^-8 of |m held|. What is beside an example, or on which thread it is, changes no bit.

#ifndef RUTILE_LIB_KGE_LAYERS_AMX_CONVE_FORWARD_H_
#define RUTILE_LIB_KGE_LAYERS_AMX_CONVE_FORWARD_H_

#include <cstdint>
#include <vector>

#include "lib/kge/layers/conv_shape.h"
#include "lib/matrix/aligned_words.h"

namespace rutile {

// Channels whose bits are in one word: a map's words are [ceil(C / 32), P].
constexpr int64_t kAmxChannels = 32;
inline int64_t AmxMapWords(const ConvShape& conv) {
  return (conv.channels + kAmxChannels - 1) / kAmxChannels * conv.map_size();
}

// Whether this machine has AMX, the process may use it, and the kernel is one of those that the passes can do: of at
// most 15 taps.
bool AmxConveFits(const ConvShape& conv);

class AmxConveForward {
 public:
  // CHECK-fails where AmxConveFits is false. weight [C, K], bias [C], fc [outputs, C P]: are copied, twice in size.
  AmxConveForward(const ConvShape& conv, const float* weight, const float* bias, const float* fc, int64_t outputs);

  // Copies held [rows, C P]; 0 rows: none.
  void Hold(const float* held, int64_t rows);
  int64_t held_rows() const { return held_rows_; }

  struct Results {
    float* sums;         // [examples, outputs]
    float* products;     // [examples, rows held]; null: none are held
    uint32_t* positive;  // [examples, AmxMapWords]: bit c % 32 of word [c / 32, p] is 1 where the map is positive
    float* squares;      // [examples] sum of the map's squares; null: not asked for
  };
  // images: [examples, image]. memory: of the calling thread.
  void Run(const float* images, int64_t examples, const Results& results, AlignedWords* memory) const;

 private:
  void RunSome(const float* images, int64_t examples, const Results& results, AlignedWords* memory) const;

  const ConvShape conv_;
  const int64_t outputs_, blocks_;  // of channels
  int64_t held_rows_ = 0;
  std::vector<float> weight_, bias_;  // [blocks, K, 32], [blocks, 32], zeros beyond C
  AlignedWords fc_, held_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_AMX_CONVE_FORWARD_H_
