#include "lib/optimizer/gradient_norm.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/logging.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/optimizer/gradient_norm.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Number of independent sums: four of the widest vectors, so that additions need not wait for each other. It is the
// same on every machine, so that the order of additions is, too.
constexpr size_t kSums = 32;

inline hn::Vec<hn::ScalableTag<double>> Squared(float weight, const float* g) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto x = hn::PromoteTo(d, hn::Mul(hn::Set(narrow, weight), hn::LoadU(narrow, g)));
  return hn::Mul(x, x);
}

inline hn::Vec<hn::ScalableTag<double>> Squared(double weight, const double* g) {
  const hn::ScalableTag<double> d;
  const auto x = hn::Mul(hn::Set(d, weight), hn::LoadU(d, g));
  return hn::Mul(x, x);
}

template <typename T>
double SumAll(T weight, const T* g, size_t n) {
  const hn::ScalableTag<double> d;
  constexpr size_t kVectors = kSums / HWY_LANES(double);
  hn::Vec<decltype(d)> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  size_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (size_t k = 0; k < kVectors; ++k) sums[k] = hn::Add(sums[k], Squared(weight, g + i + k * hn::Lanes(d)));
  }
  double lane[kSums];
  for (size_t k = 0; k < kVectors; ++k) hn::StoreU(sums[k], d, lane + k * hn::Lanes(d));
  for (; i < n; ++i) {
    const double x = static_cast<double>(weight * g[i]);
    lane[i % kSums] += x * x;
  }
  double total = 0;
  for (const double value : lane) total += value;
  return total;
}

double SumF32(float weight, const float* g, size_t n) { return SumAll<float>(weight, g, n); }
double SumF64(double weight, const double* g, size_t n) { return SumAll<double>(weight, g, n); }

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(SumF32);
HWY_EXPORT(SumF64);

namespace {

// Number of values that one thread sums at a time.
constexpr int64_t kPiece = 1 << 16;

double SumOfPiece(double weight, const Tensor& gradient, int64_t begin, int64_t end) {
  if (gradient.dtype() == DType::kF32) {
    return HWY_DYNAMIC_DISPATCH(SumF32)(static_cast<float>(weight), gradient.values<float>().data() + begin,
                                        end - begin);
  }
  CHECK(gradient.dtype() == DType::kF64) << DTypeName(gradient.dtype());
  return HWY_DYNAMIC_DISPATCH(SumF64)(weight, gradient.values<double>().data() + begin, end - begin);
}

}  // namespace

double SumOfSquares(double weight, const Tensor& gradient, ThreadPool* pool) {
  const int64_t n = gradient.num_elements();
  if (n <= kPiece) return SumOfPiece(weight, gradient, 0, n);
  std::vector<double> sums((n + kPiece - 1) / kPiece);
  const auto add = [&](int64_t begin, int64_t end, int) {
    sums[begin / kPiece] = SumOfPiece(weight, gradient, begin, end);
  };
  if (pool != nullptr) {
    pool->For(n, kPiece, add);
  } else {
    for (int64_t begin = 0; begin < n; begin += kPiece) add(begin, std::min(begin + kPiece, n), 0);
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace rutile
#endif  // HWY_ONCE
