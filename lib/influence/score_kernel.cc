#include "lib/influence/score_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/influence/score_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Processes elements [begin, end), a whole number of vectors of D.
template <class D>
void AddLoop(D d, bool first, const double* product, double factor, int64_t begin, int64_t end, double* sum) {
  const auto scale = hn::Set(d, factor);
  for (int64_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto value = hn::Mul(scale, hn::LoadU(d, product + i));
    hn::StoreU(first ? value : hn::Add(hn::LoadU(d, sum + i), value), d, sum + i);
  }
}

template <class D>
void AddEachLoop(D d, bool first, const double* product, const double* train, const double* test, int64_t begin,
                 int64_t end, double* sum) {
  for (int64_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto value = hn::Mul(hn::LoadU(d, train + i), hn::Mul(hn::LoadU(d, product + i), hn::LoadU(d, test + i)));
    hn::StoreU(first ? value : hn::Add(hn::LoadU(d, sum + i), value), d, sum + i);
  }
}

template <class D>
bool AnyOutsideLoop(D d, const double* score, const double* low, const double* high, int64_t begin, int64_t end) {
  auto all = hn::Eq(hn::Zero(d), hn::Zero(d));
  for (int64_t i = begin; i < end; i += hn::Lanes(d)) {
    const auto s = hn::LoadU(d, score + i);
    all = hn::And(all, hn::And(hn::Lt(hn::LoadU(d, low + i), s), hn::Lt(s, hn::LoadU(d, high + i))));
  }
  return !hn::AllTrue(d, all);
}

// Returns the number of elements in whole vectors; the others are processed one at a time.
int64_t Whole(int64_t n) { return n - n % static_cast<int64_t>(hn::Lanes(hn::ScalableTag<double>())); }

void Add(bool first, const double* product, double factor, int64_t n, double* sum) {
  AddLoop(hn::ScalableTag<double>(), first, product, factor, 0, Whole(n), sum);
  AddLoop(hn::CappedTag<double, 1>(), first, product, factor, Whole(n), n, sum);
}

void AddEach(bool first, const double* product, const double* train, const double* test, int64_t n, double* sum) {
  AddEachLoop(hn::ScalableTag<double>(), first, product, train, test, 0, Whole(n), sum);
  AddEachLoop(hn::CappedTag<double, 1>(), first, product, train, test, Whole(n), n, sum);
}

bool Outside(const double* score, const double* low, const double* high, int64_t n) {
  return AnyOutsideLoop(hn::ScalableTag<double>(), score, low, high, 0, Whole(n)) ||
         AnyOutsideLoop(hn::CappedTag<double, 1>(), score, low, high, Whole(n), n);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(Add);
HWY_EXPORT(AddEach);
HWY_EXPORT(Outside);

void AddScaled(bool first, const double* product, double factor, int64_t n, double* sum) {
  HWY_DYNAMIC_DISPATCH(Add)(first, product, factor, n, sum);
}

void AddScaled(bool first, const double* product, const double* train, const double* test, int64_t n, double* sum) {
  HWY_DYNAMIC_DISPATCH(AddEach)(first, product, train, test, n, sum);
}

bool AnyOutside(const double* score, const double* low, const double* high, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Outside)(score, low, high, n);
}

}  // namespace rutile
#endif  // HWY_ONCE
