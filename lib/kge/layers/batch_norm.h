// A batch norm of the columns of a small array, forward and backward; all columns may be one channel.
//
//   y = (x - mean) gain + shift,   gain = weight / sqrt(variance + kBatchNormEpsilon)
//
// Statistics are of the batch (n values of each channel, the variance over n) or given. Sums are in fp64.

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

  // What several processes have of a batch is added up in place; may be empty.
  using SumOfAll = std::function<void(absl::Span<double> values)>;

  // weight, bias: [channels], or null for 1 and 0. sum: the batch is that of all processes, of which x is a share.
  void UseBatch(const T* x, int64_t rows, const T* weight, const T* bias, const SumOfAll& sum = nullptr);
  void UseRunning(const T* mean, const T* variance, const T* weight, const T* bias);
  // Of statistics that are known: [channels] of n values each, the variance over n.
  void Use(const std::vector<double>& mean, const std::vector<double>& variance, double n, bool of_batch,
           const T* weight, const T* bias);

  // y may be x.
  void Forward(const T* x, int64_t rows, T* y) const;
  // d_weight, d_bias: [channels], added to, with this process's share; null: there are none. dx may be dy. sum: as
  // UseBatch had it.
  void Backward(const T* x, const T* dy, int64_t rows, T* d_weight, T* d_bias, T* dx,
                const SumOfAll& sum = nullptr) const;

  // [channels]
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& inverse() const { return inverse_; }  // 1 / sqrt(variance + epsilon)
  const std::vector<double>& gain() const { return gain_; }
  const std::vector<double>& shift() const { return shift_; }
  bool of_batch() const { return of_batch_; }
  // Empty where the statistics are not of a batch, or of one value.
  BatchStatistics::Norm Statistics() const;

 private:
  // The sums of columns, or their sum.
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
