// ConvE's layers from embeddings to v(head, relation), forward and backward, for training.
//
//   ConveLayers<float> layers(shape, &pool, FactorRounding::kNone);
//   layers.Forward(parameters, batch, v);                  // v [B, d]
//   // ... v is multiplied with the table of entities, which gives d_v = d loss / d v ...
//   layers.Backward(parameters, batch, v, d_v, gradient);  // adds to gradient [P]
//   UpdateRunningStatistics(shape, layers.Statistics(), &tensor);  // running_statistics.h

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_CONVE_LAYERS_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_CONVE_LAYERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/kge/layers/batch_norm.h"
#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/batch_sum.h"
#include "lib/kge/layers/conve/conv_passes.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes v and its gradients batch by batch, keeping in memory what Backward needs of Forward. parameters and
// gradient are flat [P]. An object is used by one thread at a time.
template <typename T>
class ConveLayers {
 public:
  // pool may be null, for one thread. factors: how factors of fc's matrix products are rounded in training.
  ConveLayers(const KgeShape& shape, ThreadPool* pool, FactorRounding factors);

  // From now on norms use the batch of all processes. A training batch is this process's share of it, which may be
  // empty: all processes must call Forward and Backward. Gradients are the share's part.
  void SetBatchSum(BatchSum sum);
  // The first error of a sum over processes; after it results are meaningless.
  const absl::Status& status() const { return status_; }

  // Shards the layers: from now on Forward and Backward are called in all processes with the same batch, its rows and
  // d_v. This process reads only its channels' columns of fc.weight and computes only their gradient; all other
  // gradients of the layers are computed by every process. Not together with SetBatchSum. nullptr, the default: this
  // process has all layers.
  void SetShard(KgeShard* shard);

  // Computes v [B, d] from the batch's head, relation, example, epoch and training, and keeps what Backward needs.
  void Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows = {});
  // Adds d loss / d parameters to the gradient and to d_rows, after Forward of the same parameters and batch. d_v: [B,
  // d]. observer, which may be null, is told when the part from fc.weight on is finished. overwrite_fc: the gradient of
  // fc.weight is overwritten instead of added to.
  void Backward(const T* parameters, const KgeBatch& batch, const T* v, const T* d_v, T* gradient,
                const BatchRowGradients<T>& d_rows = {}, GradientObserver* observer = nullptr,
                bool overwrite_fc = false);
  // Returns the statistics of the last Forward.
  BatchStatistics Statistics() const;

 private:
  // Dropout masks of a batch; null if nothing is dropped.
  struct Masks {
    const T* input = nullptr;     // [B, 2 d]
    const T* channels = nullptr;  // [B, own channels]
    const T* output = nullptr;    // [B, d]
  };
  // Moments of the patches of all images in the batch.
  struct Moments {
    double n = 0;                    // number of patches
    std::vector<double> mean;        // [K]
    std::vector<double> covariance;  // [K, K]
  };

  // Sums over all positions of one channel.
  struct MapSlopes {
    double dy;       // sum of the gradient after the norm
    double dy_zhat;  // sum of that gradient times the normalized value
  };

  // Computes images_, and maps_ from them.
  void MakeImages(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows);
  void MakeMaps(const T* parameters, const KgeBatch& batch);
  void DrawMasks(const KgeBatch& batch);
  void SumOfAll(absl::Span<double> values);
  void GatherImages(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows);
  void NormImages(const T* parameters, const KgeBatch& batch);
  void FindMoments(int64_t size);
  void NormMaps(const T* parameters, const KgeBatch& batch);
  // Multiplies maps_ by fc, into hidden_.
  void MultiplyMaps(const T* parameters, int64_t size);
  // Computes the gradients of fc and the layers before it from the gradient of fc's result [B, d].
  void BackwardMaps(const T* parameters, int64_t size, const T* d_fc, T* gradient, GradientObserver* observer,
                    bool overwrite_fc);
  MapSlopes SlopesOf(const T* parameters, const std::vector<double>& sums, int64_t c) const;
  void BackwardConv(const T* parameters, int64_t size, T* gradient);
  void SubtractNorm(const T* parameters, int64_t size);
  void BackwardImages(const KgeBatch& batch, T* gradient, const BatchRowGradients<T>& d_rows);
  // Sizes of this process's part of maps and of fc.
  int64_t own_features() const { return own_.channels * own_.map_size(); }
  int64_t first_feature() const { return first_channel_ * own_.map_size(); }
  T* Scratch(int worker) { return scratch_.mutable_values<T>().data() + worker * scratch_size_; }

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const ConvShape conv_;
  ConvShape own_;  // the convolution of this process's channels
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

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_CONVE_LAYERS_H_
