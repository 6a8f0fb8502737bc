// Computes gradients of single structures or atoms by all parameters of a potential, with the passes of force training
// (force_kernel.h) for one structure at a time.
//
// They are computed in fp64, whatever the products' type, because a trained potential's errors are small differences of
// large numbers. In fp32, the energies' gradients lost 5e-4 of their size on average at 5 meV/atom, and some structures
// lost all digits but one.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_ROWS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_ROWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/network/atom_kernel.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/geometry.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/model/loss_function.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/structure_messages.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// The model and the losses, which all threads share read-only.
struct GradientFormulas {
  GradientFormulas(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                   AngularMethod method);

  const Potential potential;
  const TermWeights weights;
  const ErrorLoss energy_loss, force_loss, stress_loss;
  const int num_features, num_species;
  const std::unique_ptr<const DescriptorDerivatives<double>> derivatives;
  std::vector<double> parameters;    // [P]
  std::vector<double> mean, scale;   // [species, F]: x = (G - mean) scale
  std::vector<double> energy_slope;  // [species, F]: dE/dG = energy_slope dx, eV
};

// Slopes of a linear function of a structure's predictions.
struct OutputSlopes {
  ExampleTerms terms;              // those whose slopes are not all 0
  double energy = 0;               // by the total energy
  absl::Span<const double> force;  // [3N], by the forces
  double stress[9] = {};           // by the stress; its symmetric part counts
};

// Computes gradients in one thread. One thread at a time may use an object. Memory grows to that of the largest
// structure, after which no call allocates.
class GradientRows {
 public:
  // formulas: not owned, must outlive the object.
  explicit GradientRows(const GradientFormulas& formulas);
  ~GradientRows();

  // Computes the gradient of an example. row: [P], overwritten. Work that consecutive examples of one structure share
  // is done once, so `data` must neither move nor change between calls. INVALID_ARGUMENT naming the structure: errors
  // of AtomicData::FindPairs, or a stress that counts but no volume.
  absl::Status Compute(const AtomicData& data, const GradientExample& example, absl::Span<double> row);

  // Predicts these outputs of a structure. The functions below are of the last structure that was predicted, and of
  // outputs that were among its terms. Returns the errors of Compute.
  absl::Status Predict(const AtomicData& data, int64_t s, const ExampleTerms& terms);
  // Must be called before the next structure when the parameters of the formulas have changed.
  void ForgetStructure() { ready_data_ = nullptr; }
  double EnergyError() const;           // predicted less reference energy per atom, eV; of a structure with an energy
  double ForceError(int64_t c) const;   // of component c < 3N, eV/Angstrom
  double StressError(int64_t c) const;  // of component c < 9 of the symmetric prediction, eV/Angstrom^3
  // Computes the gradient of a linear function of the outputs. row: [P], overwritten.
  void Gradient(const OutputSlopes& slopes, absl::Span<double> row);

  // Predicts a structure without references: its energy and, with `forces`, its forces. Of the functions above,
  // Gradient may follow. geometry: not used after the call.
  void PredictGeometry(const StructureGeometry& geometry, bool forces);
  // Computes the gradient of the energy of one atom of the structure that was predicted, of a potential of one layer.
  // row: [P], overwritten.
  void AtomGradient(int64_t atom, absl::Span<double> row);
  // Writes the sum over the atoms of each species of their standardized features, divided by the number of all atoms of
  // the structure that was predicted. mean: [species, F], overwritten.
  void MeanInputs(absl::Span<double> mean) const;

 private:
  // Prepares quantities that depend on the energy alone. Uses the features of the data if it has them.
  absl::Status PrepareEnergy(const AtomicData& data, int64_t s);
  void PrepareEnergy(const StructureGeometry& geometry);
  void EvaluateEnergy();
  // Prepares quantities that depend on derivatives: energy, its derivatives by features, and the forces.
  absl::Status PrepareDerivatives(const AtomicData& data, int64_t s, bool stress);
  void PrepareDerivatives(const StructureGeometry& geometry, bool stress);
  // Assigns rows of the networks' input to atoms, sorted by species.
  void PlaceAtoms(absl::Span<const uint8_t> species);
  template <typename U>
  void Standardize(absl::Span<const uint8_t> species, const U* features);
  // Sets the slopes of the structure's loss; those by forces are force_slopes_.
  void SetLossSlopes(OutputSlopes* slopes);
  // Tells messages_, if there are any, where the structure's neighbors are: in state_.
  void SetNeighbors();
  // Sets tangents_ to the change of the features along -direction_ and `strain`, in the networks' units and order.
  void StoreTangents(const double* strain);
  AtomRows<double> Rows() const { return {x_, species_offset_, structure_}; }

  const GradientFormulas& formulas_;
  const std::unique_ptr<AtomKernel<double>> kernel_;
  const std::unique_ptr<StructureMessages<double>> messages_;  // null for potentials of one layer
  std::unique_ptr<AtomKernel<double>> atom_kernel_;  // for AtomGradient, which must not disturb what kernel_ stored
  const std::unique_ptr<DescriptorDerivatives<double>::State> state_;
  PairMemory pairs_;
  // The structure whose derivatives are ready; null if there is none.
  const AtomicData* ready_data_ = nullptr;
  int64_t ready_structure_ = -1;
  bool ready_stress_ = false;
  // The structure of the last Predict, and whether its derivatives are ready.
  const AtomicData* data_ = nullptr;
  int64_t s_ = -1;
  bool has_derivatives_ = false;
  bool is_forward_done_ = false;  // and Backward has not followed

  std::vector<uint8_t> species_;                          // [N] of atoms
  std::vector<int64_t> species_offset_;                   // [species + 1]
  std::vector<int64_t> atom_offset_;                      // [species + 1] of one atom
  std::vector<int32_t> structure_;                        // [N] zeros
  std::vector<int32_t> row_;                              // [N] row of each atom
  std::vector<double> x_, x_gradient_;                    // [N, F] in the order of rows
  std::vector<double> features_;                          // [N, F] in the order of atoms
  std::vector<double> tangents_;                          // [N, F] in the order of rows
  std::vector<double> force_, direction_, force_slopes_;  // [3N]
  double strain_gradient_[9];
  double volume_ = 0;
  double network_sum_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_ROWS_H_
