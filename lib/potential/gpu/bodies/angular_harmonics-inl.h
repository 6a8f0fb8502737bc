// The harmonics of one pair: adds them to moments, sums them up with coefficients, and differentiates both. All loops
// have constant bounds, so that arrays stay in registers.
//
// The formulas are those of lib/descriptor/kernels/chebyshev_tables.h and angular_moments-inl.h: harmonics are q_lm(z)
// {C_m, S_m}(x, y) with C_m + i S_m = (x + iy)^m.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_ANGULAR_HARMONICS_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_ANGULAR_HARMONICS_INL_H_

#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/bodies/slot_geometry-inl.h"
#include "lib/potential/gpu/descriptor_views.h"

namespace rutile {

// The first of the harmonics of m. The imaginary partner of a q_lm lies order - m + 1 behind it.
RUTILE_DEVICE constexpr int FirstHarmonic(int order, int m) { return m == 0 ? 0 : m * (2 * order + 3 - m) - order - 1; }

// b_lm: q_{l+1,m} = 2z q_lm - b_lm q_{l-1,m}.
RUTILE_DEVICE constexpr double RecurrenceFactor(int l, int m) { return 4.0 * (l * l - m * m) / (4.0 * l * l - 1); }

// Advances from c (x + iy)^m to the next m.
template <typename T>
RUTILE_DEVICE inline void RaiseM(T x, T y, T* real, T* imaginary) {
  const T old = *real;
  *real = old * x - *imaginary * y;
  *imaginary = old * y + *imaginary * x;
}

// Numbers of one atom, for each harmonic of an order. [kHalves]: unweighted and, if kHalves is 2, weighted ones.
template <typename T, int kOrder, int kHalves>
struct Harmonics {
  static constexpr int kCount = (kOrder + 1) * (kOrder + 1);
  T value[kHalves][kCount];

  RUTILE_DEVICE void Clear() {
    RUTILE_UNROLL
    for (int b = 0; b < kHalves * kCount; ++b) value[b / kCount][b % kCount] = 0;
  }
  // Adds to an element and, times the spin, to its weighted partner.
  RUTILE_DEVICE void Add(int b, T add, T spun, T factor) {
    value[0][b] += add * factor;
    if constexpr (kHalves == 2) value[1][b] += spun * factor;
  }
};

// --- Moments ---

// Adds the harmonics of all m from kM on. real, imaginary: f_c C_m, f_c S_m.
template <int kM, int kOrder, int kHalves, typename T>
RUTILE_DEVICE inline void AddMoments(T x, T y, T two_z, T spin, T real, T imaginary,
                                     Harmonics<T, kOrder, kHalves>* sums) {
  constexpr int kReal = FirstHarmonic(kOrder, kM), kImaginary = kReal + kOrder - kM + 1;
  const T spun_real = spin * real, spun_imaginary = spin * imaginary;
  T previous = 0, current = 1;
  RUTILE_UNROLL
  for (int l = kM; l <= kOrder; ++l) {
    sums->Add(kReal + l - kM, real, spun_real, current);
    if constexpr (kM > 0) sums->Add(kImaginary + l - kM, imaginary, spun_imaginary, current);
    const T next = two_z * current - T(RecurrenceFactor(l, kM)) * previous;
    previous = current;
    current = next;
  }
  if constexpr (kM < kOrder) {
    if constexpr (kM == 0) {
      AddMoments<1>(x, y, two_z, spin, real * x, real * y, sums);
    } else {
      RaiseM(x, y, &real, &imaginary);
      AddMoments<kM + 1>(x, y, two_z, spin, real, imaginary, sums);
    }
  }
}

// --- Slopes ---

// The sum of h_b Y_b over harmonics, and its gradient by x, y, z.
template <typename T>
struct HarmonicSum {
  T value = 0, x = 0, y = 0, z = 0;
};

// Sums over the degrees of one m, of h_b and of the coefficients 2 (l - m) h_b that the derivative by z has.
template <typename T>
struct DegreeSums {
  T real = 0, imaginary = 0, z_real = 0, z_imaginary = 0;
};

// Adds the terms of one m. real, imaginary: C_{m-1}, S_{m-1}, which are advanced to C_m, S_m.
template <typename T>
RUTILE_DEVICE inline void AddSlopesOfM(int m, const DegreeSums<T>& sums, T x, T y, T* real, T* imaginary,
                                       HarmonicSum<T>* to) {
  const T m_real = T(m) * *real, m_imaginary = T(m) * *imaginary;
  to->x += sums.real * m_real + sums.imaginary * m_imaginary;
  to->y += sums.imaginary * m_real - sums.real * m_imaginary;
  to->z += sums.z_real * *real + sums.z_imaginary * *imaginary;
  RaiseM(x, y, real, imaginary);
  to->value += sums.real * *real + sums.imaginary * *imaginary;
}

// Sums h_b = h.value[0][b] + spin h.value[1][b] times harmonics of all m from kM on. real, imaginary: C_{m-1}, S_{m-1}.
template <int kM, int kOrder, int kHalves, typename T>
RUTILE_DEVICE inline void SumSlopes(const Harmonics<T, kOrder, kHalves>& h, T spin, T x, T y, T two_z, T real,
                                    T imaginary, HarmonicSum<T>* to) {
  const auto at = [&](int b) {
    if constexpr (kHalves == 2) return h.value[0][b] + spin * h.value[1][b];
    return h.value[0][b];
  };
  constexpr int kReal = FirstHarmonic(kOrder, kM), kImaginary = kReal + kOrder - kM + 1;
  constexpr int kRealZ = kM == 0 ? 0 : FirstHarmonic(kOrder, kM - 1) + 1, kImaginaryZ = kRealZ + kOrder - kM + 2;
  DegreeSums<T> sums;
  T previous = 0, current = 1;
  RUTILE_UNROLL
  for (int l = kM; l <= kOrder; ++l) {
    const int k = l - kM;
    const T slope = T(2 * (k + 1)) * current;
    sums.real = k == 0 ? at(kReal) : sums.real + at(kReal + k) * current;
    if constexpr (kM > 0) {
      sums.imaginary = k == 0 ? at(kImaginary) : sums.imaginary + at(kImaginary + k) * current;
      sums.z_real = k == 0 ? 2 * at(kRealZ) : sums.z_real + at(kRealZ + k) * slope;
    }
    if constexpr (kM > 1) {
      sums.z_imaginary = k == 0 ? 2 * at(kImaginaryZ) : sums.z_imaginary + at(kImaginaryZ + k) * slope;
    }
    const T next = two_z * current - T(RecurrenceFactor(l, kM)) * previous;
    previous = current;
    current = next;
  }
  if constexpr (kM == 0) {
    to->value = sums.real;
  } else if constexpr (kM == 1) {
    *to = {to->value + sums.real * x + sums.imaginary * y, sums.real, sums.imaginary, sums.z_real};
  } else {
    AddSlopesOfM(kM, sums, x, y, &real, &imaginary, to);
  }
  if constexpr (kM == 1 && kM < kOrder) SumSlopes<kM + 1>(h, spin, x, y, two_z, x, y, to);
  if constexpr (kM != 1 && kM < kOrder) SumSlopes<kM + 1>(h, spin, x, y, two_z, real, imaginary, to);
}

// Adds the derivative by r_ij of weight f_c (sum - twice_self f_c / 2), where sum is that of h_b Y_b(r_ij / r).
template <typename T>
RUTILE_DEVICE inline void StoreSlope(const LoadedSlot<T>& at, const Direction<T>& u, T inverse_square, T twice_self,
                                     T weight, const HarmonicSum<T>& sum, int64_t slot, const SlotSlopes<T>& to) {
  const CutoffValues<T> f = Cutoff(u.r, inverse_square);
  const T across = weight * f.value * u.inverse;
  const T dot = sum.x * u.x + sum.y * u.y + sum.z * u.z;
  const T along = weight * f.slope * (sum.value - twice_self * f.value) - across * dot;
  to.x[slot] += across * sum.x + along * u.x;
  to.y[slot] += across * sum.y + along * u.y;
  to.z[slot] += across * sum.z + along * u.z;
}

// --- Tangents ---

// f_c C_m and f_c S_m, their changes, and 2 dz f_c C_{m-1} and 2 dz f_c S_{m-1}.
template <typename T>
struct PowerChange {
  T real, imaginary, real_dot, imaginary_dot, z_real, z_imaginary;

  // Advances from m = 0, where imaginary parts are 0.
  RUTILE_DEVICE void RaiseFirst(const Direction<T>& u, const SlotChange<T>& du) {
    z_real = 2 * du.z * real;
    imaginary_dot = real_dot * u.y + real * du.y;
    real_dot = real_dot * u.x + real * du.x;
    imaginary = real * u.y;
    real = real * u.x;
  }
  // Advances from m to m + 1.
  RUTILE_DEVICE void Raise(const Direction<T>& u, const SlotChange<T>& du) {
    z_real = 2 * du.z * real;
    z_imaginary = 2 * du.z * imaginary;
    const T old = real_dot;
    real_dot = old * u.x - imaginary_dot * u.y + (real * du.x - imaginary * du.y);
    imaginary_dot = old * u.y + imaginary_dot * u.x + (real * du.y + imaginary * du.x);
    RaiseM(u.x, u.y, &real, &imaginary);
  }
  RUTILE_DEVICE PowerChange Times(T factor) const {
    return {real * factor,          imaginary * factor, real_dot * factor,
            imaginary_dot * factor, z_real * factor,    z_imaginary * factor};
  }
};

// Adds the changes of the harmonics of all m from kM on.
template <int kM, int kOrder, int kHalves, typename T>
RUTILE_DEVICE inline void AddChanges(const Direction<T>& u, const SlotChange<T>& du, T spin, PowerChange<T> power,
                                     Harmonics<T, kOrder, kHalves>* sums) {
  constexpr int kReal = FirstHarmonic(kOrder, kM), kImaginary = kReal + kOrder - kM + 1;
  constexpr int kRealZ = kM == 0 ? 0 : FirstHarmonic(kOrder, kM - 1) + 1, kImaginaryZ = kRealZ + kOrder - kM + 2;
  const PowerChange<T> spun = power.Times(spin);
  const T two_z = u.z + u.z;
  T previous = 0, current = 1;
  RUTILE_UNROLL
  for (int l = kM; l <= kOrder; ++l) {
    const int k = l - kM;
    const T slope = T(k + 1) * current;
    sums->Add(kReal + k, power.real_dot, spun.real_dot, current);
    if constexpr (kM > 0) sums->Add(kImaginary + k, power.imaginary_dot, spun.imaginary_dot, current);
    if constexpr (kM > 0) sums->Add(kRealZ + k, power.z_real, spun.z_real, slope);
    if constexpr (kM > 1) sums->Add(kImaginaryZ + k, power.z_imaginary, spun.z_imaginary, slope);
    const T next = two_z * current - T(RecurrenceFactor(l, kM)) * previous;
    previous = current;
    current = next;
  }
  if constexpr (kM < kOrder) {
    if constexpr (kM == 0) {
      power.RaiseFirst(u, du);
    } else {
      power.Raise(u, du);
    }
    AddChanges<kM + 1>(u, du, spin, power, sums);
  }
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_ANGULAR_HARMONICS_INL_H_
