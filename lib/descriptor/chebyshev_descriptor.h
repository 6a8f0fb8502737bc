// Computes aenet's Chebyshev descriptor, which chebyshev.h defines, with the fast kernels.

#ifndef RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DESCRIPTOR_H_
#define RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DESCRIPTOR_H_

#include <cstdint>
#include <memory>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"

namespace rutile {

// Equals ChebyshevReference to 1e-11 max(1, |G|) in fp64 and 2e-4 max(1, |G|) in fp32, at every order. The angular part
// costs O(neighbors) with kMoments and O(neighbors^2) with kTriplets. On a given instruction set, the bits of a row
// depend only on its atom's neighbors and their order.
class ChebyshevDescriptor : public Descriptor {
 public:
  // CHECK-fails when the options are not valid.
  ChebyshevDescriptor(const ChebyshevOptions& options, AngularMethod method);

  int num_features() const override { return options_.num_features(); }
  double cutoff() const override { return options_.cutoff(); }
  std::unique_ptr<Workspace> MakeWorkspace() const override;
  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
               absl::Span<double> features) const override;
  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
               absl::Span<float> features) const override;

 private:
  ChebyshevOptions options_;
  ChebyshevTables<double> tables64_;
  ChebyshevTables<float> tables32_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DESCRIPTOR_H_
