// Computes the Chebyshev descriptor of all atoms of a structure with SIMD: scalar, SSE4, AVX2 or AVX-512, chosen at run
// time.
//
// The neighbors of an atom are first sorted by species into short arrays, so that one sum over each species serves both
// the features with weight 1 and those with typespins. Each lane is a neighbor; the last vector is padded with
// neighbors beyond the cutoff, which add exactly nothing. The neighbor list alone fixes the order of every sum.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_CHEBYSHEV_KERNEL_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_CHEBYSHEV_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {

// The scratch memory of one thread. It grows to that of the largest neighborhood.
template <typename T>
class ChebyshevScratch {
 public:
  explicit ChebyshevScratch(const ChebyshevTables<T>& tables);

  // Makes room for atoms with up to `neighbors` neighbors.
  void Reserve(size_t neighbors);
  // Returns [N] the species as doubles, for comparisons in vectors; valid until the next call.
  const double* SetSpecies(absl::Span<const uint8_t> species);

  // Aligned arrays of `stride` elements, one behind the other. For each species they hold r^2 within rad_cutoff, and x,
  // y and z of r_ij within ang_cutoff.
  size_t stride() const { return capacity_; }
  T* rad_square(int species) { return arrays_.data() + (4 * species) * capacity_; }
  T* ang_vector(int species, int axis) { return arrays_.data() + (4 * species + 1 + axis) * capacity_; }
  // Four more arrays of scratch, then f_c for each species.
  T* state(int k) { return arrays_.data() + (4 * num_species_ + k) * capacity_; }
  T* cutoff(int species) { return state(4 + species); }
  double* species_of_neighbor() { return species_of_neighbor_.data(); }

  // The sums of one atom with weight 1 and with typespins, and a row of features; each is padded to whole vectors.
  T* radial(int weighted) { return radial_.data() + weighted * radial_size_; }
  T* angular(int weighted) { return angular_.data() + weighted * angular_size_; }
  T* row() { return row_.data(); }
  size_t radial_size() const { return radial_size_; }
  size_t angular_size() const { return angular_size_; }

 private:
  int num_species_;
  size_t capacity_ = 0, radial_size_, angular_size_;
  AlignedBuffer<T> arrays_, radial_, angular_, row_;
  AlignedBuffer<double> species_of_neighbor_;
  std::vector<double> species_of_atom_;
};

// Computes features as Descriptor::Compute does. species: [N]; neighbors: of the same atoms, to at least the larger
// cutoff; features: [N, tables.num_features], overwritten. CHECK-fails when lengths disagree.
void ComputeChebyshev(const ChebyshevTables<double>& tables, absl::Span<const uint8_t> species,
                      const NeighborList& neighbors, ChebyshevScratch<double>* scratch, absl::Span<double> features);
void ComputeChebyshev(const ChebyshevTables<float>& tables, absl::Span<const uint8_t> species,
                      const NeighborList& neighbors, ChebyshevScratch<float>* scratch, absl::Span<float> features);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_CHEBYSHEV_KERNEL_H_
