#include "lib/optimizer/averages/ema_kernel.h"

#include <cstddef>

#include "absl/types/span.h"
#include "lib/base/logging.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/optimizer/averages/ema_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Updates elements [begin, end), a whole number of vectors of D.
template <class D, typename T = hn::TFromD<D>>
void EmaLoop(D d, T rest, const T* p, T* average, size_t begin, size_t end) {
  const auto share = hn::Set(d, rest);
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto old = hn::LoadU(d, average + i);
    hn::StoreU(hn::MulAdd(share, hn::Sub(hn::LoadU(d, p + i), old), old), d, average + i);
  }
}

// Updates whole vectors, then one element at a time, with the same operations on each element.
template <typename T>
void EmaAll(T rest, const T* p, T* average, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t whole = n - n % hn::Lanes(d);
  EmaLoop(d, rest, p, average, 0, whole);
  EmaLoop(hn::CappedTag<T, 1>(), rest, p, average, whole, n);
}

void EmaF32(float rest, const float* p, float* average, size_t n) { EmaAll(rest, p, average, n); }
void EmaF64(double rest, const double* p, double* average, size_t n) { EmaAll(rest, p, average, n); }

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(EmaF32);
HWY_EXPORT(EmaF64);

void EmaUpdate(double rest, absl::Span<const float> p, absl::Span<float> average) {
  CHECK_EQ(p.size(), average.size());
  HWY_DYNAMIC_DISPATCH(EmaF32)(static_cast<float>(rest), p.data(), average.data(), p.size());
}

void EmaUpdate(double rest, absl::Span<const double> p, absl::Span<double> average) {
  CHECK_EQ(p.size(), average.size());
  HWY_DYNAMIC_DISPATCH(EmaF64)(rest, p.data(), average.data(), p.size());
}

}  // namespace rutile
#endif  // HWY_ONCE
