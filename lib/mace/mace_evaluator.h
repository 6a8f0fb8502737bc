// Energies, forces and stress of a structure by a MACE model, in double precision.
//
// Example:
//
//   MaceEvaluator evaluator(model);
//   evaluator.First(geometry, num_atoms, num_atoms);
//   evaluator.Second();
//   evaluator.BackFromSecond();
//   evaluator.BackFromFirst();   // evaluator.atom_energies(), evaluator.forces()
//
// The steps are apart for programs that divide atoms over processes: between them, messages and their slopes go to
// where they are needed. A model of one layer takes the same steps and has no messages.

#ifndef RUTILE_LIB_MACE_MACE_EVALUATOR_H_
#define RUTILE_LIB_MACE_MACE_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/mace/mace_layer.h"
#include "lib/mace/mace_model.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// One thread at a time may use an object; memory grows to that of the largest structure and is reused.
class MaceEvaluator {
 public:
  explicit MaceEvaluator(std::shared_ptr<const MaceModel> model);

  // How many numbers an atom sends; 0 with one layer.
  int num_messages() const { return model_->has_messages() ? model_->channels : 0; }

  // Computes the first layer. Of the atoms of the geometry the first num_centers have energies, and the first num_rows,
  // which have pairs, send messages if there are two layers. The geometry is not used later.
  void First(const StructureGeometry& geometry, int64_t num_rows, int64_t num_centers);
  // Copies what atoms [begin, end) send to rows of `values`, `width` numbers apart; then the reverse, for atoms that
  // are not rows. CHECK-fail with one layer.
  void GetMessages(int64_t begin, int64_t end, double* values, int64_t width) const;
  void SetMessages(int64_t begin, int64_t end, const double* values, int64_t width);
  // Computes the second layer, after which energies are there.
  void Second();

  // Begins derivatives by positions, after Second. atom_strain: [atoms, 9], overwritten, or null.
  void BackFromSecond(double* atom_strain);
  // Read and set rows [begin, end) of dE/d message, of `width` numbers each, as GetMessages and SetMessages do.
  void GetMessageSlopes(int64_t begin, int64_t end, double* values, int64_t width) const;
  void SetMessageSlopes(int64_t begin, int64_t end, const double* values, int64_t width);
  void BackFromFirst();

  double energy() const { return energy_; }                                    // eV, of the centers
  const std::vector<double>& atom_energies() const { return atom_energies_; }  // [num_centers] eV
  const MaceForces& forces() const { return forces_; }

 private:
  const std::shared_ptr<const MaceModel> model_;
  const int64_t stride_;
  AlignedBuffer<double> up_;          // [stride, stride] of the second layer
  AlignedBuffer<double> species_up_;  // [S, stride]
  MaceLayerSums first_;
  std::unique_ptr<MaceLayerSums> second_;

  int64_t num_atoms_ = 0, num_rows_ = 0, num_centers_ = 0;
  std::vector<uint8_t> species_;
  MacePairs pairs_;
  AlignedBuffer<double> first_u_, u_;           // [atoms, stride] messages to the first and to the second layer
  AlignedBuffer<double> h_, h_bar_, second_h_;  // [rows, stride], the last [centers, stride]
  AlignedBuffer<double> u_bar_;                 // [atoms, stride]
  std::vector<double> readouts_;                // [rows]
  double energy_ = 0;
  std::vector<double> atom_energies_;
  MaceForces forces_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_MACE_EVALUATOR_H_
