#include "lib/matrix/row_dot.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/matrix/row_dot.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent sums hide the latency of multiply-adds.
constexpr int kSums = 4;

template <typename T>
HWY_INLINE T Dot(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  VecOf<T> sum[kSums];
  for (int s = 0; s < kSums; ++s) sum[s] = hn::Zero(d);
  int64_t i = 0;
  for (; i + kSums * lanes <= n; i += kSums * lanes) {
    for (int s = 0; s < kSums; ++s) {
      sum[s] = hn::MulAdd(hn::LoadU(d, a + i + s * lanes), hn::LoadU(d, b + i + s * lanes), sum[s]);
    }
  }
  ForVectors<T>(i, n,
                [&](const auto& part, int64_t k) { sum[0] = hn::MulAdd(part.Load(a + k), part.Load(b + k), sum[0]); });
  return SumOf<T>(hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])));
}

float DotF32(const float* a, const float* b, int64_t n) { return Dot(a, b, n); }
double DotF64(const double* a, const double* b, int64_t n) { return Dot(a, b, n); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(DotF32);
HWY_EXPORT(DotF64);

template <>
float RowDot(const float* a, const float* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(DotF32)(a, b, n);
}
template <>
double RowDot(const double* a, const double* b, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(DotF64)(a, b, n);
}

}  // namespace rutile
#endif  // HWY_ONCE
