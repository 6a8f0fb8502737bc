// Evaluates a potential from features as computed, without scaling by the caller, to energies in eV and their
// derivatives by the features.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_ATOM_NETWORKS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_ATOM_NETWORKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/many_body/layered_kernel.h"
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

  int num_features() const { return num_features_; }
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

  // ---- in steps, for a potential with messages and A atoms, some of whose neighbors are others of N - A that follow
  // them: images, or atoms of another process. What those send comes from the caller (layered_kernel.h):
  //
  //   networks.SetNeighbors(state);                         // of the A atoms, at least
  //   networks.SendMessages(features, species, /*only_send=*/false, messages);
  //   networks.EnergiesOfMessages(messages, atom_energies); // with those of the N - A atoms, [N, num_messages()]
  //   networks.MessageSlopes(/*forces=*/true, message_slopes);
  //   networks.SlopesOfMessages(message_slopes, slopes);    // with what other atoms' energies have added
  //   networks.AddMessageForces(...);
  //
  // Arrays are in the order of atoms, messages without a unit, and message_slopes in the networks' unit of energy.
  int num_messages() const { return num_messages_; }  // of an atom; 0 for one layer
  // Computes messages [A, num_messages()]. features: [A, F] not scaled; species: [A]. only_send: the atoms have no
  // energies of their own, so that SlopesOfMessages is what comes next.
  void SendMessages(absl::Span<const T> features, absl::Span<const uint8_t> species, bool only_send,
                    absl::Span<double> messages);
  // Returns the energy of the A atoms in eV. messages: [N, num_messages()]. atom_energies: [A] eV, overwritten.
  double EnergiesOfMessages(absl::Span<const double> messages, absl::Span<double> atom_energies);
  // Computes derivatives of the A atoms' energies by messages, [N, num_messages()], overwritten. forces: those at
  // constant messages are kept for AddMessageForces.
  void MessageSlopes(bool forces, absl::Span<double> message_slopes);
  // Computes dE/dG in eV, [A, F], overwritten. message_slopes: [A, num_messages()], of all atoms' energies.
  void SlopesOfMessages(absl::Span<const double> message_slopes, absl::Span<T> slopes);

 private:
  // Sorts atoms by species, into row_ and its like, with standardized features. Returns their constant energy.
  template <typename U>
  double PlaceAtoms(absl::Span<const U> features, absl::Span<const uint8_t> species);
  AtomRows<T> Rows() const { return {x_, offset_, structure_}; }
  // Turns x_gradients_ into derivatives by features, in the order of atoms.
  void PutSlopes(absl::Span<T> slopes) const;
  // Moves rows of num_messages_ numbers between the order of atoms and that of the kernel. Atoms after the sorted ones
  // have the same place in both.
  void ToRows(absl::Span<const double> values, std::vector<T>* rows) const;
  void FromRows(const std::vector<T>& rows, absl::Span<double> values) const;

  const int num_species_, num_features_, num_messages_;
  const EnergyScaling energy_scaling_;
  const std::vector<double> mean_, scale_, atomic_energies_;  // [species, F], [species]
  std::vector<T> slope_scale_;                                // [species, F]: dx/dG / energy scale
  std::vector<T> parameters_;
  const std::unique_ptr<LayeredKernel<T>> layers_;        // null for one layer
  const std::unique_ptr<AtomKernel<T>> one_layer_;        // null for two
  AtomKernel<T>* const kernel_;                           // that of the two which is there
  const std::unique_ptr<StructureMessages<T>> messages_;  // null for one layer
  const typename DescriptorDerivatives<T>::State* neighbors_ = nullptr;
  std::vector<int64_t> offset_, next_;  // [species + 1] first row of each species; next free row
  std::vector<int32_t> row_;            // [N] row of each atom
  std::vector<uint8_t> species_;        // [N]
  std::vector<T> x_, x_gradients_;      // [N, F] sorted by species
  std::vector<T> outputs_;              // [N] sorted by species
  std::vector<int32_t> structure_;      // [N] zeros; in steps, the row itself, so that sums are of atoms
  double constant_ = 0;                 // eV, what the energy has besides the networks'
  std::vector<double> sums_;            // [A] in steps: networks' energies of rows
  std::vector<T> sent_, sent_slopes_;   // [N, num_messages_] in steps, by rows
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_ATOM_NETWORKS_H_
