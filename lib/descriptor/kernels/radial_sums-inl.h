// Computes sum_j T_n(x_j) f_c(r_j) for one atom; each SIMD lane is a neighbor, and accumulators stay in registers.
// Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_SUMS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_SUMS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_SUMS_INL_H_
#endif

#include <cstddef>
#include <type_traits>

#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/vector_sums-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// Returns f_c from s = (r / cutoff)^2, without r: f_c = cos^2(pi sqrt(s) / 2) = ((1 - s) q(s))^2, where q has no zero
// for s < 9 and a short Chebyshev fit. The result is exactly 0 for s >= 1. Errors of q: 1.6e-17 in double, 9e-10 in
// float.
template <class D, class V>
HWY_INLINE V CosineCutoffOfSquare(D d, V s) {
  V q;
  if constexpr (std::is_same<hn::TFromD<D>, double>::value) {
    q = hn::Set(d, -6.3061695616568301e-11);
    q = hn::MulAdd(q, s, hn::Set(d, 6.3181196706228311e-9));
    q = hn::MulAdd(q, s, hn::Set(d, -4.6476318093539006e-7));
    q = hn::MulAdd(q, s, hn::Set(d, 2.4737275041126401e-5));
    q = hn::MulAdd(q, s, hn::Set(d, -8.9452299813816203e-4));
    q = hn::MulAdd(q, s, hn::Set(d, 1.9968957764836131e-2));
    q = hn::MulAdd(q, s, hn::Set(d, -2.3370055013616783e-1));
    q = hn::MulAdd(q, s, hn::Set(d, 1.0));
  } else {
    q = hn::Set(d, 2.3600689581e-5f);
    q = hn::MulAdd(q, s, hn::Set(d, -8.9353550146e-4f));
    q = hn::MulAdd(q, s, hn::Set(d, 1.9968606207e-2f));
    q = hn::MulAdd(q, s, hn::Set(d, -2.3370050625e-1f));
    q = hn::MulAdd(q, s, hn::Set(d, 1.0f));
  }
  const V cosine = hn::Mul(hn::Max(hn::Sub(hn::Set(d, 1), s), hn::Zero(d)), q);
  return hn::Mul(cosine, cosine);
}

// Stores the recurrence of each neighbor between two chunks of orders.
template <typename T>
struct RadialState {
  T *two_x, *current, *previous;
};

// Adds orders n .. n + kOrders - 1 of `count` neighbors, padded to whole vectors. The first chunk starts from r^2.
template <bool kFirst, bool kLast, int kOrders, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void RadialChunk(D d, const ChebyshevTables<T>& tables, const T* square, size_t count,
                              const RadialState<T>& state, T weight, WeightedSums<T> to) {
  using V = hn::Vec<D>;
  V sums[kOrders];
  for (int k = 0; k < kOrders; ++k) sums[k] = hn::Zero(d);
  for (size_t p = 0; p < count; p += LaneCount(d)) {
    V two_x, current, previous;
    if constexpr (kFirst) {
      const V r2 = hn::Load(d, square + p);
      two_x = hn::MulSub(hn::Sqrt(r2), hn::Set(d, tables.rad_scale), hn::Set(d, 2));
      current = CosineCutoffOfSquare(d, hn::Mul(r2, hn::Set(d, tables.rad_inverse_square)));
      previous = hn::Mul(hn::Mul(two_x, hn::Set(d, T(0.5))), current);  // T_{-1} = T_1
      if constexpr (!kLast) hn::Store(two_x, d, state.two_x + p);
    } else {
      two_x = hn::Load(d, state.two_x + p);
      current = hn::Load(d, state.current + p);
      previous = hn::Load(d, state.previous + p);
    }
    HWY_UNROLL(32)
    for (int k = 0; k < kOrders; ++k) {
      sums[k] = hn::Add(sums[k], current);
      const V next = hn::MulSub(two_x, current, previous);
      previous = current;
      current = next;
    }
    if constexpr (!kLast) {
      hn::Store(current, d, state.current + p);
      hn::Store(previous, d, state.previous + p);
    }
  }
  AddSums(d, sums, weight, to);
}

// Calls RadialChunk with `orders` as a template parameter.
template <bool kFirst, int kOrders, class D, typename T = hn::TFromD<D>>
HWY_INLINE void LastRadialChunk(D d, int orders, const ChebyshevTables<T>& tables, const T* square, size_t count,
                                const RadialState<T>& state, T weight, WeightedSums<T> to) {
  if constexpr (kOrders > 0) {
    if (orders == kOrders) {
      RadialChunk<kFirst, true, kOrders>(d, tables, square, count, state, weight, to);
    } else {
      LastRadialChunk<kFirst, kOrders - 1>(d, orders, tables, square, count, state, weight, to);
    }
  }
}

// Adds sum_j T_n(x_j) f_c(r_j) to to.plain[n], and weight times it to to.spin[n], for as many orders at a time as there
// are registers. square: r^2 [count], padded to whole vectors with tables.rad_padding.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddRadialSums(D d, const ChebyshevTables<T>& tables, const T* square, size_t count,
                              const RadialState<T>& state, T weight, WeightedSums<T> to) {
  constexpr int kStep = kAccumulators / 8 * 8 > 16 ? 16 : kAccumulators / 8 * 8;
  int orders = tables.rad_order + 1;
  if (orders <= kAccumulators) {
    LastRadialChunk<true, kAccumulators>(d, orders, tables, square, count, state, weight, to);
    return;
  }
  RadialChunk<true, false, kStep>(d, tables, square, count, state, weight, to);
  while ((orders -= kStep) > kAccumulators) {
    to = {to.plain + kStep, to.spin == nullptr ? nullptr : to.spin + kStep};
    RadialChunk<false, false, kStep>(d, tables, square, count, state, weight, to);
  }
  to = {to.plain + kStep, to.spin == nullptr ? nullptr : to.spin + kStep};
  LastRadialChunk<false, kAccumulators>(d, orders, tables, square, count, state, weight, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
