#include "lib/train/step/gradient_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kLanes = 8;     // independent sums, so that the compiler uses vectors
constexpr int64_t kBlock = 1024;  // stays in the first cache while every term is added to it

template <typename T>
double SumOfSquares(const T* x, int64_t n) {
  double lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lane[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  }
  for (; i < n; ++i) lane[i % kLanes] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double sum = 0;
  for (const double value : lane) sum += value;
  return sum;
}

template <typename T>
double Combine(absl::Span<const double> weight, absl::Span<const Tensor> gradients, Tensor* combined) {
  const int64_t n = combined->num_elements();
  T* out = combined->mutable_values<T>().data();
  double squares = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    bool first = true;
    for (size_t t = 0; t < weight.size(); ++t) {
      if (weight[t] == 0) continue;
      const T w = static_cast<T>(weight[t]);
      const T* g = gradients[t].values<T>().data() + begin;
      T* o = out + begin;
      if (o == g) {
        for (int64_t i = 0; i < size; ++i) o[i] *= w;
      } else if (first) {
        for (int64_t i = 0; i < size; ++i) o[i] = w * g[i];
      } else {
        for (int64_t i = 0; i < size; ++i) o[i] += w * g[i];
      }
      first = false;
    }
    if (first) std::fill(out + begin, out + begin + size, T{0});
    squares += SumOfSquares(out + begin, size);
  }
  return std::sqrt(squares);
}

}  // namespace

double CombineGradients(absl::Span<const double> weight, absl::Span<const Tensor> gradients, Tensor* combined) {
  CHECK_EQ(weight.size(), gradients.size());
  for (const Tensor& gradient : gradients) {
    CHECK(gradient.dtype() == combined->dtype() && gradient.num_elements() == combined->num_elements());
  }
  return combined->dtype() == DType::kF32 ? Combine<float>(weight, gradients, combined)
                                          : Combine<double>(weight, gradients, combined);
}

void ClipGradient(double norm, double max_norm, Tensor* gradient) {
  if (max_norm <= 0 || norm <= max_norm) return;
  const double scale = max_norm / norm;
  if (gradient->dtype() == DType::kF32) {
    for (float& component : gradient->mutable_values<float>()) component *= static_cast<float>(scale);
  } else {
    for (double& component : gradient->mutable_values<double>()) component *= scale;
  }
}

void ClipGradientByValue(double max_value, Tensor* gradient) {
  if (max_value <= 0) return;
  const auto clip = [](auto limit, auto components) {
    for (auto& component : components) component = std::clamp(component, -limit, limit);
  };
  if (gradient->dtype() == DType::kF32) {
    clip(static_cast<float>(max_value), gradient->mutable_values<float>());
  } else {
    clip(max_value, gradient->mutable_values<double>());
  }
}

void SetToZero(absl::Span<Tensor> tensors) {
  for (Tensor& tensor : tensors) {
    if (tensor.num_bytes() > 0) std::memset(tensor.mutable_data(), 0, tensor.num_bytes());
  }
}

}  // namespace rutile
