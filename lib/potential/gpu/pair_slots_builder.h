// Makes the arrays of PairSlots from structures. nvcc compiles this file, too.

#ifndef RUTILE_LIB_POTENTIAL_GPU_PAIR_SLOTS_BUILDER_H_
#define RUTILE_LIB_POTENTIAL_GPU_PAIR_SLOTS_BUILDER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/gpu/device_array-inl.h"
#include "lib/potential/gpu/descriptor_tables.h"
#include "lib/potential/gpu/pair_slots.h"

namespace rutile {

// A view of one structure of N atoms, as StructureGeometry of descriptor_derivatives.h has it.
struct StructurePairs {
  int64_t num_atoms = 0;
  const double* position = nullptr;  // [3N] Angstrom, as given
  const double* cell = nullptr;      // [9] Angstrom, rows are lattice vectors
  const uint8_t* species = nullptr;  // [N] indices into the descriptor's species
  const int64_t* offset = nullptr;   // [N + 1] pairs of atom i are p in [offset[i], offset[i + 1])
  const int32_t* j = nullptr;        // j[p] - first_atom is the neighbor's number in the structure
  const int16_t* shift = nullptr;    // [3p], [3p + 1], [3p + 2]
  int32_t first_atom = 0;
};

// The arrays of PairSlots. Add appends structures, whose atoms follow those of the structures before them: groups of
// kGroupAtoms atoms span structures.
template <typename T>
struct HostPairSlots {
  int64_t num_atoms = 0;
  int num_sets = 0;
  std::vector<int64_t> group_first;
  std::vector<int32_t> radial_count, angular_count[kMaxAngularSets], count;
  std::vector<T> x, y, z, spin;
  std::vector<int32_t> j, reverse;

  // Adds a structure. Distances are compared in fp64, so that the neighbors are those of the CPU's kernels; neighbors
  // at the same distance keep their order.
  void Add(const HostDescriptorTables& tables, const StructurePairs& structure) {
    double largest = tables.rad_square;
    for (const HostAngularTables& set : tables.sets) largest = std::max(largest, set.square);
    num_sets = static_cast<int>(tables.sets.size());
    begin_.assign(1, 0);
    kept_.clear();
    for (int64_t i = 0; i < structure.num_atoms; ++i) {
      FindNeighbors(structure, i, tables.min_square, largest);
      AddAtom(tables, structure.species);
    }
    AddReverse(structure.num_atoms);
  }

 private:
  struct Neighbor {
    double vector[3], square;
    std::array<int32_t, 4> key;  // the neighbor in the structure, and the shift
    int64_t slot;
  };

  // Appends the neighbors of atom i to kept_, sorted by distance.
  void FindNeighbors(const StructurePairs& structure, int64_t i, double min_square, double max_square) {
    const double *const position = structure.position, *const cell = structure.cell;
    for (int64_t p = structure.offset[i]; p < structure.offset[i + 1]; ++p) {
      Neighbor n;
      const int32_t to = structure.j[p] - structure.first_atom;
      const int16_t* const shift = structure.shift + 3 * p;
      n.key = {to, shift[0], shift[1], shift[2]};
      for (int a = 0; a < 3; ++a) {
        n.vector[a] = position[3 * int64_t{to} + a] - position[3 * i + a] +
                      (shift[0] * cell[a] + shift[1] * cell[3 + a] + shift[2] * cell[6 + a]);
      }
      n.square = n.vector[0] * n.vector[0] + n.vector[1] * n.vector[1] + n.vector[2] * n.vector[2];
      if (n.square > min_square && n.square <= max_square) kept_.push_back(n);
    }
    std::stable_sort(kept_.begin() + begin_.back(), kept_.end(),
                     [](const Neighbor& a, const Neighbor& b) { return a.square < b.square; });
    begin_.push_back(static_cast<int64_t>(kept_.size()));
  }

  // Gives slots to the neighbors of the atom that FindNeighbors has seen last.
  void AddAtom(const HostDescriptorTables& tables, const uint8_t* species) {
    Neighbor* const own = kept_.data() + begin_[begin_.size() - 2];
    Neighbor* const end = kept_.data() + begin_.back();
    const auto within = [&](double square) {
      const auto* const last = std::upper_bound(own, end, square, [](double s, const auto& n) { return s < n.square; });
      return static_cast<int32_t>(last - own);
    };
    const int64_t lane = num_atoms % kGroupAtoms;
    const int64_t first_of_structure = num_atoms - (static_cast<int64_t>(begin_.size()) - 2);
    if (lane == 0) group_first.push_back(static_cast<int64_t>(x.size()));
    radial_count.push_back(within(tables.rad_square));
    for (int s = 0; s < num_sets; ++s) angular_count[s].push_back(within(tables.sets[s].square));
    count.push_back(static_cast<int32_t>(end - own));
    GrowTo(group_first.back() + int64_t{count.back()} * kGroupAtoms);
    int64_t slot = group_first.back() + lane;
    for (Neighbor* n = own; n != end; ++n, slot += kGroupAtoms) {
      n->slot = slot;
      x[slot] = static_cast<T>(n->vector[0]);
      y[slot] = static_cast<T>(n->vector[1]);
      z[slot] = static_cast<T>(n->vector[2]);
      spin[slot] = static_cast<T>(tables.spins[species[n->key[0]]]);
      j[slot] = static_cast<int32_t>(first_of_structure + n->key[0]);
    }
    ++num_atoms;
  }

  // Slots without a neighbor have finite values, though nothing reads them.
  void GrowTo(int64_t size) {
    if (size <= static_cast<int64_t>(x.size())) return;
    for (std::vector<T>* v : {&x, &y, &z, &spin}) v->resize(size, T(0));
    j.resize(size, 0);
    reverse.resize(size, -1);
  }

  // Pairs the slots of the structure that was added last.
  void AddReverse(int64_t size) {
    const auto before = [](const Neighbor& a, const Neighbor& b) { return a.key < b.key; };
    for (int64_t i = 0; i < size; ++i) std::sort(kept_.begin() + begin_[i], kept_.begin() + begin_[i + 1], before);
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t p = begin_[i]; p < begin_[i + 1]; ++p) {
        const auto& key = kept_[p].key;
        Neighbor wanted = {};
        wanted.key = {static_cast<int32_t>(i), -key[1], -key[2], -key[3]};
        const auto end = kept_.begin() + begin_[key[0] + 1];
        const auto at = std::lower_bound(kept_.begin() + begin_[key[0]], end, wanted, before);
        if (at != end && at->key == wanted.key) reverse[kept_[p].slot] = static_cast<int32_t>(at->slot);
      }
    }
  }

  std::vector<Neighbor> kept_;  // of the structure that is added
  std::vector<int64_t> begin_;  // [atoms so far + 1] into kept_
};

// Owns PairSlots in the memory of a backend, which must outlive it.
template <typename T, typename Backend>
class PairSlotsOnDevice {
 public:
  explicit PairSlotsOnDevice(Backend* backend)
      : group_first_(backend), counts_(backend), numbers_(backend), j_(backend), reverse_(backend) {}

  // Replaces what is there.
  void Upload(const HostPairSlots<T>& host) {
    group_first_.Upload(host.group_first);
    std::vector<int32_t> counts = host.radial_count;
    counts.insert(counts.end(), host.count.begin(), host.count.end());
    for (int s = 0; s < host.num_sets; ++s) {
      counts.insert(counts.end(), host.angular_count[s].begin(), host.angular_count[s].end());
    }
    counts_.Upload(counts);
    std::vector<T> numbers = host.x;
    for (const auto* part : {&host.y, &host.z, &host.spin}) numbers.insert(numbers.end(), part->begin(), part->end());
    numbers_.Upload(numbers);
    j_.Upload(host.j);
    reverse_.Upload(host.reverse);
    num_atoms_ = host.num_atoms;
    num_sets_ = host.num_sets;
  }

  int64_t num_slots() const { return j_.size(); }
  PairSlots<T> view() const {
    PairSlots<T> view = {};
    view.num_atoms = num_atoms_;
    view.group_first = group_first_.data();
    view.radial_count = counts_.data();
    view.count = counts_.data() + num_atoms_;
    for (int s = 0; s < num_sets_; ++s) view.angular_count[s] = counts_.data() + (2 + s) * num_atoms_;
    view.x = numbers_.data();
    view.y = numbers_.data() + num_slots();
    view.z = numbers_.data() + 2 * num_slots();
    view.spin = numbers_.data() + 3 * num_slots();
    view.j = j_.data();
    view.reverse = reverse_.data();
    return view;
  }

 private:
  DeviceArray<int64_t, Backend> group_first_;
  DeviceArray<int32_t, Backend> counts_;
  DeviceArray<T, Backend> numbers_;
  DeviceArray<int32_t, Backend> j_, reverse_;
  int64_t num_atoms_ = 0;
  int num_sets_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_PAIR_SLOTS_BUILDER_H_
