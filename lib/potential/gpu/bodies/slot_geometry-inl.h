// What the kernels of the descriptor compute for every pair: directions, distances, the cutoff function, and how pairs
// move.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_SLOT_GEOMETRY_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_SLOT_GEOMETRY_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/pair_slots.h"

namespace rutile {

// One warp a block: blocks are spread over the processors one by one, so that few atoms keep all of them busy.
inline constexpr int kDescriptorThreads = kGroupAtoms;

RUTILE_DEVICE inline float InverseRoot(float square) {
#ifdef __CUDA_ARCH__
  return rsqrtf(square);
#else
  return 1 / std::sqrt(square);
#endif
}
RUTILE_DEVICE inline double InverseRoot(double square) {
#ifdef __CUDA_ARCH__
  return rsqrt(square);
#else
  return 1 / std::sqrt(square);
#endif
}

template <typename T>
struct CutoffValues {
  T value, slope;  // f_c and df_c/dr
};

// Returns f_c = ((1 - s) q(s))^2 and its derivative, s = (r / cutoff)^2, by the polynomials of
// lib/descriptor/kernels/cutoff-inl.h. Both are exactly 0 from the cutoff on. Compilers drop what is not used.
RUTILE_DEVICE inline CutoffValues<float> Cutoff(float r, float inverse_square) {
  const float scaled = r * inverse_square, s = r * scaled;
  const float q =
      (((2.3600689581e-5f * s - 8.9353550146e-4f) * s + 1.9968606207e-2f) * s - 2.3370050625e-1f) * s + 1.0f;
  const float q_by_s =
      ((4 * 2.3600689581e-5f * s - 3 * 8.9353550146e-4f) * s + 2 * 1.9968606207e-2f) * s - 2.3370050625e-1f;
  const float left = s < 1 ? 1 - s : 0;
  const float c = left * q;
  return {c * c, 4 * c * scaled * (left * q_by_s - q)};
}
RUTILE_DEVICE inline CutoffValues<double> Cutoff(double r, double inverse_square) {
  constexpr double kFactor[] = {
      -6.3061695616568301e-11, 6.3181196706228311e-9, -4.6476318093539006e-7, 2.4737275041126401e-5,
      -8.9452299813816203e-4,  1.9968957764836131e-2, -2.3370055013616783e-1, 1.0};
  const double scaled = r * inverse_square, s = r * scaled;
  double q = kFactor[0], q_by_s = 0;
  RUTILE_UNROLL
  for (int k = 1; k < 8; ++k) {
    q_by_s = q_by_s * s + q;
    q = q * s + kFactor[k];
  }
  const double left = s < 1 ? 1 - s : 0;
  const double c = left * q;
  return {c * c, 4 * c * scaled * (left * q_by_s - q)};
}

// A pair as it lies in memory.
template <typename T>
struct LoadedSlot {
  T x, y, z, spin;
};

// Goes through the pairs of an atom. Each pair is loaded one Take ahead of its use, which hides the wait for memory.
template <typename T>
class SlotReader {
 public:
  // with_spin: otherwise all spins are 1.
  RUTILE_DEVICE SlotReader(const PairSlots<T>& pairs, int64_t atom, int count, bool with_spin)
      : pairs_(pairs), with_spin_(with_spin), slot_(pairs.Slot(atom, 0)), left_(count) {
    if (left_ > 0) Load();
  }

  // Returns the next pair, as often as there are pairs.
  RUTILE_DEVICE LoadedSlot<T> Take() {
    const LoadedSlot<T> taken = next_;
    slot_ += kGroupAtoms;
    if (--left_ > 0) Load();
    return taken;
  }

 private:
  RUTILE_DEVICE void Load() {
    next_ = {pairs_.x[slot_], pairs_.y[slot_], pairs_.z[slot_], with_spin_ ? pairs_.spin[slot_] : T(1)};
  }

  const PairSlots<T>& pairs_;
  const bool with_spin_;
  int64_t slot_;
  int left_;
  LoadedSlot<T> next_ = {};
};

// The unit vector along r_ij, and r_ij.
template <typename T>
struct Direction {
  T x, y, z, r, inverse;

  RUTILE_DEVICE explicit Direction(const LoadedSlot<T>& at) {
    const T square = at.x * at.x + at.y * at.y + at.z * at.z;
    inverse = InverseRoot(square);
    r = square * inverse;
    x = at.x * inverse;
    y = at.y * inverse;
    z = at.z * inverse;
  }
};

// How atoms move. Both parts may be null, which stands for zeros.
template <typename T>
struct Motion {
  const T* direction;           // [3A]
  const T* strain;              // [S, 9] row-major, of each structure
  const int32_t* structure_of;  // [n] the structure of the t-th atom that is asked for; unused without a strain
};

// How a pair changes: its distance, and its unit vector.
template <typename T>
struct SlotChange {
  T x, y, z, r;
};

// Goes through the pairs of one atom and how they change: r_ij by direction_j - direction_i + strain . r_ij.
template <typename T>
class MotionReader {
 public:
  // t: the atom's place in motion.structure_of.
  RUTILE_DEVICE MotionReader(const PairSlots<T>& pairs, const Motion<T>& motion, int64_t t, int64_t atom, int count)
      : pairs_(pairs),
        direction_(motion.direction),
        strain_(motion.strain == nullptr ? nullptr : motion.strain + 9 * int64_t{motion.structure_of[t]}),
        slot_(pairs.Slot(atom, 0)),
        left_(count) {
    if (direction_ == nullptr) return;
    for (int a = 0; a < 3; ++a) own_[a] = direction_[3 * atom + a];
    if (left_ > 0) Load();
  }

  // Returns the change of the next pair, as often as there are pairs.
  RUTILE_DEVICE SlotChange<T> Take(const LoadedSlot<T>& at, const Direction<T>& u) {
    T x = next_[0], y = next_[1], z = next_[2];
    slot_ += kGroupAtoms;
    if (--left_ > 0 && direction_ != nullptr) Load();
    if (strain_ != nullptr) {
      x += strain_[0] * at.x + strain_[1] * at.y + strain_[2] * at.z;
      y += strain_[3] * at.x + strain_[4] * at.y + strain_[5] * at.z;
      z += strain_[6] * at.x + strain_[7] * at.y + strain_[8] * at.z;
    }
    const T r = x * u.x + y * u.y + z * u.z;
    return {(x - r * u.x) * u.inverse, (y - r * u.y) * u.inverse, (z - r * u.z) * u.inverse, r};
  }

 private:
  RUTILE_DEVICE void Load() {
    const T* const to = direction_ + 3 * int64_t{pairs_.j[slot_]};
    for (int a = 0; a < 3; ++a) next_[a] = to[a] - own_[a];
  }

  const PairSlots<T>& pairs_;
  const T *const direction_, *const strain_;
  int64_t slot_;
  int left_;
  T own_[3] = {}, next_[3] = {};
};

// The derivatives dE_i/dr_ij of slots, [P] each.
template <typename T>
struct SlotSlopes {
  T *x, *y, *z;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_SLOT_GEOMETRY_INL_H_
