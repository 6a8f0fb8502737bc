// Stores the sorted neighbors and moments of a structure in one piece of memory, for reuse as long as its atoms do not
// move.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_GEOMETRY_SNAPSHOT_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_GEOMETRY_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>

#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// Takes 20 bytes (36 in fp64) per slot and lane, of which a tenth to a third is padding.
template <typename T>
class GeometrySnapshot : public DescriptorDerivatives<T>::Snapshot {
 public:
  // Copies state.all after Features. num_moments: NumMoments of the tables.
  GeometrySnapshot(const InterleavedNeighbors<T>& state, size_t num_species, int num_moments);

  int64_t bytes() const override { return static_cast<int64_t>(sizeof(*this)) + memory_.size(); }

  int lanes() const { return lanes_; }
  int64_t num_atoms() const { return num_atoms_; }
  const InterleavedView<T>& view() const { return view_; }

 private:
  const int lanes_;
  const int64_t num_atoms_;
  AlignedBuffer<char> memory_;
  InterleavedView<T> view_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_GEOMETRY_SNAPSHOT_H_
