// Evaluates a potential from features as computed, without scaling by the caller, to energies in eV and their
// derivatives by the features.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_ATOM_NETWORKS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_ATOM_NETWORKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/network/atom_kernel.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/structure_messages.h"

namespace rutile {

// The networks of a potential with the scalings of its model file. T, float or double, is the type of the arithmetic,
// whatever the type of the potential's parameters. One thread at a time may use an object; memory grows to that of the
// largest structure and is reused.
template <typename T>
class AtomNetworks {
 public:
  explicit AtomNetworks(const Potential& potential);

  bool has_messages() const { return messages_ != nullptr; }
  // For a potential with messages, before Energies: the neighbors of its atoms, as the descriptor's derivatives left
  // them in `state`, which must live until Slopes and AddMessageForces.
  void SetNeighbors(const typename DescriptorDerivatives<T>::State* state) { neighbors_ = state; }

  // Returns the total energy in eV, atomic energies included. features: [N, F] not scaled, of type float or double;
  // species: [N]. atom_energies: [N] eV, overwritten, or empty.
  template <typename U>
  double Energies(absl::Span<const U> features, absl::Span<const uint8_t> species, absl::Span<double> atom_energies);

  // Computes dE/dG in eV, [N, F], overwritten, for the features of the last call of Energies. CHECK-fails on another
  // size.
  void Slopes(absl::Span<T> slopes);

  // Adds to force [3N] eV/Angstrom, strain_gradient [9] eV, or null, and atom_strain [9N], or empty, what the second
  // layer's derivatives by positions are besides those of the features. Half of each pair's strain is either atom's.
  // After Slopes, for a potential with messages.
  void AddMessageForces(absl::Span<T> force, double* strain_gradient, absl::Span<double> atom_strain) const;

 private:
  const int num_species_, num_features_;
  const EnergyScaling energy_scaling_;
  const std::vector<double> mean_, scale_, atomic_energies_;  // [species, F], [species]
  std::vector<T> slope_scale_;                                // [species, F]: dx/dG / energy scale
  std::vector<T> parameters_;
  const std::unique_ptr<AtomKernel<T>> kernel_;
  const std::unique_ptr<StructureMessages<T>> messages_;  // null for one layer
  const typename DescriptorDerivatives<T>::State* neighbors_ = nullptr;
  std::vector<int64_t> offset_, next_;  // [species + 1] first row of each species; next free row
  std::vector<int32_t> row_;            // [N] row of each atom
  std::vector<uint8_t> species_;        // [N]
  std::vector<T> x_, x_gradients_;      // [N, F] sorted by species
  std::vector<T> outputs_;              // [N] sorted by species
  std::vector<int32_t> structure_;      // [N] zeros
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_ATOM_NETWORKS_H_
