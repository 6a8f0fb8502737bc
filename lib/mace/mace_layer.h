// One layer of a MACE model at the atoms of a structure: its sums over neighbors, products and readout, and the way
// back.

#ifndef RUTILE_LIB_MACE_MACE_LAYER_H_
#define RUTILE_LIB_MACE_MACE_LAYER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/mace/fast_harmonics.h"
#include "lib/mace/mace_model.h"
#include "lib/mace/radial_network.h"
#include "lib/mace/radial_splines.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/many_body/product_table.h"

namespace rutile {

// The pairs of atoms nearer than the cutoff. Those of atom i are [offset[i], offset[i + 1]).
struct MacePairs {
  std::vector<int64_t> offset;
  std::vector<int32_t> j;
  std::vector<double> vector;    // [pairs, 3] from i to j, Angstrom
  std::vector<double> distance;  // [pairs]
};

// What derivatives by positions are added to.
struct MaceForces {
  std::vector<double> force;  // [atoms, 3], -dE/dr
  double strain[9] = {};      // sum over pairs of dE/dr_ij (outer) r_ij
  // [atoms, 9] unless null: half of each pair's share of it goes to i, and half to j.
  double* atom_strain = nullptr;
};

// One thread at a time may use an object. Rows of atoms that are passed in and out are `stride` numbers, of which those
// after the K channels are 0: h, what a layer gives an atom, and u, what atoms send to neighbors.
class MaceLayerSums {
 public:
  // t: the layer, from 0. model must outlive the object.
  MaceLayerSums(const MaceModel& model, int t);
  MaceLayerSums(const MaceLayerSums&) = delete;

  static int64_t Stride(const MaceModel& model);

  // Computes the first `rows` atoms, which have pairs. species: [atoms]; u: [atoms, stride]; before: the h of the layer
  // before [rows, stride], or null in the first. Writes h [rows, stride], and adds the readouts, without scale, to
  // `energy` [rows].
  void Forward(int64_t rows, const uint8_t* species, const MacePairs& pairs, const double* u, const double* before,
               double* h, double* energy);

  // Goes back after Forward, with the same arguments. h_bar: [rows, stride] what later layers add to dE/dh of each
  // atom, or null. counted: the readouts of the first `counted` atoms are in the energy. Adds dE/d before to before_bar
  // [rows, stride], dE/du to u_bar [atoms, stride], where they are not null, and derivatives to forces.
  void Backward(int64_t counted, const MacePairs& pairs, const double* u, const double* h_bar, double* before_bar,
                double* u_bar, MaceForces* forces);

 private:
  // Sorts the atoms by species into order_.
  void Sort(int64_t rows, const uint8_t* species);
  // Calls body(first row, rows, species) for each species that has rows.
  template <typename Body>
  void ForSpecies(const Body& body) const;
  // Calls body(first atom, end) for blocks of atoms with about kBlockPairs pairs.
  template <typename Body>
  void ForBlocks(const MacePairs& pairs, const Body& body) const;
  // Computes Z = A mix or, with `back`, its transpose from Z to A.
  void Mix(bool back, const double* from, double* to) const;
  void Readout(double* energy);
  // Computes radial functions and their slopes as RadialNetwork::Compute does, by splines if the model has them.
  void Radial(const double* distance, int64_t n, double* value, double* slope);

  const MaceModel& model_;
  const MaceLayer& layer_;
  const int t_;
  const int64_t stride_, harmonics_;
  const FastHarmonics fast_harmonics_;
  const ProductTable<double> table_;
  RadialNetwork radial_;
  std::unique_ptr<const RadialSplines> splines_;  // null: R is the MLP
  // Padded copies of the layer's matrices.
  AlignedBuffer<double> mix_, product_, linear_, skip_, readout_, readout_hidden_;
  int64_t nodes_ = 0;  // of the readout's MLP, padded

  // What the last Forward leaves for the way back. Rows are sorted by species.
  int64_t rows_ = 0;
  std::vector<int32_t> order_, row_of_;          // the atom of a row, and the row of an atom
  std::vector<int64_t> first_row_;               // [S + 1]
  AlignedBuffer<double> a_, z_, m_, h_, slope_;  // A, Z; sum of products, h, and the readout's dE/dh, of each row
  AlignedBuffer<double> before_, hidden_, hidden_slope_;
  AlignedBuffer<double> radial_value_, radial_slope_;  // of a block of pairs
};

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_MACE_LAYER_H_
