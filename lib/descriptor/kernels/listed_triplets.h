// The angular part of the features and of both products over a list of triplets (TripletView), for
// AngularMethod::kTriplets. A lane of a vector is a triplet; unit vectors are fetched by its two numbers.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_LISTED_TRIPLETS_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_LISTED_TRIPLETS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/kernels/aligned_vector.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"

namespace rutile {

// Triplets of some centers. Those of a center start at a multiple of a whole vector and are padded with copies of the
// last one, which kernels leave out.
template <typename T>
struct TripletPart {
  struct Center {
    int32_t atom;
    int32_t num_near;    // neighbors within the angular cutoff,
    int64_t near;        // from here on
    int64_t begin, end;  // triplets
  };
  std::vector<Center> centers;   // those that have triplets
  AlignedVector<uint16_t> a, b;  // counted from the center's first near neighbor
  AlignedVector<T> spin;         // product of the typespins of a and b
};

// What ListedFeatures leaves for the products. Grows to the largest structure that it sees and keeps its memory.
template <typename T>
struct ListedState {
  int64_t num_atoms = 0;
  // Near neighbors, r_ij = r u.
  int64_t num_near = 0;
  AlignedVector<int32_t> j;
  AlignedVector<T> r, spin, slope;  // slope: df_c/dr
  AlignedVector<T> unit4;           // [near, 4] u, f_c
  AlignedVector<T> weight4;         // [near, 4] f_c u, f_c
  TripletPart<T> all;

  // The part of `all` with at least one atom of each triplet in `sampled`, made when a product first asks for it.
  TripletPart<T> some;
  std::vector<uint8_t> sampled;

  std::vector<int32_t> number;  // of the pairs of one atom among its near neighbors, or -1
  AlignedVector<T> sums;        // of one center: one vector for each term
  AlignedVector<T> near4;       // [near neighbors of a center, 4] sums of slopes, or tangents of unit4
};

// Each adds the angular part to what the radial part has left: features and tangents of angular columns are 0 or not
// yet written where there are no triplets, so the caller has set all rows; force and strain_gradient are added to.
// Lengths are not checked, apart from those of the list: CHECK-fails when it is of another structure. A triplet that
// reaches beyond the angular cutoff or below the minimum does not count; one that the list lacks does not either.
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

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_LISTED_TRIPLETS_H_
