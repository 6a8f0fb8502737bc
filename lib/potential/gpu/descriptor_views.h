// The coefficients of the Chebyshev descriptor as kernels of a GPU read them, in plain arrays.

#ifndef RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_VIEWS_H_
#define RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_VIEWS_H_

#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/pair_slots.h"

namespace rutile {

// The largest order of any polynomial (ChebyshevOptions::Validate).
inline constexpr int kMaxOrder = 32;

template <typename T>
struct RadialTables {
  int order;
  int weighted_column;  // the radial features start at column 0, and here those weighted with typespins
  T scale;              // 4 / cutoff: 2x = scale r - 2 with x = 2 r / cutoff - 1
  T inverse_square;     // 1 / cutoff^2
};

// One set of angular features. chebyshev_tables.h has the formulas; harmonics b are in its order.
template <typename T>
struct AngularTables {
  int order;
  int num_harmonics;    // (order + 1)^2
  T inverse_square;     // 1 / cutoff^2
  const T* weight;      // [num_harmonics] a_lm / 2
  const T* legendre;    // [order + 1, order + 1] t_nl at n * (order + 1) + l
  const T* recurrence;  // [order + 1, order + 1] b_lm at m * (order + 1) + l
  int first_column, first_weighted_column;
  int64_t first_moment;  // the moments of the weighted half follow those of the other one

  RUTILE_DEVICE int Column(int half) const { return half == 0 ? first_column : first_weighted_column; }
};

// A view of all tables. Features of A atoms are rows, [A, num_features]; moments are columns, [num_moments, A], so that
// threads of neighboring atoms write neighboring numbers.
template <typename T>
struct DescriptorTables {
  int num_features;
  bool weighted;  // there are several species, and for each feature one more that is weighted with typespins
  RadialTables<T> radial;
  int num_sets;
  AngularTables<T> set[kMaxAngularSets];
  int64_t num_moments;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_DESCRIPTOR_VIEWS_H_
