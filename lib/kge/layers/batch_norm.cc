#include "lib/kge/layers/batch_norm.h"

#include <cmath>
#include <numeric>

#include "lib/kge/model/kge_options.h"

namespace rutile {

template <typename T>
void BatchNorm<T>::AddUp(std::vector<double>* sums) const {
  if (channels_ == 1) *sums = {std::accumulate(sums->begin(), sums->end(), 0.0)};
}

template <typename T>
void BatchNorm<T>::UseBatch(const T* x, int64_t rows, const T* weight, const T* bias, const SumOfAll& sum) {
  double n = static_cast<double>(rows * columns_ / channels_);
  std::vector<double> mean(columns_, 0), variance(columns_, 0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns_; ++c) mean[c] += static_cast<double>(x[r * columns_ + c]);
  }
  AddUp(&mean);
  if (sum) {
    mean.push_back(n);
    sum(absl::MakeSpan(mean));
    n = mean.back();
    mean.pop_back();
  }
  for (double& value : mean) value /= n;
  std::vector<double> of_columns(columns_);
  for (int64_t c = 0; c < columns_; ++c) of_columns[c] = OfColumn(mean, c);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns_; ++c) {
      const double y = static_cast<double>(x[r * columns_ + c]) - of_columns[c];
      variance[c] += y * y;
    }
  }
  AddUp(&variance);
  if (sum) sum(absl::MakeSpan(variance));
  for (double& value : variance) value /= n;
  Use(mean, variance, n, /*of_batch=*/true, weight, bias);
}

template <typename T>
void BatchNorm<T>::UseRunning(const T* mean, const T* variance, const T* weight, const T* bias) {
  Use({mean, mean + channels_}, {variance, variance + channels_}, 0, /*of_batch=*/false, weight, bias);
}

template <typename T>
void BatchNorm<T>::Use(const std::vector<double>& mean, const std::vector<double>& variance, double n, bool of_batch,
                       const T* weight, const T* bias) {
  n_ = n;
  of_batch_ = of_batch;
  mean_ = mean;
  variance_ = variance;
  inverse_.resize(channels_);
  gain_.resize(channels_);
  shift_.assign(channels_, 0);
  for (int64_t c = 0; c < channels_; ++c) {
    inverse_[c] = 1 / std::sqrt(variance[c] + kBatchNormEpsilon);
    gain_[c] = inverse_[c] * (weight == nullptr ? 1 : static_cast<double>(weight[c]));
    if (bias != nullptr) shift_[c] = static_cast<double>(bias[c]);
  }
}

template <typename T>
void BatchNorm<T>::Forward(const T* x, int64_t rows, T* y) const {
  std::vector<T> mean(columns_), gain(columns_), shift(columns_);
  for (int64_t c = 0; c < columns_; ++c) {
    mean[c] = static_cast<T>(OfColumn(mean_, c));
    gain[c] = static_cast<T>(OfColumn(gain_, c));
    shift[c] = static_cast<T>(OfColumn(shift_, c));
  }
  for (int64_t r = 0; r < rows; ++r) {
    const T* const in = x + r * columns_;
    T* const out = y + r * columns_;
    for (int64_t c = 0; c < columns_; ++c) out[c] = (in[c] - mean[c]) * gain[c] + shift[c];
  }
}

// With statistics of the batch, dx = gain (dy - mean(dy) - xhat mean(dy xhat)), else dx = gain dy; xhat = (x - mean)
// inverse.
template <typename T>
void BatchNorm<T>::Backward(const T* x, const T* dy, int64_t rows, T* d_weight, T* d_bias, T* dx,
                            const SumOfAll& sum) const {
  std::vector<double> sums(columns_, 0), products(columns_, 0), mean(columns_);
  for (int64_t c = 0; c < columns_; ++c) mean[c] = OfColumn(mean_, c);
  for (int64_t r = 0; r < rows; ++r) {
    const T *const of_x = x + r * columns_, *const of_y = dy + r * columns_;
    for (int64_t c = 0; c < columns_; ++c) {
      const double slope = static_cast<double>(of_y[c]);
      sums[c] += slope;
      products[c] += slope * (static_cast<double>(of_x[c]) - mean[c]);
    }
  }
  AddUp(&sums);
  AddUp(&products);
  for (int64_t c = 0; c < channels_; ++c) {
    products[c] *= inverse_[c];
    if (d_weight != nullptr) d_weight[c] += static_cast<T>(products[c]);
    if (d_bias != nullptr) d_bias[c] += static_cast<T>(sums[c]);
  }
  if (sum && of_batch_) {
    sum(absl::MakeSpan(sums));
    sum(absl::MakeSpan(products));
  }
  std::vector<T> center(columns_), gain(columns_), constant(columns_, T(0)), slope(columns_, T(0));
  for (int64_t c = 0; c < columns_; ++c) {
    center[c] = static_cast<T>(mean[c]);
    gain[c] = static_cast<T>(OfColumn(gain_, c));
    if (!of_batch_) continue;
    constant[c] = static_cast<T>(OfColumn(sums, c) / n_);
    slope[c] = static_cast<T>(OfColumn(products, c) / n_ * OfColumn(inverse_, c));
  }
  for (int64_t r = 0; r < rows; ++r) {
    const T *const of_x = x + r * columns_, *const of_y = dy + r * columns_;
    T* const out = dx + r * columns_;
    for (int64_t c = 0; c < columns_; ++c) {
      out[c] = gain[c] * (of_y[c] - constant[c] - (of_x[c] - center[c]) * slope[c]);
    }
  }
}

template <typename T>
BatchStatistics::Norm BatchNorm<T>::Statistics() const {
  if (!of_batch_ || n_ < 2) return {};
  BatchStatistics::Norm statistics = {mean_, variance_};
  for (double& value : statistics.variance) value *= n_ / (n_ - 1);
  return statistics;
}

template class BatchNorm<float>;
template class BatchNorm<double>;

}  // namespace rutile
