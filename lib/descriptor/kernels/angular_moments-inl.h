// Computes angular moments, their slopes and their tangents; each SIMD lane is an atom. Highway compiles this file once
// for each instruction set.
//
// With q_lm and B_lm of chebyshev_tables.h and C_m + i S_m = (x + iy)^m, the gradient of a harmonic is made of
// harmonics:
//
//   d/dz q_lm = 2 (l - m) q_{l,m+1},   d/dx (C_m, S_m) = m (C_{m-1}, S_{m-1}),   d/dy (C_m, S_m) = m (-S_{m-1},
//   C_{m-1})
//
// Source: the leading coefficients of q (2^(l-m)); d/dz of the m-th derivative of P_l is the (m+1)-th.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_MOMENTS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_MOMENTS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_MOMENTS_INL_H_
#endif

#include <cstddef>

#include "lib/descriptor/kernels/angular_sums-inl.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/cutoff-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The slots of one species in one group: unit vectors and distances, [slots, lanes] each.
template <typename T>
struct Slots {
  const T *x, *y, *z, *r;
};

// The first of the harmonics of m in the order of ChebyshevTables::angular. The imaginary partner of a q_lm lies order
// - m + 1 behind it.
constexpr int HarmonicsBelow(int order, int m) { return m == 0 ? 0 : m * (2 * order + 3 - m) - order - 1; }

// Computes q_{l+1,m} from q_lm and q_{l-1,m}.
template <int kM, int kL, class D, class V>
HWY_INLINE V NextDegree(D d, V two_z, V previous, V current) {
  if constexpr (kL == kM) return two_z;
  constexpr auto kFactor = static_cast<hn::TFromD<D>>(HarmonicRecurrence(kL, kM));
  if constexpr (kL == kM + 1) return hn::MulSub(two_z, current, hn::Set(d, kFactor));
  return hn::NegMulAdd(hn::Set(d, kFactor), previous, hn::Mul(two_z, current));
}

// --- Moments ---

// Computes sums[b, lane] = B_b and self[lane] = sum of f_c^2.
template <int kOrder, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void LaneMoments(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots, size_t count, T* sums,
                              T* self) {
  using V = hn::Vec<D>;
  constexpr int kCount = (kOrder + 1) * (kOrder + 1);
  const size_t lanes = hn::Lanes(d);
  V acc[kCount];
  for (int b = 0; b < kCount; ++b) acc[b] = hn::Zero(d);
  V square = hn::Zero(d);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V x = hn::Load(d, slots.x + p), y = hn::Load(d, slots.y + p), z = hn::Load(d, slots.z + p);
    const V r = hn::Load(d, slots.r + p);
    V real = CosineCutoffOfSquare(d, hn::Mul(hn::Mul(r, r), hn::Set(d, tables.ang_inverse_square)));
    V imaginary = real;
    square = hn::MulAdd(real, real, square);
    AddRange<kOrder, 0, kOrder + 1, 0>(d, x, y, hn::Add(z, z), &real, &imaginary, acc);
  }
  for (int b = 0; b < kCount; ++b) hn::Store(acc[b], d, sums + b * lanes);
  hn::Store(square, d, self);
}

// Computes the moments, as the function above, for an order that is not a template parameter.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void LaneMomentsOfHighOrder(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots, size_t count,
                                         T* sums, T* self) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  const int order = tables.ang_order;
  for (int b = 0; b < tables.num_harmonics; ++b) hn::Store(hn::Zero(d), d, sums + b * lanes);
  V square = hn::Zero(d);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V x = hn::Load(d, slots.x + p), y = hn::Load(d, slots.y + p), z = hn::Load(d, slots.z + p);
    const V r = hn::Load(d, slots.r + p), two_z = hn::Add(z, z);
    V real = CosineCutoffOfSquare(d, hn::Mul(hn::Mul(r, r), hn::Set(d, tables.ang_inverse_square)));
    V imaginary = hn::Zero(d);
    square = hn::MulAdd(real, real, square);
    T* to = sums;
    for (int m = 0; m <= order; ++m) {
      const T* const factor = &tables.recurrence[m * (order + 1)];
      const size_t rows = (order + 1 - m) * lanes;
      V current = hn::Set(d, 1), previous = hn::Zero(d);
      for (int l = m; l <= order; ++l, to += lanes) {
        hn::Store(hn::MulAdd(real, current, hn::Load(d, to)), d, to);
        if (m > 0) hn::Store(hn::MulAdd(imaginary, current, hn::Load(d, to + rows)), d, to + rows);
        const V next = hn::NegMulAdd(hn::Set(d, factor[l]), previous, hn::Mul(two_z, current));
        previous = current;
        current = next;
      }
      if (m > 0) to += rows;
      RaiseM(x, y, &real, &imaginary);
    }
  }
  hn::Store(square, d, self);
}

// --- Slopes ---

// The sum over degrees and m of h_b Y_b, and its gradient.
template <class V>
struct HarmonicSlope {
  V value, x, y, z;
};

template <class V>
struct DegreeSums {
  V real, imaginary, z_real, z_imaginary;
};

// Sums over the degrees of one m. h: [b, lane]; h_z: [b, lane] = 2 (l - m) h_b.
template <int kOrder, int kM, int kL, class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE void SumDegrees(D d, const T* h, const T* h_z, V two_z, V previous, V current, DegreeSums<V>* sums) {
  const size_t lanes = hn::Lanes(d);
  constexpr int kReal = HarmonicsBelow(kOrder, kM) + kL - kM, kImaginary = kReal + kOrder - kM + 1;
  const V real = hn::Load(d, h + kReal * lanes);
  if constexpr (kL == kM) {
    sums->real = real;
    if constexpr (kM > 0) sums->imaginary = hn::Load(d, h + kImaginary * lanes);
  } else {
    sums->real = hn::MulAdd(real, current, sums->real);
    if constexpr (kM > 0) sums->imaginary = hn::MulAdd(hn::Load(d, h + kImaginary * lanes), current, sums->imaginary);
  }
  if constexpr (kM > 0) {  // contributes to the derivative by z, whose harmonic is q_{l,m-1}
    constexpr int kRealZ = HarmonicsBelow(kOrder, kM - 1) + kL - kM + 1, kImaginaryZ = kRealZ + kOrder - kM + 2;
    const V z = hn::Load(d, h_z + kRealZ * lanes);
    if constexpr (kL == kM) {
      sums->z_real = z;
      if constexpr (kM > 1) sums->z_imaginary = hn::Load(d, h_z + kImaginaryZ * lanes);
    } else {
      sums->z_real = hn::MulAdd(z, current, sums->z_real);
      if constexpr (kM > 1) {
        sums->z_imaginary = hn::MulAdd(hn::Load(d, h_z + kImaginaryZ * lanes), current, sums->z_imaginary);
      }
    }
  }
  if constexpr (kL < kOrder) {
    SumDegrees<kOrder, kM, kL + 1>(d, h, h_z, two_z, current, NextDegree<kM, kL>(d, two_z, previous, current), sums);
  }
}

// Adds the terms of one m. real, imaginary: C_{m-1}, S_{m-1}.
template <int kOrder, int kM, class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE void SumSlopes(D d, const T* h, const T* h_z, V x, V y, V two_z, V real, V imaginary, HarmonicSlope<V>* to) {
  DegreeSums<V> sums;
  SumDegrees<kOrder, kM, kM>(d, h, h_z, two_z, two_z, two_z, &sums);
  if constexpr (kM == 0) {
    to->value = sums.real;
    to->x = to->y = to->z = hn::Zero(d);
    if constexpr (kOrder > 0) SumSlopes<kOrder, 1>(d, h, h_z, x, y, two_z, real, imaginary, to);
  } else if constexpr (kM == 1) {
    to->x = sums.real;
    to->y = sums.imaginary;
    to->z = sums.z_real;
    to->value = hn::MulAdd(sums.real, x, hn::MulAdd(sums.imaginary, y, to->value));
    if constexpr (kOrder > 1) SumSlopes<kOrder, 2>(d, h, h_z, x, y, two_z, x, y, to);
  } else {
    const V m = hn::Set(d, kM);
    const V m_real = hn::Mul(m, real), m_imaginary = hn::Mul(m, imaginary);
    to->x = hn::MulAdd(sums.real, m_real, hn::MulAdd(sums.imaginary, m_imaginary, to->x));
    to->y = hn::MulAdd(sums.imaginary, m_real, hn::NegMulAdd(sums.real, m_imaginary, to->y));
    to->z = hn::MulAdd(sums.z_real, real, hn::MulAdd(sums.z_imaginary, imaginary, to->z));
    RaiseM(x, y, &real, &imaginary);
    to->value = hn::MulAdd(sums.real, real, hn::MulAdd(sums.imaginary, imaginary, to->value));
    if constexpr (kOrder > kM) SumSlopes<kOrder, kM + 1>(d, h, h_z, x, y, two_z, real, imaginary, to);
  }
}

template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE void SumSlopesOfHighOrder(D d, const ChebyshevTables<T>& tables, const T* h, const T* h_z, V x, V y, V two_z,
                                     HarmonicSlope<V>* to) {
  const size_t lanes = hn::Lanes(d);
  const int order = tables.ang_order;
  V real = hn::Set(d, 1), imaginary = hn::Zero(d);  // C_{m-1}, S_{m-1} from m = 1 on
  *to = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (int m = 0; m <= order; ++m) {
    const T* const factor = &tables.recurrence[m * (order + 1)];
    const T* const at = h + HarmonicsBelow(order, m) * lanes;
    const T* const at_z = m > 0 ? h_z + (HarmonicsBelow(order, m - 1) + 1) * lanes : h_z;  // of l = m, m - 1
    const size_t rows = (order + 1 - m) * lanes;
    DegreeSums<V> sums = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    V current = hn::Set(d, 1), previous = hn::Zero(d);
    for (int l = m; l <= order; ++l) {
      const size_t k = (l - m) * lanes;
      sums.real = hn::MulAdd(hn::Load(d, at + k), current, sums.real);
      if (m > 0) {
        sums.imaginary = hn::MulAdd(hn::Load(d, at + rows + k), current, sums.imaginary);
        sums.z_real = hn::MulAdd(hn::Load(d, at_z + k), current, sums.z_real);
      }
      if (m > 1) sums.z_imaginary = hn::MulAdd(hn::Load(d, at_z + rows + lanes + k), current, sums.z_imaginary);
      const V next = hn::NegMulAdd(hn::Set(d, factor[l]), previous, hn::Mul(two_z, current));
      previous = current;
      current = next;
    }
    if (m == 0) {
      to->value = sums.real;
      continue;
    }
    const V m_real = hn::Mul(hn::Set(d, m), real), m_imaginary = hn::Mul(hn::Set(d, m), imaginary);
    to->x = hn::MulAdd(sums.real, m_real, hn::MulAdd(sums.imaginary, m_imaginary, to->x));
    to->y = hn::MulAdd(sums.imaginary, m_real, hn::NegMulAdd(sums.real, m_imaginary, to->y));
    to->z = hn::MulAdd(sums.z_real, real, hn::MulAdd(sums.z_imaginary, imaginary, to->z));
    RaiseM(x, y, &real, &imaginary);
    to->value = hn::MulAdd(sums.real, real, hn::MulAdd(sums.imaginary, imaginary, to->value));
  }
}

// Computes to_x, to_y, to_z [slots, lanes] = d/dr_ij of f_c sum_b h_b Y_b(u) - half_self f_c^2. kOrder < 0 stands for
// any order.
template <int kOrder, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void LaneSlopes(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots, size_t count, const T* h,
                             const T* h_z, const T* half_self, T* to_x, T* to_y, T* to_z) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  const V self = hn::Load(d, half_self);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V x = hn::Load(d, slots.x + p), y = hn::Load(d, slots.y + p), z = hn::Load(d, slots.z + p);
    const V r = hn::Load(d, slots.r + p), two_z = hn::Add(z, z);
    HarmonicSlope<V> sum;
    if constexpr (kOrder < 0) {
      SumSlopesOfHighOrder(d, tables, h, h_z, x, y, two_z, &sum);
    } else {
      SumSlopes<kOrder, 0>(d, h, h_z, x, y, two_z, x, y, &sum);
    }
    const CutoffValues<V> f = CutoffWithSlope(d, r, tables.ang_inverse_square);
    const V across = hn::Div(f.value, r);
    const V dot = hn::MulAdd(sum.x, x, hn::MulAdd(sum.y, y, hn::Mul(sum.z, z)));
    const V inner = hn::NegMulAdd(hn::Add(self, self), f.value, sum.value);
    const V along = hn::MulSub(f.slope, inner, hn::Mul(across, dot));
    hn::Store(hn::MulAdd(across, sum.x, hn::Mul(along, x)), d, to_x + p);
    hn::Store(hn::MulAdd(across, sum.y, hn::Mul(along, y)), d, to_y + p);
    hn::Store(hn::MulAdd(across, sum.z, hn::Mul(along, z)), d, to_z + p);
  }
}

// --- Tangents ---

// f_c C_m and f_c S_m, their changes, and 2 dz f_c C_m and 2 dz f_c S_m.
template <class V>
struct PowerTangent {
  V real, imaginary, real_dot, imaginary_dot, z_real, z_imaginary;
};

template <int kOrder, int kM, int kL, int kCount, class D, class V>
HWY_INLINE void AddTangentDegrees(D d, V two_z, const PowerTangent<V>& power, V previous, V current,
                                  V (&sums)[kCount]) {
  constexpr int kReal = HarmonicsBelow(kOrder, kM) + kL - kM, kImaginary = kReal + kOrder - kM + 1;
  if constexpr (kL == kM) {
    sums[kReal] = hn::Add(sums[kReal], power.real_dot);
    if constexpr (kM > 0) sums[kImaginary] = hn::Add(sums[kImaginary], power.imaginary_dot);
  } else {
    sums[kReal] = hn::MulAdd(power.real_dot, current, sums[kReal]);
    if constexpr (kM > 0) sums[kImaginary] = hn::MulAdd(power.imaginary_dot, current, sums[kImaginary]);
  }
  if constexpr (kM > 0) {  // z_real, z_imaginary still are those of m - 1
    constexpr int kRealZ = HarmonicsBelow(kOrder, kM - 1) + kL - kM + 1, kImaginaryZ = kRealZ + kOrder - kM + 2;
    if constexpr (kL == kM) {
      sums[kRealZ] = hn::Add(sums[kRealZ], power.z_real);
      if constexpr (kM > 1) sums[kImaginaryZ] = hn::Add(sums[kImaginaryZ], power.z_imaginary);
    } else {
      const V slope = hn::Mul(hn::Set(d, kL - kM + 1), current);
      sums[kRealZ] = hn::MulAdd(power.z_real, slope, sums[kRealZ]);
      if constexpr (kM > 1) sums[kImaginaryZ] = hn::MulAdd(power.z_imaginary, slope, sums[kImaginaryZ]);
    }
  }
  if constexpr (kL < kOrder) {
    AddTangentDegrees<kOrder, kM, kL + 1>(d, two_z, power, current, NextDegree<kM, kL>(d, two_z, previous, current),
                                          sums);
  }
}

// Advances from m to m + 1. two_dz: twice the change of z.
template <class V>
HWY_INLINE void RaiseTangent(V x, V y, V dx, V dy, V two_dz, PowerTangent<V>* power) {
  power->z_real = hn::Mul(two_dz, power->real);
  power->z_imaginary = hn::Mul(two_dz, power->imaginary);
  const V real_dot = power->real_dot;
  power->real_dot = hn::MulAdd(
      real_dot, x, hn::MulSub(power->real, dx, hn::MulAdd(power->imaginary_dot, y, hn::Mul(power->imaginary, dy))));
  power->imaginary_dot = hn::MulAdd(
      power->imaginary_dot, x, hn::MulAdd(power->imaginary, dx, hn::MulAdd(real_dot, y, hn::Mul(power->real, dy))));
  RaiseM(x, y, &power->real, &power->imaginary);
}

template <int kOrder, int kM, int kCount, class D, class V>
HWY_INLINE void AddTangents(D d, V x, V y, V two_z, V dx, V dy, V two_dz, PowerTangent<V>* power, V (&sums)[kCount]) {
  AddTangentDegrees<kOrder, kM, kM>(d, two_z, *power, two_z, two_z, sums);
  if constexpr (kM < kOrder) {
    if constexpr (kM == 0) {
      power->z_real = hn::Mul(two_dz, power->real);
      power->imaginary_dot = hn::MulAdd(power->real_dot, y, hn::Mul(power->real, dy));
      power->real_dot = hn::MulAdd(power->real_dot, x, hn::Mul(power->real, dx));
      power->imaginary = hn::Mul(power->real, y);
      power->real = hn::Mul(power->real, x);
    } else {
      RaiseTangent(x, y, dx, dy, two_dz, power);
    }
    AddTangents<kOrder, kM + 1>(d, x, y, two_z, dx, dy, two_dz, power, sums);
  }
}

// How the neighbors in slots move: the changes of r and of the unit vector; [slots, lanes] each.
template <typename T>
struct SlotTangents {
  const T *x, *y, *z, *r;
};

// Returns f_c and its change as the power m = 0, and adds f_c df_c to *self.
template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE PowerTangent<V> StartTangent(D d, const ChebyshevTables<T>& tables, V r, V dr, V* self) {
  const CutoffValues<V> f = CutoffWithSlope(d, r, tables.ang_inverse_square);
  const V zero = hn::Zero(d), f_dot = hn::Mul(f.slope, dr);
  *self = hn::MulAdd(f.value, f_dot, *self);
  return {f.value, zero, f_dot, zero, zero, zero};
}

// Computes sums[b, lane], the change of B_b, and self[lane] = sum of f_c df_c.
template <int kOrder, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void LaneTangents(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots,
                               const SlotTangents<T>& tangents, size_t count, T* sums, T* self) {
  using V = hn::Vec<D>;
  constexpr int kCount = (kOrder + 1) * (kOrder + 1);
  const size_t lanes = hn::Lanes(d);
  V acc[kCount];
  for (int b = 0; b < kCount; ++b) acc[b] = hn::Zero(d);
  V product = hn::Zero(d);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V x = hn::Load(d, slots.x + p), y = hn::Load(d, slots.y + p), z = hn::Load(d, slots.z + p);
    const V dx = hn::Load(d, tangents.x + p), dy = hn::Load(d, tangents.y + p), dz = hn::Load(d, tangents.z + p);
    PowerTangent<V> power = StartTangent(d, tables, hn::Load(d, slots.r + p), hn::Load(d, tangents.r + p), &product);
    AddTangents<kOrder, 0>(d, x, y, hn::Add(z, z), dx, dy, hn::Add(dz, dz), &power, acc);
  }
  for (int b = 0; b < kCount; ++b) hn::Store(acc[b], d, sums + b * lanes);
  hn::Store(product, d, self);
}

// Computes the changes, as the function above, for an order that is not a template parameter.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void LaneTangentsOfHighOrder(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots,
                                          const SlotTangents<T>& tangents, size_t count, T* sums, T* self) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  const int order = tables.ang_order;
  for (int b = 0; b < tables.num_harmonics; ++b) hn::Store(hn::Zero(d), d, sums + b * lanes);
  V product = hn::Zero(d);
  const auto add = [d](V a, V b, T* to) HWY_ATTR { hn::Store(hn::MulAdd(a, b, hn::Load(d, to)), d, to); };
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V x = hn::Load(d, slots.x + p), y = hn::Load(d, slots.y + p), z = hn::Load(d, slots.z + p);
    const V dx = hn::Load(d, tangents.x + p), dy = hn::Load(d, tangents.y + p), dz = hn::Load(d, tangents.z + p);
    const V two_z = hn::Add(z, z), two_dz = hn::Add(dz, dz);
    PowerTangent<V> power = StartTangent(d, tables, hn::Load(d, slots.r + p), hn::Load(d, tangents.r + p), &product);
    for (int m = 0; m <= order; ++m) {
      const T* const factor = &tables.recurrence[m * (order + 1)];
      T* const at = sums + HarmonicsBelow(order, m) * lanes;
      T* const at_z = m > 0 ? sums + (HarmonicsBelow(order, m - 1) + 1) * lanes : sums;  // of l = m, m - 1
      const size_t rows = (order + 1 - m) * lanes;
      V current = hn::Set(d, 1), previous = hn::Zero(d);
      for (int l = m; l <= order; ++l) {
        const size_t k = (l - m) * lanes;
        add(power.real_dot, current, at + k);
        if (m > 0) {
          const V slope = hn::Mul(hn::Set(d, l - m + 1), current);
          add(power.imaginary_dot, current, at + rows + k);
          add(power.z_real, slope, at_z + k);
          if (m > 1) add(power.z_imaginary, slope, at_z + rows + lanes + k);
        }
        const V next = hn::NegMulAdd(hn::Set(d, factor[l]), previous, hn::Mul(two_z, current));
        previous = current;
        current = next;
      }
      RaiseTangent(x, y, dx, dy, two_dz, &power);
    }
  }
  hn::Store(product, d, self);
}

// --- Dispatch to orders as constants, up to kHighestUnrolledOrder ---

template <int kOrder = kHighestUnrolledOrder, class D, typename T = hn::TFromD<D>>
HWY_INLINE void DispatchLaneMoments(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots, size_t count, T* sums,
                                    T* self) {
  if constexpr (kOrder < 0) {
    LaneMomentsOfHighOrder(d, tables, slots, count, sums, self);
  } else {
    if (tables.ang_order == kOrder) return LaneMoments<kOrder>(d, tables, slots, count, sums, self);
    DispatchLaneMoments<kOrder - 1>(d, tables, slots, count, sums, self);
  }
}

template <int kOrder = kHighestUnrolledOrder, class D, typename T = hn::TFromD<D>>
HWY_INLINE void DispatchLaneSlopes(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots, size_t count,
                                   const T* h, const T* h_z, const T* half_self, T* x, T* y, T* z) {
  if (kOrder < 0 || tables.ang_order == kOrder) {
    return LaneSlopes<kOrder>(d, tables, slots, count, h, h_z, half_self, x, y, z);
  }
  if constexpr (kOrder >= 0) {
    DispatchLaneSlopes<kOrder - 1>(d, tables, slots, count, h, h_z, half_self, x, y, z);
  }
}

template <int kOrder = kHighestUnrolledOrder, class D, typename T = hn::TFromD<D>>
HWY_INLINE void DispatchLaneTangents(D d, const ChebyshevTables<T>& tables, const Slots<T>& slots,
                                     const SlotTangents<T>& tangents, size_t count, T* sums, T* self) {
  if constexpr (kOrder < 0) {
    LaneTangentsOfHighOrder(d, tables, slots, tangents, count, sums, self);
  } else {
    if (tables.ang_order == kOrder) return LaneTangents<kOrder>(d, tables, slots, tangents, count, sums, self);
    DispatchLaneTangents<kOrder - 1>(d, tables, slots, tangents, count, sums, self);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
