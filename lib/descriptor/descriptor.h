// A descriptor turns an atom's neighborhood into numbers (features) that do not change when the structure is rotated or
// translated or equal atoms are permuted.
//
// Example:
//
//   DescriptorOptions options;
//   options.species = {22, 8};  // Ti, O
//   RETURN_IF_ERROR(options.Validate());
//   const auto descriptor = MakeDescriptor(options, AngularMethod::kMoments);  // descriptor_factory.h
//   const auto workspace = descriptor->MakeWorkspace();
//   NeighborList neighbors;
//   RETURN_IF_ERROR(NeighborSearch(descriptor->cutoff()).Compute(structure, &neighbors));
//   std::vector<double> features(species.size() * descriptor->num_features());  // species: indices into
//   options.species descriptor->Compute(species, neighbors, workspace.get(), absl::MakeSpan(features));

#ifndef RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_H_
#define RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {

// The interface of all descriptors. Immutable and shared by threads. Virtual functions are called once per structure;
// inner loops are free functions.
class Descriptor {
 public:
  // The scratch memory of one thread. The descriptor that made it must be the one that uses it.
  class Workspace {
   public:
    virtual ~Workspace() = default;
  };

  virtual ~Descriptor() = default;

  virtual int num_features() const = 0;
  // The radius in Angstrom within which neighbors are needed.
  virtual double cutoff() const = 0;
  virtual std::unique_ptr<Workspace> MakeWorkspace() const = 0;

  // Computes the features of all N atoms. species: [N] indices into the descriptor's species. neighbors: of the same N
  // atoms, to at least cutoff(). features: [N * num_features()], row-major, overwritten. The overload for double
  // computes in fp64, that for float in fp32.
  virtual void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
                       absl::Span<double> features) const = 0;
  virtual void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
                       absl::Span<float> features) const = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_H_
