#include "benchmarks/fma_peak.h"

#include <algorithm>
#include <chrono>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/fma_peak.cc"
#include <hwy/foreach_target.h>

#include "lib/base/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
double Peak() {
  const hn::ScalableTag<T> d;
  constexpr int kSteps = 100000;
  double best = 0;
  for (int repetition = 0; repetition < 20; ++repetition) {
    // Ten chains hide the latency. They start apart, or the compiler would find them equal.
    const auto a = hn::Set(d, T(0.5)), b = hn::Set(d, static_cast<T>(0.5 + 1e-3 * repetition));
    auto v0 = a, v1 = hn::Add(v0, a), v2 = hn::Add(v1, a), v3 = hn::Add(v2, a), v4 = hn::Add(v3, a);
    auto v5 = hn::Add(v4, a), v6 = hn::Add(v5, a), v7 = hn::Add(v6, a), v8 = hn::Add(v7, a), v9 = hn::Add(v8, a);
    const auto begin = std::chrono::steady_clock::now();
    for (int step = 0; step < kSteps; ++step) {
      v0 = hn::MulAdd(v0, a, b);
      v1 = hn::MulAdd(v1, a, b);
      v2 = hn::MulAdd(v2, a, b);
      v3 = hn::MulAdd(v3, a, b);
      v4 = hn::MulAdd(v4, a, b);
      v5 = hn::MulAdd(v5, a, b);
      v6 = hn::MulAdd(v6, a, b);
      v7 = hn::MulAdd(v7, a, b);
      v8 = hn::MulAdd(v8, a, b);
      v9 = hn::MulAdd(v9, a, b);
    }
    const auto sum = hn::Add(hn::Add(hn::Add(v0, v1), hn::Add(v2, v3)),
                             hn::Add(hn::Add(hn::Add(v4, v5), hn::Add(v6, v7)), hn::Add(v8, v9)));
    volatile T sink = hn::GetLane(sum);
    static_cast<void>(sink);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * 10 * kSteps * hn::Lanes(d) / seconds.count());
  }
  return best;
}

double PeakDouble() { return Peak<double>(); }
double PeakFloat() { return Peak<float>(); }

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {

HWY_EXPORT(PeakDouble);
HWY_EXPORT(PeakFloat);

double FmaPeakDouble() { return HWY_DYNAMIC_DISPATCH(PeakDouble)(); }
double FmaPeakFloat() { return HWY_DYNAMIC_DISPATCH(PeakFloat)(); }

}  // namespace rutile

#endif  // HWY_ONCE
