// What turns an atom's neighborhood into numbers that do not change under rotation, translation and permutation.

#ifndef RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_H_
#define RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {

// Immutable and shared by threads; called once per structure, so that the inner loops are free functions.
class Descriptor {
 public:
  // Scratch memory of one thread, made by the descriptor that uses it.
  class Workspace {
   public:
    virtual ~Workspace() = default;
  };

  virtual ~Descriptor() = default;

  virtual int num_features() const = 0;
  // Neighbors up to here are needed, Angstrom.
  virtual double cutoff() const = 0;
  virtual std::unique_ptr<Workspace> MakeWorkspace() const = 0;

  // species: [N] indices into the descriptor's species. neighbors: of the same N atoms, to at least cutoff().
  // features: [N * num_features()], row-major, overwritten. Double computes in fp64, float in fp32.
  virtual void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
                       absl::Span<double> features) const = 0;
  virtual void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
                       absl::Span<float> features) const = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_H_
