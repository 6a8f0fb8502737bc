// Neighbors of several atoms side by side: the state of DescriptorDerivatives' SIMD kernels.
//
// Each SIMD lane is an atom, and the k-th neighbors of eight atoms (four in fp64) are stored together as a slot. So no
// sum over neighbors ever crosses lanes, the slopes and moments of a group of atoms are vectors as they are, and an
// atom with only four neighbors of a species wastes little. Atoms with similar numbers of neighbors share a group;
// lanes with fewer neighbors are padded with neighbors beyond the cutoffs, which add exactly nothing.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_INTERLEAVED_NEIGHBORS_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_INTERLEAVED_NEIGHBORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// Slots [begin, begin + slots) with the neighbors of one species. In each lane, those within the smaller cutoff come
// first.
struct InterleavedBlock {
  int64_t begin;
  int32_t slots;
  int32_t radial, angular;  // the first `radial` (`angular`) slots have neighbors within that cutoff
  int32_t first;            // an angular triplet counts only if one of its slots is below this
};

// A view of the neighbors of a structure: G groups of `lanes` atoms, S species, H harmonics.
template <typename T>
struct InterleavedView {
  int64_t num_groups = 0;
  const int32_t* atom = nullptr;            // [G, lanes]; the number of atoms in lanes without an atom
  const InterleavedBlock* block = nullptr;  // [G, S]
  const T *x = nullptr, *y = nullptr;       // [slots, lanes] r_ij as a unit vector
  const T *z = nullptr, *r = nullptr;       // r: its length
  const int32_t* j = nullptr;               // [slots, lanes]; the number of atoms where there is no neighbor
  const T* moments = nullptr;               // [G, 1 or 2 weights, H, lanes] B_b
};

// The arrays of an InterleavedView with memory of their own, which grows.
template <typename T>
struct NeighborBlocks {
  int64_t num_groups = 0;
  std::vector<int32_t> atom;
  std::vector<InterleavedBlock> block;
  AlignedBuffer<T> x, y, z, r;
  AlignedBuffer<int32_t> j;
  AlignedBuffer<T> moments;

  InterleavedView<T> view() const {
    return {num_groups, atom.data(), block.data(), x.data(), y.data(), z.data(), r.data(), j.data(), moments.data()};
  }
};

// Scratch memory for sorting one group: lists of up to `capacity` neighbors for each lane and species, then as many
// lists for one more lane, for far neighbors.
template <typename T>
struct SortScratch {
  size_t capacity = 0;
  AlignedBuffer<T> x, y, z;
  AlignedBuffer<int32_t> j;
  std::vector<uint64_t> order;
  AlignedBuffer<double> row4;  // [N, 4] x, y, z, species
};

template <typename T>
struct InterleavedNeighbors : DescriptorDerivatives<T>::State {
  int lanes = 0;  // of the instruction set that Features ran on
  int64_t num_atoms = 0, num_centers = 0;
  NeighborBlocks<T> sorted;
  InterleavedView<T> all;  // views `sorted`, or a GeometrySnapshot of the structure
  SortScratch<T> sort;

  // The part of `all` that products with `sampled` need. It is made when a product is first called for these atoms.
  NeighborBlocks<T> some;
  std::vector<uint8_t> sampled;
  std::vector<int64_t> kept;         // indices of elements of `all`, atom by atom and species by species
  std::vector<int32_t> kept_first;   // [elements of all.atom * S], as InterleavedBlock::first
  std::vector<int64_t> kept_offset;  // [elements of all.atom * S + 1]
  std::vector<uint64_t> kept_order;

  AlignedBuffer<T> vector4;  // [N + 1, 4] directions, or [N + 1, 4, 4] forces
  AlignedBuffer<T> group;    // rows, coefficients and sums of one group
  AlignedBuffer<T> slots;    // [4, slots, lanes] for one block
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_INTERLEAVED_NEIGHBORS_H_
