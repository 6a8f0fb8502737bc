// A batch norm of the columns of a small array, forward and backward; all columns may also form one channel.
//
//   y = (x - mean) gain + shift,   gain = weight / sqrt(variance + kBatchNormEpsilon)
//
// Statistics are given, or those of the batch (n values of each channel, the variance over n). Sums are in fp64.

#ifndef RUTILE_LIB_KGE_LAYERS_BATCH_NORM_H_
#define RUTILE_LIB_KGE_LAYERS_BATCH_NORM_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/layers/batch_statistics.h"

namespace rutile {

template <typename T>
class BatchNorm {
 public:
  // x is [rows, columns]; channels is columns or 1.
  BatchNorm(int64_t columns, int64_t channels) : columns_(columns), channels_(channels) {}

  // Sums `values` over the processes that share a batch, in place; an empty function means that this process is alone.
  using SumOfAll = std::function<void(absl::Span<double> values)>;

  // Normalizes by the statistics of the batch x. weight, bias: [channels], or null for 1 and 0. If `sum` is given, the
  // batch is that of all processes and x is this process's share of it.
  void UseBatch(const T* x, int64_t rows, const T* weight, const T* bias, const SumOfAll& sum = nullptr);
  // Normalizes by running statistics.
  void UseRunning(const T* mean, const T* variance, const T* weight, const T* bias);
  // Normalizes by given statistics [channels] of n values each, the variance over n. of_batch: they are those of the
  // batch, so that Backward differentiates them.
  void Use(const std::vector<double>& mean, const std::vector<double>& variance, double n, bool of_batch,
           const T* weight, const T* bias);

  // y may be x.
  void Forward(const T* x, int64_t rows, T* y) const;
  // Adds this process's share to d_weight and d_bias [channels], which may be null, and overwrites dx, which may be dy.
  // `sum` is the one given to UseBatch.
  void Backward(const T* x, const T* dy, int64_t rows, T* d_weight, T* d_bias, T* dx,
                const SumOfAll& sum = nullptr) const;

  // [channels]
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& inverse() const { return inverse_; }  // 1 / sqrt(variance + epsilon)
  const std::vector<double>& gain() const { return gain_; }
  const std::vector<double>& shift() const { return shift_; }
  bool of_batch() const { return of_batch_; }
  // Returns the batch's statistics for the running ones; empty if they are not a batch's, or those of a single value.
  BatchStatistics::Norm Statistics() const;

 private:
  // Turns sums of columns into sums of channels, in place.
  void AddUp(std::vector<double>* sums) const;
  double OfColumn(const std::vector<double>& values, int64_t column) const {
    return values[channels_ == 1 ? 0 : column];
  }

  int64_t columns_, channels_;
  double n_ = 0;
  bool of_batch_ = false;
  std::vector<double> mean_, variance_, inverse_, gain_, shift_;
};

extern template class BatchNorm<float>;
extern template class BatchNorm<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_BATCH_NORM_H_
