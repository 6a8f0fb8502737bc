// ConvE in evaluation mode: hidden vectors, and gradients of single examples as the factors that they are made of.
//
// With running statistics a norm is a line: bn1 is folded into conv, and examples do not depend on each other. Hidden
// vectors are those of keys (head, relation); examples that share a key share all of its forward pass.

#ifndef RUTILE_LIB_KGE_INFLUENCE_CONVE_EVALUATION_H_
#define RUTILE_LIB_KGE_INFLUENCE_CONVE_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/layers/amx_conve_backward.h"
#include "lib/kge/layers/amx_conve_forward.h"
#include "lib/kge/layers/batch_norm.h"
#include "lib/kge/layers/conv_passes.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/matrix/aligned_words.h"
#include "lib/matrix/matrix_products.h"
#include "lib/matrix/sparse_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Gradients of B examples; memory of the caller.
template <typename T>
struct ConveGradients {
  T* d_fc = nullptr;        // [B, d] at fc's result
  T* small = nullptr;       // [B, Q] SmallColumns; bn2's alone where only those are asked for
  T* d_head = nullptr;      // [B, d] at the rows of head and relation; null: nothing below fc is asked for
  T* d_relation = nullptr;  // [B, d]
};

// One thread at a time.
template <typename T>
class ConveEvaluation {
 public:
  // parameters: flat [P], outlive this. Takes fc's weight twice more. bf16 (of floats): factors of the backward pass
  // are rounded to bfloat16; those of fc's product alone after Forward, which is never rounded: it decides where relu
  // is 0, and a wrong 0 is no rounding.
  ConveEvaluation(const KgeShape& shape, const T* parameters, bool bf16, ThreadPool* pool);

  // maps [K, F] (fc's input) and v [K, d] of K keys. Keeps what Backward needs, but for these two.
  void Forward(absl::Span<const int32_t> head, absl::Span<const int32_t> relation, T* maps, T* v);

  // Whether there is also a forward pass that does not make maps, but all that is asked of them.
  bool HasForwardWithoutMaps() const { return amx_forward_.has_value(); }
  // Maps [H, F] to multiply by; are copied.
  void HoldMaps(const T* maps, int64_t rows);
  int64_t held_maps() const { return HasForwardWithoutMaps() ? amx_forward_->held_rows() : 0; }
  // v [K, d]; squares [K] of each key's maps; products [K, H] of maps with held ones, whose factors are rounded; null:
  // not asked for. v is that of Forward but for 1e-6 of the sizes of what is summed (amx_conve_forward.h).
  void ForwardWithoutMaps(absl::Span<const int32_t> head, absl::Span<const int32_t> relation, T* v, T* squares,
                          T* products);

  // After a forward pass of the keys, with what it made: maps null after the one without. key [B]: whose example it is.
  // d_v [B, d]: d loss / d v.
  void Backward(absl::Span<const int32_t> key, const T* maps, const T* v, const T* d_v,
                const ConveGradients<T>& gradients);

 private:
  void FoldNorms();
  void StackImages(absl::Span<const int32_t> head, absl::Span<const int32_t> relation);
  // fc's result from sums [K, padded], and v.
  void FinishForward(const T* sums, int64_t size, int64_t padded, T* v);
  // For a group of channels from `first` on: their gradients, and what they add to those of the images.
  void BackwardChannels(absl::Span<const int32_t> key, const T* maps, int64_t first,
                        const ConveGradients<T>& gradients);
  // All channels, after the forward pass without maps.
  void BackwardOnAmx(absl::Span<const int32_t> key, const ConveGradients<T>& gradients);
  // Of one example, from the sums that ConvBackwardEach gives. Uses up weight_sums.
  void AddSmallGradients(int64_t first, int64_t channels, T* weight_sums, const T* sums, T* small) const;
  // Of one example: d_image is at bn0's result, then at the image x before it.
  void BackwardInputNorm(const T* x, T* small, T* d_image) const;
  void BackwardImages(absl::Span<const int32_t> key, const ConveGradients<T>& gradients);
  // d_maps [B, channels x positions], rows `stride` apart.
  void BackwardFc(int64_t first, int64_t channels, int64_t size, const T* d_fc, int64_t stride, T* d_maps);
  T* Scratch(int worker) { return scratch_.mutable_values<T>().data() + worker * scratch_size_; }

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const SmallColumns columns_;
  const ConvShape conv_;
  const T* const parameters_;
  ThreadPool* const pool_;
  const bool bf16_;
  const bool is_dense_;           // fc's products leave no zeros out
  const int64_t group_channels_;  // of a group: the most
  const int64_t scratch_size_;
  int64_t group_size_ = 0;  // numbers of fc_panels_ for a group of channels
  BatchNorm<T> bn0_, bn1_, bn2_;
  std::vector<T> weight_, bias_;            // conv and bn1 in one: [C, K], [C]
  std::vector<T> gain_, inverse_, center_;  // [C] of bn1; conv's bias less its mean
  std::vector<T> tap_gain_;                 // [C, K]
  T *raw_ = nullptr, *images_ = nullptr;    // [K, 2 d] before and after bn0
  T *fc_ = nullptr, *d_images_ = nullptr;   // [K, d], [B, 2 d]
  SparseRows<T> slopes_;                    // gradients at fc's result
  Tensor fc_tiles_, fc_panels_;             // fc's weight, packed for the forward and the backward product
  MatrixProducts<T> products_;              // instead: with bf16 for the latter, with few hidden numbers for both
  std::optional<AmxConveForward> amx_forward_;
  std::optional<AmxConveBackward> amx_backward_;
  std::vector<uint32_t> positive_;        // of the maps that were not made
  std::vector<AlignedWords> amx_memory_;  // of each thread
  Tensor scratch_, raw_memory_, image_memory_, fc_memory_, sum_memory_, d_image_memory_, d_map_memory_;
};

extern template class ConveEvaluation<float>;
extern template class ConveEvaluation<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_CONVE_EVALUATION_H_
