// ConvE in evaluation mode: hidden vectors, and gradients of single examples as the factors that they are products of.
//
// With running statistics a norm is a linear function: bn1 is folded into conv, and examples do not depend on each
// other. Hidden vectors belong to keys (head, relation); examples with the same key share the whole forward pass.

#ifndef RUTILE_LIB_KGE_INFLUENCE_CONVE_EVALUATION_H_
#define RUTILE_LIB_KGE_INFLUENCE_CONVE_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/layers/batch_norm.h"
#include "lib/kge/layers/conve/amx_conve_backward.h"
#include "lib/kge/layers/conve/amx_conve_forward.h"
#include "lib/kge/layers/conve/conv_passes.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/matrix_products.h"
#include "lib/matrix/sparse_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Gradients of B examples, in the caller's memory.
template <typename T>
struct ConveGradients {
  T* d_fc = nullptr;        // [B, d] at fc's result
  T* small = nullptr;       // [B, Q] SmallColumns; bn2's alone if only those are asked for
  T* d_head = nullptr;      // [B, d] at the head's embedding; null: no gradients before fc are asked for
  T* d_relation = nullptr;  // [B, d] at the relation's embedding
};

// Computes hidden vectors of keys, and then gradients of examples with these keys. Used by one thread at a time.
template <typename T>
class ConveEvaluation {
 public:
  // parameters: flat [P], which must outlive this object. It allocates two more copies of fc's weight. bf16 (of
  // floats): factors of the backward pass are rounded to bfloat16; after Forward, only those of the product with fc.
  // Forward itself is never rounded: it decides where relu is 0, and a wrong 0 is more than a rounding error.
  ConveEvaluation(const KgeShape& shape, const T* parameters, bool bf16, ThreadPool* pool);

  // Computes maps [K, F] (fc's input) and v [K, d] of K keys. Keeps all else that Backward needs.
  void Forward(absl::Span<const int32_t> head, absl::Span<const int32_t> relation, T* maps, T* v);

  // True if there is a forward pass that computes squares and products of maps without storing the maps.
  bool HasForwardWithoutMaps() const { return amx_forward_.has_value(); }
  // Copies the maps [H, F] that ForwardWithoutMaps multiplies with.
  void SetTestMaps(const T* maps, int64_t rows);
  int64_t num_test_maps() const { return HasForwardWithoutMaps() ? amx_forward_->num_map_rows() : 0; }
  // Computes v [K, d], squares [K] of each key's maps, and products [K, H] of its maps with those of SetTestMaps, whose
  // factors are rounded; squares and products may be null. v differs from that of Forward by 1e-6 of the sizes of the
  // summed terms (amx_conve_forward.h).
  void ForwardWithoutMaps(absl::Span<const int32_t> head, absl::Span<const int32_t> relation, T* v, T* squares,
                          T* products);

  // Computes gradients of B examples after a forward pass of their keys and with its results; maps is null after
  // ForwardWithoutMaps. key [B]: index of each example's key. d_v [B, d]: d loss / d v.
  void Backward(absl::Span<const int32_t> key, const T* maps, const T* v, const T* d_v,
                const ConveGradients<T>& gradients);

 private:
  void FoldNorms();
  void StackImages(absl::Span<const int32_t> head, absl::Span<const int32_t> relation);
  // Computes fc's result from sums [K, padded], and v from that.
  void FinishForward(const T* sums, int64_t size, int64_t padded, T* v);
  // Computes the gradients of a group of channels from `first` on, and adds their part to the gradients of the images.
  void BackwardChannels(absl::Span<const int32_t> key, const T* maps, int64_t first,
                        const ConveGradients<T>& gradients);
  // Computes those of all channels, after the forward pass without maps.
  void BackwardOnAmx(absl::Span<const int32_t> key, const ConveGradients<T>& gradients);
  // Computes one example's small gradients from the sums of ConvBackwardEach. Overwrites weight_sums.
  void AddSmallGradients(int64_t first, int64_t channels, T* weight_sums, const T* sums, T* small) const;
  // Computes one example's gradient through bn0: d_image is the gradient at its result, and then at the image x before
  // it.
  void BackwardInputNorm(const T* x, T* small, T* d_image) const;
  void BackwardImages(absl::Span<const int32_t> key, const ConveGradients<T>& gradients);
  // Computes d_maps [B, channels x positions], from rows of d_fc that are `stride` apart.
  void BackwardFc(int64_t first, int64_t channels, int64_t size, const T* d_fc, int64_t stride, T* d_maps);
  T* Scratch(int worker) { return scratch_.mutable_values<T>().data() + worker * scratch_size_; }

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const SmallColumns columns_;
  const ConvShape conv_;
  const T* const parameters_;
  ThreadPool* const pool_;
  const bool bf16_;
  const bool is_dense_;           // fc's products do not skip zeros
  const int64_t group_channels_;  // the most channels of a group
  const int64_t scratch_size_;
  int64_t group_size_ = 0;  // numbers of fc_panels_ for a group of channels
  BatchNorm<T> bn0_, bn1_, bn2_;
  std::vector<T> weight_, bias_;            // conv with bn1 folded in: [C, K], [C]
  std::vector<T> gain_, inverse_, center_;  // [C] of bn1; conv's bias less its mean
  std::vector<T> tap_gain_;                 // [C, K]
  T *raw_ = nullptr, *images_ = nullptr;    // [K, 2 d] before and after bn0
  T *fc_ = nullptr, *d_images_ = nullptr;   // [K, d], [B, 2 d]
  SparseRows<T> slopes_;                    // rows of gradients at fc's result
  Tensor fc_tiles_, fc_panels_;             // fc's weight, packed for the forward and the backward product
  MatrixProducts<T> products_;  // used instead: with bf16 for the backward product, with few hidden numbers for both
  std::optional<AmxConveForward> amx_forward_;
  std::optional<AmxConveBackward> amx_backward_;
  std::vector<uint32_t> positive_;                   // signs of the maps that were not stored
  std::vector<AlignedBuffer<uint32_t>> amx_memory_;  // one for each thread
  Tensor scratch_, raw_memory_, image_memory_, fc_memory_, sum_memory_, d_image_memory_, d_map_memory_;
};

extern template class ConveEvaluation<float>;
extern template class ConveEvaluation<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_CONVE_EVALUATION_H_
