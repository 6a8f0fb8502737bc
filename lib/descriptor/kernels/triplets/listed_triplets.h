// Computes the angular part of the features and of both products over a list of triplets (TripletView), for
// AngularMethod::kTriplets. Each SIMD lane is a triplet, and unit vectors are loaded by its two indices.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_LISTED_TRIPLETS_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_LISTED_TRIPLETS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// Triplets of several centers. Those of each center start at a multiple of a whole vector and are padded with copies of
// the last one, which kernels ignore.
template <typename T>
struct TripletPart {
  struct Center {
    int32_t atom;
    int32_t num_near;    // number of neighbors within the angular cutoff
    int64_t near;        // the first of them
    int64_t begin, end;  // range of triplets
  };
  std::vector<Center> centers;   // centers that have triplets
  AlignedBuffer<uint16_t> a, b;  // [triplets] neighbors, counted from the center's first near neighbor
  AlignedBuffer<T> spin;         // product of the typespins of a and b
};

// The results of ListedFeatures that the products use. Memory grows to that of the largest structure and is reused.
template <typename T>
struct ListedState {
  int64_t num_atoms = 0;
  // Near neighbors, those within the angular cutoff: r_ij = r u.
  int64_t num_near = 0;
  AlignedBuffer<int32_t> j;
  AlignedBuffer<T> r, spin, slope;  // slope: df_c/dr
  AlignedBuffer<T> unit4;           // [near, 4] u, f_c
  AlignedBuffer<T> weight4;         // [near, 4] f_c u, f_c
  TripletPart<T> all;

  // The triplets of `all` with at least one atom in `sampled`. They are selected when a product is first called for
  // these atoms.
  TripletPart<T> some;
  std::vector<uint8_t> sampled;

  std::vector<int32_t> number;  // index of each pair of one atom among its near neighbors, or -1
  AlignedBuffer<T> sums;        // for one center: one vector per term
  AlignedBuffer<T> near4;       // [near neighbors of a center, 4] sums of slopes, or tangents of unit4
};

// Each function adds the angular part after the radial part is done. Rows of features and tangents must have been set
// by the caller, including angular columns, which stay as they are for atoms without triplets; force and
// strain_gradient are added to. Lengths are not checked, except that a list of another structure CHECK-fails. Triplets
// that reach beyond the angular cutoff or below the minimum do not count, nor do triplets that the list lacks.
template <typename T>
void ListedFeatures(const ChebyshevTables<T>& tables, const StructureGeometry& geometry, ListedState<T>* state,
                    T* features);
template <typename T>
void ListedVjp(const ChebyshevTables<T>& tables, ListedState<T>* state, const T* slopes,
               absl::Span<const uint8_t> sampled, T* force, double* strain_gradient);
template <typename T>
void ListedJvp(const ChebyshevTables<T>& tables, ListedState<T>* state, const T* direction,
               absl::Span<const uint8_t> sampled, const double* strain, T* tangents);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_LISTED_TRIPLETS_H_
