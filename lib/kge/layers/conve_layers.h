// The layers of ConvE from embeddings to v(head, relation), forward and backward.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_LAYERS_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_LAYERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/kge/layers/batch_norm.h"
#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/batch_sum.h"
#include "lib/kge/layers/conv_passes.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/task/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// parameters, gradient: flat [P]. One thread at a time.
template <typename T>
class ConveLayers {
 public:
  // factors: of matrix products (of fc), in training.
  ConveLayers(const KgeShape& shape, ThreadPool* pool, FactorRounding factors);

  // From now on norms see the batch of all processes, of which a training batch is this one's share, perhaps of no
  // example: all must call Forward and Backward. Gradients are the share's part.
  void SetBatchSum(BatchSum sum);
  // The first error of a sum; after it results mean nothing.
  const absl::Status& status() const { return status_; }

  // From now on Forward and Backward are called in all processes, with the same batch, its rows and d_v. Of fc.weight
  // this process reads the columns of its channels alone, and makes their gradient; what else belongs to layers is made
  // by each of them. Not with SetBatchSum. nullptr: all is done here, as at first.
  void SetShard(KgeShard* shard);

  // v [B, d]; only head, relation, example, epoch and training of the batch are read. Keeps what Backward needs.
  void Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows = {});
  // After Forward of the same parameters and batch. d_v: [B, d]. Adds d loss / d parameters to the gradient and to
  // d_rows. observer: told of all from fc.weight on; may be null. overwrite_fc: what the gradient holds of fc.weight is
  // not added to but overwritten.
  void Backward(const T* parameters, const KgeBatch& batch, const T* v, const T* d_v, T* gradient,
                const BatchRowGradients<T>& d_rows = {}, GradientObserver* observer = nullptr,
                bool overwrite_fc = false);
  // Of the last Forward.
  BatchStatistics Statistics() const;

 private:
  // Masks of dropout of a batch: null where nothing is dropped.
  struct Masks {
    const T* input = nullptr;     // [B, 2 d]
    const T* channels = nullptr;  // [B, own channels]
    const T* output = nullptr;    // [B, d]
  };
  // Sums of patches over the batch, from those of pieces.
  struct Moments {
    double n = 0;                    // how many patches
    std::vector<double> mean;        // [K]
    std::vector<double> covariance;  // [K, K]
  };

  // Sums over all positions of a channel.
  struct MapSlopes {
    double dy;       // of the gradient after the norm
    double dy_zhat;  // of it times the normalized value
  };

  // images_, and from them maps_.
  void MakeImages(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows);
  void MakeMaps(const T* parameters, const KgeBatch& batch);
  void DrawMasks(const KgeBatch& batch);
  void SumOfAll(absl::Span<double> values);
  void GatherImages(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows);
  void NormImages(const T* parameters, const KgeBatch& batch);
  void FindMoments(int64_t size);
  void NormMaps(const T* parameters, const KgeBatch& batch);
  // fc's product, into hidden_.
  void MultiplyMaps(const T* parameters, int64_t size);
  // Gradients of fc and below from that of fc's result [B, d].
  void BackwardMaps(const T* parameters, int64_t size, const T* d_fc, T* gradient, GradientObserver* observer,
                    bool overwrite_fc);
  MapSlopes SlopesOf(const T* parameters, const std::vector<double>& sums, int64_t c) const;
  void BackwardConv(const T* parameters, int64_t size, T* gradient);
  void SubtractNorm(const T* parameters, int64_t size);
  void BackwardImages(const KgeBatch& batch, T* gradient, const BatchRowGradients<T>& d_rows);
  // Of the part of maps and of fc that is worked on here.
  int64_t own_features() const { return own_.channels * own_.map_size(); }
  int64_t first_feature() const { return first_channel_ * own_.map_size(); }
  T* Scratch(int worker) { return scratch_.mutable_values<T>().data() + worker * scratch_size_; }

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const ConvShape conv_;
  ConvShape own_;  // of the channels that this process works on
  int64_t first_channel_ = 0;
  ThreadPool* const pool_;
  const int64_t scratch_size_;
  MatrixProducts<T> products_;
  BatchNorm<T> bn0_, bn1_, bn2_;
  KgeShard* shard_ = nullptr;
  BatchSum sum_;
  typename BatchNorm<T>::SumOfAll norm_sum_;  // sum_ for norms, with its errors in status_; empty with it
  absl::Status status_;
  Masks masks_;
  Moments moments_;
  std::vector<T> weight_, bias_;          // conv and bn1 in one: [C, K], [C]
  std::vector<double> piece_moments_;     // [pieces, K + K K]
  std::vector<double> map_sums_;          // [C, K], [C]
  T *raw_ = nullptr, *images_ = nullptr;  // [B, 2 d] before and after bn0 (and dropout in their order)
  T *maps_ = nullptr, *hidden_ = nullptr, *d_images_ = nullptr;  // [B, own F], [B, d] before bn2, [B, 2 d]
  Tensor scratch_, input_mask_, channel_mask_, output_mask_, raw_memory_, image_memory_, map_memory_, hidden_memory_,
      d_hidden_memory_, d_map_memory_, d_image_memory_, piece_memory_;
};

extern template class ConveLayers<float>;
extern template class ConveLayers<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_LAYERS_H_
