// Per-atom work of the interleaved kernels, apart from loops over neighbors: loads and stores rows of features, and
// contracts moments. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_CONTRACT_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_CONTRACT_MOMENTS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_CONTRACT_MOMENTS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_CONTRACT_MOMENTS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/descriptor/kernels/angular_sums-inl.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/transpose-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// --- Rows of atoms are [atoms, F] in memory and [F, lanes] here ---

template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void LoadRows(D d, const T* rows, const int32_t* atoms, int64_t num_atoms, int num_features, T* to) {
  constexpr int kLanes = ConstantLanes(D());
  const T* row[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    // A lane without an atom has no neighbors, so that any finite row will do.
    row[lane] = rows + int64_t{atoms[lane] < num_atoms ? atoms[lane] : atoms[0]} * num_features;
  }
  int n = 0;
  for (; n + kLanes <= num_features; n += kLanes) TransposeIn(d, row, n, to + n * kLanes);
  for (; n < num_features; ++n) {
    for (int lane = 0; lane < kLanes; ++lane) to[n * kLanes + lane] = row[lane][n];
  }
}

template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void StoreRows(D d, const T* from, const int32_t* atoms, int64_t num_atoms, int num_features, T* rows) {
  constexpr int kLanes = ConstantLanes(D());
  T* row[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    row[lane] = atoms[lane] < num_atoms ? rows + int64_t{atoms[lane]} * num_features : nullptr;
  }
  int n = 0;
  for (; n + kLanes <= num_features; n += kLanes) TransposeOut(d, from + n * kLanes, n, row);
  for (; n < num_features; ++n) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (row[lane] != nullptr) row[lane][n] = from[n * kLanes + lane];
    }
  }
}

// Adds scale from[k, lane] to to[k, lane].
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddScaled(D d, T scale, const T* from, int count, T* to) {
  const auto factor = hn::Set(d, scale);
  for (size_t k = 0; k < count * hn::Lanes(d); k += hn::Lanes(d)) {
    hn::Store(hn::MulAdd(factor, hn::Load(d, from + k), hn::Load(d, to + k)), d, to + k);
  }
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void FillZero(D d, int count, T* to) {
  for (size_t k = 0; k < count * hn::Lanes(d); k += hn::Lanes(d)) hn::Store(hn::Zero(d), d, to + k);
}

// --- Contractions of moments with the coefficients of A_n = sum_l t_nl sum_m a_lm B_lm^2 / 2 - self / 2 ---

// Computes row[n] = sum_l t_nl sum_b factor weight_b a_b b_b - self_factor self. by_degree: [ang_order + 1, lanes]
// scratch.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void ContractMoments(D d, const ChebyshevTables<T>& tables, const T* a, const T* b, T factor,
                                  const T* self, T self_factor, T* by_degree, T* row) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  const int order = tables.ang_order;
  FillZero(d, order + 1, by_degree);
  const T* weight = tables.weight.data();
  for (int m = 0; m <= order; ++m) {
    for (int part = 0; part < (m == 0 ? 1 : 2); ++part) {
      for (int l = m; l <= order; ++l, ++weight, a += lanes, b += lanes) {
        T* const to = by_degree + l * lanes;
        const V product = hn::Mul(hn::Load(d, a), hn::Load(d, b));
        hn::Store(hn::MulAdd(hn::Set(d, factor * *weight), product, hn::Load(d, to)), d, to);
      }
    }
  }
  const V rest = hn::Mul(hn::Set(d, self_factor), hn::Load(d, self));
  for (int n = 0; n <= order; ++n) {
    const T* const t = &tables.legendre[n * (order + 1)];
    V sum = hn::Zero(d);
    for (int l = n % 2; l <= n; l += 2) sum = hn::MulAdd(hn::Set(d, t[l]), hn::Load(d, by_degree + l * lanes), sum);
    hn::Store(hn::Sub(sum, rest), d, row + n * lanes);
  }
}

// Computes to[b] = 2 B_b sum_n dA_n/d(B_b^2) slope[n] and half_self = sum_n slope[n] / 2. by_degree: [ang_order + 1,
// lanes] scratch.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void ContractSlopes(D d, const ChebyshevTables<T>& tables, const T* moments, const T* slope, T* by_degree,
                                 T* to, T* half_self) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  const int order = tables.ang_order;
  V self = hn::Zero(d);
  for (int n = 0; n <= order; ++n) self = hn::Add(self, hn::Load(d, slope + n * lanes));
  hn::Store(hn::Mul(self, hn::Set(d, T(0.5))), d, half_self);
  for (int l = 0; l <= order; ++l) {
    V sum = hn::Zero(d);
    for (int n = l; n <= order; n += 2) {
      sum = hn::MulAdd(hn::Set(d, 2 * tables.legendre[n * (order + 1) + l]), hn::Load(d, slope + n * lanes), sum);
    }
    hn::Store(sum, d, by_degree + l * lanes);
  }
  const T* weight = tables.weight.data();
  for (int m = 0; m <= order; ++m) {
    for (int part = 0; part < (m == 0 ? 1 : 2); ++part) {
      for (int l = m; l <= order; ++l, ++weight, moments += lanes, to += lanes) {
        const V scaled = hn::Mul(hn::Set(d, *weight), hn::Load(d, by_degree + l * lanes));
        hn::Store(hn::Mul(scaled, hn::Load(d, moments)), d, to);
      }
    }
  }
}

// Computes h_z[b] = 2 (l - m) h[b].
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void ScaleByDegree(D d, int order, const T* h, T* h_z) {
  for (int m = 0; m <= order; ++m) {
    for (int part = 0; part < (m == 0 ? 1 : 2); ++part) {
      for (int l = m; l <= order; ++l, h += hn::Lanes(d), h_z += hn::Lanes(d)) {
        hn::Store(hn::Mul(hn::Set(d, 2 * (l - m)), hn::Load(d, h)), d, h_z);
      }
    }
  }
}

// Computes the coefficients c[n] of scale dP/dx / 2 = sum_n c[n] T_n(x), where P = sum_n w[n] T_n(x), by c_{n-1} =
// c_{n+1} + n scale w_n with c_0 halved.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void SlopeCoefficients(D d, int order, T scale, const T* w, T* c) {
  const size_t lanes = hn::Lanes(d);
  auto before = hn::Zero(d), last = hn::Zero(d);
  hn::Store(last, d, c + order * lanes);
  for (int n = order; n > 0; --n) {
    const auto next = hn::MulAdd(hn::Set(d, n * scale), hn::Load(d, w + n * lanes), before);
    hn::Store(n > 1 ? next : hn::Mul(next, hn::Set(d, T(0.5))), d, c + (n - 1) * lanes);
    before = last;
    last = next;
  }
}

// Computes to[n, lane] = a[n, lane] + factor b[n, lane]; b may be null.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void Join(D d, const T* a, const T* b, T factor, int count, T* to) {
  for (size_t k = 0; k < count * hn::Lanes(d); k += hn::Lanes(d)) {
    auto sum = hn::Load(d, a + k);
    if (b != nullptr) sum = hn::MulAdd(hn::Set(d, factor), hn::Load(d, b + k), sum);
    hn::Store(sum, d, to + k);
  }
}

// Adds to value[n] the sum with T_n' in place of T_n, given that slope[n] is the sum with T_n: T_n' = 2 n (T_{n-1} +
// T_{n-3} + ...), where T_0 counts half.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddPolynomialSlopes(D d, int order, const T* slope, T* value) {
  const size_t lanes = hn::Lanes(d);
  auto before = hn::Zero(d), last = hn::Zero(d);
  for (int n = 1; n <= order; ++n) {
    auto term = hn::Load(d, slope + (n - 1) * lanes);
    if (n == 1) term = hn::Mul(term, hn::Set(d, T(0.5)));
    const auto next = hn::Add(term, before);
    T* const to = value + n * lanes;
    hn::Store(hn::MulAdd(hn::Set(d, 2 * n), next, hn::Load(d, to)), d, to);
    before = last;
    last = next;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
