#include "lib/mace/pair_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/mace/pair_passes.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include "lib/base/logging.h"
#include "lib/machine/simd.h"
#include "lib/matrix/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Vec = hn::Vec<Tag>;

// Replaces x by silu(x) and, with kTangent, t by t silu'(x).
template <bool kTangent>
HWY_INLINE void Silu(Vec* x, Vec* t) {
  const Tag d;
  const Vec one = hn::Set(d, 1.0);
  const Vec e = ExpOfNegative(d, hn::Neg(hn::Abs(*x)));
  // The logistic function of |x|, and of x.
  const Vec of_abs = hn::Div(one, hn::Add(one, e));
  const Vec logistic = hn::IfThenElse(hn::Lt(*x, hn::Zero(d)), hn::Mul(e, of_abs), of_abs);
  const Vec value = hn::Mul(*x, logistic);
  if constexpr (kTangent) *t = hn::Mul(*t, hn::MulAdd(value, hn::Sub(one, logistic), logistic));
  *x = value;
}

template <bool kTangent>
HWY_INLINE void SiluOf(int64_t n, double* x, double* tangent) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    Vec value = hn::LoadU(d, x + k), slope = hn::Zero(d);
    if constexpr (kTangent) slope = hn::LoadU(d, tangent + k);
    Silu<kTangent>(&value, &slope);
    hn::StoreU(value, d, x + k);
    if constexpr (kTangent) hn::StoreU(slope, d, tangent + k);
  }
  // What is left is computed by the same instructions.
  for (; k < n; ++k) {
    Vec value = hn::Set(d, x[k]), slope = hn::Zero(d);
    if constexpr (kTangent) slope = hn::Set(d, tangent[k]);
    Silu<kTangent>(&value, &slope);
    x[k] = hn::GetLane(value);
    if constexpr (kTangent) tangent[k] = hn::GetLane(slope);
  }
}

void SiluInPlace(int64_t n, double* x, double* tangent) {
  if (tangent == nullptr) {
    SiluOf<false>(n, x, nullptr);
  } else {
    SiluOf<true>(n, x, tangent);
  }
}

template <bool kSlope>
HWY_INLINE void SplineRowOf(int64_t n, const double* HWY_RESTRICT knots, const double* value_weight,
                            const double* slope_weight, double* HWY_RESTRICT value, double* HWY_RESTRICT slope) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t f = 0; f < n; f += lanes) {
    Vec sum = hn::Zero(d), slope_sum = hn::Zero(d);
    for (int q = 0; q < 6; ++q) {
      const Vec x = hn::Load(d, knots + q * n + f);
      sum = hn::MulAdd(x, hn::Set(d, value_weight[q]), sum);
      if constexpr (kSlope) slope_sum = hn::MulAdd(x, hn::Set(d, slope_weight[q]), slope_sum);
    }
    hn::StoreU(sum, d, value + f);
    if constexpr (kSlope) hn::StoreU(slope_sum, d, slope + f);
  }
}

void SplineRow(int64_t n, const double* knots, const double* value_weight, const double* slope_weight, double* value,
               double* slope) {
  if (slope == nullptr) {
    SplineRowOf<false>(n, knots, value_weight, slope_weight, value, nullptr);
  } else {
    SplineRowOf<true>(n, knots, value_weight, slope_weight, value, slope);
  }
}

template <int kMaxL>
void AddPairOf(int64_t channels, const double* HWY_RESTRICT radial, const double* HWY_RESTRICT u,
               const double* HWY_RESTRICT y, double* HWY_RESTRICT a) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t k = 0; k < channels; k += lanes) {
    const Vec sent = hn::Load(d, u + k);
    for (int l = 0; l <= kMaxL; ++l) {
      const Vec weighted = hn::Mul(hn::Load(d, radial + l * channels + k), sent);
      for (int m = l * l; m < (l + 1) * (l + 1); ++m) {
        double* const at = a + m * channels + k;
        hn::Store(hn::MulAdd(weighted, hn::Set(d, y[m]), hn::Load(d, at)), d, at);
      }
    }
  }
}

template <int kMaxL, bool kMessages>
double PairSlopesOf(int64_t channels, const double* HWY_RESTRICT radial, const double* HWY_RESTRICT radial_slope,
                    const double* HWY_RESTRICT u, const double* HWY_RESTRICT y, const double* HWY_RESTRICT abar,
                    double* HWY_RESTRICT y_bar, double* HWY_RESTRICT u_bar) {
  constexpr int kHarmonics = (kMaxL + 1) * (kMaxL + 1);
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vec sums[kHarmonics], along = hn::Zero(d);
  for (int m = 0; m < kHarmonics; ++m) sums[m] = hn::Zero(d);
  for (int64_t k = 0; k < channels; k += lanes) {
    const Vec sent = hn::Load(d, u + k);
    Vec to_sent = hn::Zero(d);
    for (int l = 0; l <= kMaxL; ++l) {
      const Vec r = hn::Load(d, radial + l * channels + k);
      const Vec weighted = hn::Mul(r, sent);
      Vec of_l = hn::Zero(d);
      for (int m = l * l; m < (l + 1) * (l + 1); ++m) {
        const Vec bar = hn::Load(d, abar + m * channels + k);
        sums[m] = hn::MulAdd(weighted, bar, sums[m]);
        of_l = hn::MulAdd(hn::Set(d, y[m]), bar, of_l);
      }
      along = hn::MulAdd(hn::Mul(hn::Load(d, radial_slope + l * channels + k), sent), of_l, along);
      if constexpr (kMessages) to_sent = hn::MulAdd(r, of_l, to_sent);
    }
    if constexpr (kMessages) hn::Store(hn::Add(hn::Load(d, u_bar + k), to_sent), d, u_bar + k);
  }
  for (int m = 0; m < kHarmonics; ++m) y_bar[m] = hn::GetLane(hn::SumOfLanes(d, sums[m]));
  return hn::GetLane(hn::SumOfLanes(d, along));
}

void AddPair(int max_l, int64_t channels, const double* radial, const double* u, const double* y, double* a) {
  switch (max_l) {
    case 0:
      return AddPairOf<0>(channels, radial, u, y, a);
    case 1:
      return AddPairOf<1>(channels, radial, u, y, a);
    case 2:
      return AddPairOf<2>(channels, radial, u, y, a);
    case 3:
      return AddPairOf<3>(channels, radial, u, y, a);
    default:
      CHECK_EQ(max_l, 4);
      return AddPairOf<4>(channels, radial, u, y, a);
  }
}

template <bool kMessages>
double SlopesOfL(int max_l, int64_t channels, const double* radial, const double* radial_slope, const double* u,
                 const double* y, const double* abar, double* y_bar, double* u_bar) {
  switch (max_l) {
    case 0:
      return PairSlopesOf<0, kMessages>(channels, radial, radial_slope, u, y, abar, y_bar, u_bar);
    case 1:
      return PairSlopesOf<1, kMessages>(channels, radial, radial_slope, u, y, abar, y_bar, u_bar);
    case 2:
      return PairSlopesOf<2, kMessages>(channels, radial, radial_slope, u, y, abar, y_bar, u_bar);
    case 3:
      return PairSlopesOf<3, kMessages>(channels, radial, radial_slope, u, y, abar, y_bar, u_bar);
    default:
      CHECK_EQ(max_l, 4);
      return PairSlopesOf<4, kMessages>(channels, radial, radial_slope, u, y, abar, y_bar, u_bar);
  }
}

double PairSlopes(int max_l, int64_t channels, const double* radial, const double* radial_slope, const double* u,
                  const double* y, const double* abar, double* y_bar, double* u_bar) {
  return u_bar == nullptr ? SlopesOfL<false>(max_l, channels, radial, radial_slope, u, y, abar, y_bar, nullptr)
                          : SlopesOfL<true>(max_l, channels, radial, radial_slope, u, y, abar, y_bar, u_bar);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(SiluInPlace);
HWY_EXPORT(SplineRow);
HWY_EXPORT(AddPair);
HWY_EXPORT(PairSlopes);

void SiluInPlace(int64_t n, double* x, double* tangent) { HWY_DYNAMIC_DISPATCH(SiluInPlace)(n, x, tangent); }

void SplineRow(int64_t n, const double* knots, const double* value_weight, const double* slope_weight, double* value,
               double* slope) {
  HWY_DYNAMIC_DISPATCH(SplineRow)(n, knots, value_weight, slope_weight, value, slope);
}

void AddPair(int max_l, int64_t channels, const double* radial, const double* u, const double* y, double* a) {
  HWY_DYNAMIC_DISPATCH(AddPair)(max_l, channels, radial, u, y, a);
}

double PairSlopes(int max_l, int64_t channels, const double* radial, const double* radial_slope, const double* u,
                  const double* y, const double* abar, double* y_bar, double* u_bar) {
  return HWY_DYNAMIC_DISPATCH(PairSlopes)(max_l, channels, radial, radial_slope, u, y, abar, y_bar, u_bar);
}

}  // namespace rutile
#endif  // HWY_ONCE
