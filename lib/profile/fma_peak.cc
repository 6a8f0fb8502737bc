#include "lib/profile/fma_peak.h"

#include <algorithm>
#include <chrono>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/profile/fma_peak.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
double RunFma(int64_t steps) {
  const hn::ScalableTag<T> d;
  // Ten chains hide the latency. They start from different values, or the compiler would merge them.
  const auto a = hn::Set(d, T(0.5)), b = hn::Set(d, static_cast<T>(0.5 + 1e-9 * static_cast<double>(steps)));
  auto v0 = a, v1 = hn::Add(v0, a), v2 = hn::Add(v1, a), v3 = hn::Add(v2, a), v4 = hn::Add(v3, a);
  auto v5 = hn::Add(v4, a), v6 = hn::Add(v5, a), v7 = hn::Add(v6, a), v8 = hn::Add(v7, a), v9 = hn::Add(v8, a);
  for (int64_t step = 0; step < steps; ++step) {
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
  return 2.0 * 10 * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}

double FmaFloat(int64_t steps) { return RunFma<float>(steps); }
double FmaDouble(int64_t steps) { return RunFma<double>(steps); }

uint64_t Read(const uint64_t* data, size_t n) {
  const hn::ScalableTag<uint64_t> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (size_t i = 0; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, data + i));
    s1 = hn::Add(s1, hn::LoadU(d, data + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, data + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, data + i + 3 * lanes));
  }
  uint64_t sums[HWY_MAX_BYTES / 8];
  hn::StoreU(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, sums);
  uint64_t sum = 0;
  for (size_t i = 0; i < lanes; ++i) sum += sums[i];
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {

HWY_EXPORT(FmaFloat);
HWY_EXPORT(FmaDouble);
HWY_EXPORT(Read);

namespace {

template <typename Run>
double Best(const Run& run) {
  constexpr int64_t kSteps = 100000;
  double best = 0;
  for (int repetition = 0; repetition < 20; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    const double operations = run(kSteps);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, operations / seconds.count());
  }
  return best;
}

}  // namespace

double RunFmaFloat(int64_t steps) { return HWY_DYNAMIC_DISPATCH(FmaFloat)(steps); }
double RunFmaDouble(int64_t steps) { return HWY_DYNAMIC_DISPATCH(FmaDouble)(steps); }
double FmaPeakFloat() { return Best(RunFmaFloat); }
double FmaPeakDouble() { return Best(RunFmaDouble); }
uint64_t ReadAll(const uint64_t* data, size_t n) { return HWY_DYNAMIC_DISPATCH(Read)(data, n); }

}  // namespace rutile

#endif  // HWY_ONCE
