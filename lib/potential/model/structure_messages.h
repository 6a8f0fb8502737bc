// The messages of potentials with two layers, for the structures of one call: sums over neighbors for the kernel,
// forces and directions for whoever calls it.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_STRUCTURE_MESSAGES_H_
#define RUTILE_LIB_POTENTIAL_MODEL_STRUCTURE_MESSAGES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/descriptor/message_moments.h"
#include "lib/descriptor/moment_options.h"
#include "lib/network/message_sums.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"

namespace rutile {

// Returns [N (L + 1)^2] factors of the second layer's features: for each of its functions what the first layer has,
// pooled over species. shape: with messages.
std::vector<double> MessageScale(const MomentOptions& options, const NetworkShape& shape,
                                 const FeatureScaling& feature_scaling);

// T is float or double. One thread at a time may use an object. Memory grows to that of the largest call.
//
//   messages.Clear();
//   for (each structure) messages.Add(sites);
//   kernel->ForwardWithInputGradients(...);      // forces are those at constant features of the first layer
//   messages.SetDirection(k, direction, factor), for each structure
//   messages.MoveAtoms();
//   kernel->AddTangentGradients(...);            // with the tangents of the first layer's features along it
template <typename T>
class StructureMessages final : public MessageSums<T> {
 public:
  StructureMessages(const MomentOptions& options, const NetworkShape& shape, const FeatureScaling& feature_scaling);

  void Clear();
  // The structures follow each other; sites point to memory that must live as long as they are used.
  void Add(const MessageSites<T>& sites);

  // Adds the share of structure k's forces, -dE/dr, to force [3 atoms], and that of dE/d(strain) to strain_gradient
  // [9], or null, both times `factor`. After a call of the kernel with input gradients.
  void AddForces(int k, double factor, absl::Span<T> force, double* strain_gradient) const;
  // The shares of its atoms in the latter, [9 atoms]: half of each pair's is either atom's. KeepAtomStrains comes
  // before the kernel's call.
  void KeepAtomStrains() { keeps_atom_strains_ = true; }
  absl::Span<const double> atom_strain(int k) const;

  // Sets how structure k changes: its atoms by factor times direction [3 atoms], or its cell by factor times strain
  // [9]. After Clear nothing changes.
  void SetDirection(int k, absl::Span<const T> direction, double factor);
  void SetStrain(int k, const double* strain, double factor);
  // Chooses along which of the two the kernel's next calls differentiate.
  void MoveAtoms() { moves_ = true, strains_ = false; }
  void StrainCells() { moves_ = false, strains_ = true; }
  void MoveAtomsAndStrainCells() { moves_ = strains_ = true; }

  // MessageSums.
  void Sums(const T* u, T* x) override;
  void Slopes(const T* u, const T* xbar, bool forces, T* ubar) override;
  void Tangents(const T* u, const T* udot, T* xdot) override;
  void TangentSlopes(const T* xbar, const T* xbardot, T* ubardot) override;

 private:
  struct Placed {
    MessageSites<T> sites;
    int64_t first;  // its first atom in force_ and direction_
    std::array<double, 9> strain_gradient, strain;
  };

  const T* Direction(const Placed& placed) const { return moves_ ? direction_.data() + placed.first : rest_.data(); }
  const double* Strain(const Placed& placed) const { return strains_ ? placed.strain.data() : nullptr; }

  MessageMoments<T> moments_;
  std::vector<Placed> structures_;
  std::vector<T> force_, direction_;  // [3 atoms]
  std::vector<double> atom_strain_;   // [9 atoms]
  std::vector<T> rest_;               // [3 atoms of the largest structure] zeros
  bool moves_ = true, strains_ = false, keeps_atom_strains_ = false;
};

// Returns the messages of a potential, or null if it has one layer.
template <typename T>
std::unique_ptr<StructureMessages<T>> MakeStructureMessages(const DescriptorOptions& descriptor,
                                                            const NetworkShape& shape,
                                                            const FeatureScaling& feature_scaling) {
  if (!shape.has_messages()) return nullptr;
  return std::make_unique<StructureMessages<T>>(descriptor.moments(), shape, feature_scaling);
}

extern template class StructureMessages<float>;
extern template class StructureMessages<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_STRUCTURE_MESSAGES_H_
