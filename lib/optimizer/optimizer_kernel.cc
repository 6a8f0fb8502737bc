#include "lib/optimizer/optimizer_kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "lib/base/logging.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/optimizer/optimizer_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, size_t kLanes, int kPow2>
constexpr bool IsOneLane(hn::Simd<T, kLanes, kPow2> /*d*/) {
  return kLanes == 1;
}

// Adds squares of x in fp64 to the sums. A vector of D fills one or two fp64 vectors; a single lane adds to one_sum.
template <class D, class V = hn::Vec<hn::ScalableTag<double>>>
HWY_INLINE void AddSquares(D d, hn::Vec<D> x, V* low_sum, V* high_sum, double* one_sum) {
  if constexpr (IsOneLane(D())) {
    const auto value = static_cast<double>(hn::GetLane(x));
    *one_sum += value * value;
  } else if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    *low_sum = hn::MulAdd(x, x, *low_sum);
  } else {
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<double> wide;
    const hn::Half<D> half;
    const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, x)), high = hn::PromoteTo(wide, hn::UpperHalf(half, x));
    *low_sum = hn::MulAdd(low, low, *low_sum);
    *high_sum = hn::MulAdd(high, high, *high_sum);
#endif
  }
}

// Updates elements [begin, end), a whole number of vectors of D. With kKeep it stores the old parameters to `kept`,
// which must be vector-aligned at `begin`, bypassing the caches, and returns the sum of squares of the scaled gradient.
// `h` is not used without kAmsgrad.
template <bool kKeep, bool kAmsgrad, class D, typename T = hn::TFromD<D>>
double AdamLoop(D d, const AdamStep& step, const T* g, T* m, T* v, T* p, T* kept, T* h, size_t begin, size_t end) {
  const hn::ScalableTag<double> wide;
  auto low_sum = hn::Zero(wide), high_sum = hn::Zero(wide);
  double one_sum = 0;
  const auto scale = hn::Set(d, static_cast<T>(step.scale));
  const auto keep = hn::Set(d, static_cast<T>(step.keep));
  const auto l2 = hn::Set(d, static_cast<T>(step.l2));
  const auto beta1 = hn::Set(d, static_cast<T>(step.beta1));
  const auto beta2 = hn::Set(d, static_cast<T>(step.beta2));
  const auto rest1 = hn::Set(d, static_cast<T>(1 - step.beta1));
  const auto rest2 = hn::Set(d, static_cast<T>(1 - step.beta2));
  const auto root = hn::Set(d, static_cast<T>(step.root_correction2));
  const auto epsilon = hn::Set(d, static_cast<T>(step.epsilon));
  const auto step_size = hn::Set(d, static_cast<T>(step.step_size));
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto before = hn::LoadU(d, p + i), scaled = hn::Mul(scale, hn::LoadU(d, g + i));
    if constexpr (kKeep) {
      if constexpr (IsOneLane(D())) {
        hn::StoreU(before, d, kept + i);
      } else {
        hn::Stream(before, d, kept + i);
      }
      AddSquares(d, scaled, &low_sum, &high_sum, &one_sum);
    }
    auto parameter = hn::Mul(before, keep);
    const auto gradient = hn::MulAdd(l2, parameter, scaled);
    const auto first = hn::MulAdd(beta1, hn::LoadU(d, m + i), hn::Mul(rest1, gradient));
    const auto second = hn::MulAdd(beta2, hn::LoadU(d, v + i), hn::Mul(hn::Mul(rest2, gradient), gradient));
    auto divisor = second;
    if constexpr (kAmsgrad) {
      divisor = hn::Max(second, hn::LoadU(d, h + i));
      hn::StoreU(divisor, d, h + i);
    }
    const auto denominator = hn::Add(hn::Div(hn::Sqrt(divisor), root), epsilon);
    parameter = hn::NegMulAdd(step_size, hn::Div(first, denominator), parameter);
    hn::StoreU(first, d, m + i);
    hn::StoreU(second, d, v + i);
    hn::StoreU(parameter, d, p + i);
  }
  return one_sum + hn::GetLane(hn::SumOfLanes(wide, hn::Add(low_sum, high_sum)));
}

template <class D, typename T = hn::TFromD<D>>
void SgdLoop(D d, const SgdStep& step, const T* g, T* b, T* p, size_t begin, size_t end) {
  const auto scale = hn::Set(d, static_cast<T>(step.scale));
  const auto l2 = hn::Set(d, static_cast<T>(step.l2));
  const auto momentum = hn::Set(d, static_cast<T>(step.momentum));
  const auto gain = hn::Set(d, static_cast<T>(step.gain));
  const auto rate = hn::Set(d, static_cast<T>(step.learning_rate));
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto parameter = hn::LoadU(d, p + i);
    auto direction = hn::MulAdd(l2, parameter, hn::Mul(scale, hn::LoadU(d, g + i)));
    if (b != nullptr) {
      const auto buffer = hn::MulAdd(momentum, hn::LoadU(d, b + i), hn::Mul(gain, direction));
      hn::StoreU(buffer, d, b + i);
      direction = step.nesterov ? hn::MulAdd(momentum, buffer, direction) : buffer;
    }
    hn::StoreU(hn::NegMulAdd(rate, direction, parameter), d, p + i);
  }
}

template <class D, typename T = hn::TFromD<D>>
void RmspropLoop(D d, const RmspropStep& step, const T* g, T* v, T* m, T* b, T* p, size_t begin, size_t end) {
  const auto scale = hn::Set(d, static_cast<T>(step.scale));
  const auto l2 = hn::Set(d, static_cast<T>(step.l2));
  const auto alpha = hn::Set(d, static_cast<T>(step.alpha));
  const auto rest = hn::Set(d, static_cast<T>(1 - step.alpha));
  const auto epsilon = hn::Set(d, static_cast<T>(step.epsilon));
  const auto momentum = hn::Set(d, static_cast<T>(step.momentum));
  const auto rate = hn::Set(d, static_cast<T>(step.learning_rate));
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto parameter = hn::LoadU(d, p + i);
    const auto gradient = hn::MulAdd(l2, parameter, hn::Mul(scale, hn::LoadU(d, g + i)));
    const auto square = hn::MulAdd(alpha, hn::LoadU(d, v + i), hn::Mul(hn::Mul(rest, gradient), gradient));
    hn::StoreU(square, d, v + i);
    auto variance = square;
    if (m != nullptr) {
      const auto mean = hn::MulAdd(alpha, hn::LoadU(d, m + i), hn::Mul(rest, gradient));
      hn::StoreU(mean, d, m + i);
      variance = hn::Max(hn::NegMulAdd(mean, mean, square), hn::Zero(d));
    }
    auto direction = hn::Div(gradient, hn::Add(hn::Sqrt(variance), epsilon));
    if (b != nullptr) {
      direction = hn::MulAdd(momentum, hn::LoadU(d, b + i), direction);
      hn::StoreU(direction, d, b + i);
    }
    hn::StoreU(hn::NegMulAdd(rate, direction, parameter), d, p + i);
  }
}

template <class D, typename T = hn::TFromD<D>>
void AdagradLoop(D d, const AdagradStep& step, const T* g, T* s, T* p, size_t begin, size_t end) {
  const auto scale = hn::Set(d, static_cast<T>(step.scale));
  const auto l2 = hn::Set(d, static_cast<T>(step.l2));
  const auto epsilon = hn::Set(d, static_cast<T>(step.epsilon));
  const auto size = hn::Set(d, static_cast<T>(step.step_size));
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto parameter = hn::LoadU(d, p + i);
    const auto gradient = hn::MulAdd(l2, parameter, hn::Mul(scale, hn::LoadU(d, g + i)));
    const auto sum = hn::MulAdd(gradient, gradient, hn::LoadU(d, s + i));
    hn::StoreU(sum, d, s + i);
    const auto direction = hn::Div(gradient, hn::Add(hn::Sqrt(sum), epsilon));
    hn::StoreU(hn::NegMulAdd(size, direction, parameter), d, p + i);
  }
}

template <class D, typename T = hn::TFromD<D>>
void ScheduleFreeLoop(D d, const ScheduleFreeStep& step, const T* g, T* v, T* z, T* y, size_t begin, size_t end) {
  const auto scale = hn::Set(d, static_cast<T>(step.scale));
  const auto beta2 = hn::Set(d, static_cast<T>(step.beta2));
  const auto rest2 = hn::Set(d, static_cast<T>(1 - step.beta2));
  const auto root = hn::Set(d, static_cast<T>(step.root_correction2));
  const auto epsilon = hn::Set(d, static_cast<T>(step.epsilon));
  const auto decay = hn::Set(d, static_cast<T>(step.decay));
  const auto share = hn::Set(d, static_cast<T>(step.share));
  const auto y_rate = hn::Set(d, static_cast<T>(step.y_rate));
  const auto z_rate = hn::Set(d, static_cast<T>(step.learning_rate));
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto gradient = hn::Mul(scale, hn::LoadU(d, g + i));
    const auto at = hn::LoadU(d, y + i);
    const auto base = hn::LoadU(d, z + i);
    const auto second = hn::MulAdd(beta2, hn::LoadU(d, v + i), hn::Mul(hn::Mul(rest2, gradient), gradient));
    const auto denominator = hn::Add(hn::Div(hn::Sqrt(second), root), epsilon);
    const auto direction = hn::MulAdd(decay, at, hn::Div(gradient, denominator));
    hn::StoreU(second, d, v + i);
    hn::StoreU(hn::NegMulAdd(y_rate, direction, hn::MulAdd(share, hn::Sub(base, at), at)), d, y + i);
    hn::StoreU(hn::NegMulAdd(z_rate, direction, base), d, z + i);
  }
}

// Updates whole vectors, then one element at a time, with the same operations on each element.
template <bool kAmsgrad, typename T>
void AdamAll(const AdamStep& step, const T* g, T* m, T* v, T* p, T* h, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t whole = n - n % hn::Lanes(d);
  AdamLoop<false, kAmsgrad>(d, step, g, m, v, p, static_cast<T*>(nullptr), h, 0, whole);
  AdamLoop<false, kAmsgrad>(hn::CappedTag<T, 1>(), step, g, m, v, p, static_cast<T*>(nullptr), h, whole, n);
}

template <bool kAmsgrad, typename T>
double AdamKeeping(const AdamStep& step, const T* g, T* m, T* v, T* p, T* kept, T* h, size_t n) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t lanes = hn::Lanes(d), offset = reinterpret_cast<uintptr_t>(kept) / sizeof(T) % lanes;
  const size_t first = std::min(n, offset == 0 ? 0 : lanes - offset), last = n - (n - first) % lanes;
  return AdamLoop<true, kAmsgrad>(one, step, g, m, v, p, kept, h, 0, first) +
         AdamLoop<true, kAmsgrad>(d, step, g, m, v, p, kept, h, first, last) +
         AdamLoop<true, kAmsgrad>(one, step, g, m, v, p, kept, h, last, n);
}

template <typename T>
void SgdAll(const SgdStep& step, const T* g, T* b, T* p, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t whole = n - n % hn::Lanes(d);
  SgdLoop(d, step, g, b, p, 0, whole);
  SgdLoop(hn::CappedTag<T, 1>(), step, g, b, p, whole, n);
}

template <typename T>
void RmspropAll(const RmspropStep& step, const T* g, T* v, T* m, T* b, T* p, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t whole = n - n % hn::Lanes(d);
  RmspropLoop(d, step, g, v, m, b, p, 0, whole);
  RmspropLoop(hn::CappedTag<T, 1>(), step, g, v, m, b, p, whole, n);
}

template <typename T>
void AdagradAll(const AdagradStep& step, const T* g, T* s, T* p, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t whole = n - n % hn::Lanes(d);
  AdagradLoop(d, step, g, s, p, 0, whole);
  AdagradLoop(hn::CappedTag<T, 1>(), step, g, s, p, whole, n);
}

template <typename T>
void ScheduleFreeAll(const ScheduleFreeStep& step, const T* g, T* v, T* z, T* y, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t whole = n - n % hn::Lanes(d);
  ScheduleFreeLoop(d, step, g, v, z, y, 0, whole);
  ScheduleFreeLoop(hn::CappedTag<T, 1>(), step, g, v, z, y, whole, n);
}

void AdamF32(const AdamStep& step, const float* g, float* m, float* v, float* p, float* h, size_t n) {
  h == nullptr ? AdamAll<false>(step, g, m, v, p, h, n) : AdamAll<true>(step, g, m, v, p, h, n);
}
void AdamF64(const AdamStep& step, const double* g, double* m, double* v, double* p, double* h, size_t n) {
  h == nullptr ? AdamAll<false>(step, g, m, v, p, h, n) : AdamAll<true>(step, g, m, v, p, h, n);
}
double AdamKeepingF32(const AdamStep& step, const float* g, float* m, float* v, float* p, float* kept, float* h,
                      size_t n) {
  return h == nullptr ? AdamKeeping<false>(step, g, m, v, p, kept, h, n)
                      : AdamKeeping<true>(step, g, m, v, p, kept, h, n);
}
double AdamKeepingF64(const AdamStep& step, const double* g, double* m, double* v, double* p, double* kept, double* h,
                      size_t n) {
  return h == nullptr ? AdamKeeping<false>(step, g, m, v, p, kept, h, n)
                      : AdamKeeping<true>(step, g, m, v, p, kept, h, n);
}
void SgdF32(const SgdStep& step, const float* g, float* b, float* p, size_t n) { SgdAll<float>(step, g, b, p, n); }
void SgdF64(const SgdStep& step, const double* g, double* b, double* p, size_t n) { SgdAll<double>(step, g, b, p, n); }
void RmspropF32(const RmspropStep& step, const float* g, float* v, float* m, float* b, float* p, size_t n) {
  RmspropAll<float>(step, g, v, m, b, p, n);
}
void RmspropF64(const RmspropStep& step, const double* g, double* v, double* m, double* b, double* p, size_t n) {
  RmspropAll<double>(step, g, v, m, b, p, n);
}
void AdagradF32(const AdagradStep& step, const float* g, float* s, float* p, size_t n) {
  AdagradAll<float>(step, g, s, p, n);
}
void AdagradF64(const AdagradStep& step, const double* g, double* s, double* p, size_t n) {
  AdagradAll<double>(step, g, s, p, n);
}
void ScheduleFreeF32(const ScheduleFreeStep& step, const float* g, float* v, float* z, float* y, size_t n) {
  ScheduleFreeAll<float>(step, g, v, z, y, n);
}
void ScheduleFreeF64(const ScheduleFreeStep& step, const double* g, double* v, double* z, double* y, size_t n) {
  ScheduleFreeAll<double>(step, g, v, z, y, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(AdamF32);
HWY_EXPORT(AdamF64);
HWY_EXPORT(AdamKeepingF32);
HWY_EXPORT(AdamKeepingF64);
HWY_EXPORT(SgdF32);
HWY_EXPORT(SgdF64);
HWY_EXPORT(RmspropF32);
HWY_EXPORT(RmspropF64);
HWY_EXPORT(AdagradF32);
HWY_EXPORT(AdagradF64);
HWY_EXPORT(ScheduleFreeF32);
HWY_EXPORT(ScheduleFreeF64);

void AdamUpdate(const AdamStep& step, absl::Span<const float> g, absl::Span<float> m, absl::Span<float> v,
                absl::Span<float> p, absl::Span<float> h) {
  CHECK(g.size() == p.size() && m.size() == p.size() && v.size() == p.size() && (h.empty() || h.size() == p.size()))
      << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(AdamF32)
  (step, g.data(), m.data(), v.data(), p.data(), h.empty() ? nullptr : h.data(), p.size());
}

void AdamUpdate(const AdamStep& step, absl::Span<const double> g, absl::Span<double> m, absl::Span<double> v,
                absl::Span<double> p, absl::Span<double> h) {
  CHECK(g.size() == p.size() && m.size() == p.size() && v.size() == p.size() && (h.empty() || h.size() == p.size()))
      << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(AdamF64)
  (step, g.data(), m.data(), v.data(), p.data(), h.empty() ? nullptr : h.data(), p.size());
}

double AdamUpdateKeeping(const AdamStep& step, absl::Span<const float> g, absl::Span<float> m, absl::Span<float> v,
                         absl::Span<float> p, absl::Span<float> kept, absl::Span<float> h) {
  CHECK(g.size() == p.size() && m.size() == p.size() && v.size() == p.size() && kept.size() == p.size() &&
        (h.empty() || h.size() == p.size()))
      << p.size();
  return HWY_DYNAMIC_DISPATCH(AdamKeepingF32)(step, g.data(), m.data(), v.data(), p.data(), kept.data(),
                                              h.empty() ? nullptr : h.data(), p.size());
}

double AdamUpdateKeeping(const AdamStep& step, absl::Span<const double> g, absl::Span<double> m, absl::Span<double> v,
                         absl::Span<double> p, absl::Span<double> kept, absl::Span<double> h) {
  CHECK(g.size() == p.size() && m.size() == p.size() && v.size() == p.size() && kept.size() == p.size() &&
        (h.empty() || h.size() == p.size()))
      << p.size();
  return HWY_DYNAMIC_DISPATCH(AdamKeepingF64)(step, g.data(), m.data(), v.data(), p.data(), kept.data(),
                                              h.empty() ? nullptr : h.data(), p.size());
}

void SgdUpdate(const SgdStep& step, absl::Span<const float> g, absl::Span<float> b, absl::Span<float> p) {
  CHECK(g.size() == p.size() && (b.empty() || b.size() == p.size())) << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(SgdF32)(step, g.data(), b.empty() ? nullptr : b.data(), p.data(), p.size());
}

void SgdUpdate(const SgdStep& step, absl::Span<const double> g, absl::Span<double> b, absl::Span<double> p) {
  CHECK(g.size() == p.size() && (b.empty() || b.size() == p.size())) << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(SgdF64)(step, g.data(), b.empty() ? nullptr : b.data(), p.data(), p.size());
}

void RmspropUpdate(const RmspropStep& step, absl::Span<const float> g, absl::Span<float> v, absl::Span<float> m,
                   absl::Span<float> b, absl::Span<float> p) {
  CHECK(g.size() == p.size() && v.size() == p.size() && (m.empty() || m.size() == p.size()) &&
        (b.empty() || b.size() == p.size()))
      << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(RmspropF32)
  (step, g.data(), v.data(), m.empty() ? nullptr : m.data(), b.empty() ? nullptr : b.data(), p.data(), p.size());
}

void RmspropUpdate(const RmspropStep& step, absl::Span<const double> g, absl::Span<double> v, absl::Span<double> m,
                   absl::Span<double> b, absl::Span<double> p) {
  CHECK(g.size() == p.size() && v.size() == p.size() && (m.empty() || m.size() == p.size()) &&
        (b.empty() || b.size() == p.size()))
      << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(RmspropF64)
  (step, g.data(), v.data(), m.empty() ? nullptr : m.data(), b.empty() ? nullptr : b.data(), p.data(), p.size());
}

void AdagradUpdate(const AdagradStep& step, absl::Span<const float> g, absl::Span<float> s, absl::Span<float> p) {
  CHECK(g.size() == p.size() && s.size() == p.size()) << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(AdagradF32)(step, g.data(), s.data(), p.data(), p.size());
}

void AdagradUpdate(const AdagradStep& step, absl::Span<const double> g, absl::Span<double> s, absl::Span<double> p) {
  CHECK(g.size() == p.size() && s.size() == p.size()) << g.size() << " vs. " << p.size();
  HWY_DYNAMIC_DISPATCH(AdagradF64)(step, g.data(), s.data(), p.data(), p.size());
}

void ScheduleFreeUpdate(const ScheduleFreeStep& step, absl::Span<const float> g, absl::Span<float> v,
                        absl::Span<float> z, absl::Span<float> y) {
  CHECK(g.size() == y.size() && v.size() == y.size() && z.size() == y.size()) << g.size() << " vs. " << y.size();
  HWY_DYNAMIC_DISPATCH(ScheduleFreeF32)(step, g.data(), v.data(), z.data(), y.data(), y.size());
}

void ScheduleFreeUpdate(const ScheduleFreeStep& step, absl::Span<const double> g, absl::Span<double> v,
                        absl::Span<double> z, absl::Span<double> y) {
  CHECK(g.size() == y.size() && v.size() == y.size() && z.size() == y.size()) << g.size() << " vs. " << y.size();
  HWY_DYNAMIC_DISPATCH(ScheduleFreeF64)(step, g.data(), v.data(), z.data(), y.data(), y.size());
}

}  // namespace rutile
#endif  // HWY_ONCE
