// Defines aenet's Chebyshev descriptor in code written for reading. The fast kernels are tested against it.
//
// Source: N. Artrith, A. Urban, G. Ceder, Phys. Rev. B 96, 014112 (2017), as aenet computes it. For atom i, with f_c(r;
// R) = (cos(pi r / R) + 1) / 2 below R and 0 from there on, and neighbors j, k farther than min_cutoff:
//
//   radial   G_n = sum_j     w_j     T_n(2 r_ij / rad_cutoff - 1) f_c(r_ij; rad_cutoff)           n = 0 .. rad_order
//   angular  A_n = sum_{j<k} w_j w_k T_n(cos theta_ijk) f_c(r_ij; ang_cutoff) f_c(r_ik; ang_cutoff)  n = 0 .. ang_order
//
// A row of features is [G, A] with w = 1 and, for more than one species, [G, A] again with w = the neighbor's typespin.
// The species of the central atom does not enter.

#ifndef RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_H_
#define RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"

namespace rutile {

// Returns the cutoff function f_c (dimensionless) at r in Angstrom.
double CosineCutoff(double r, double cutoff);

// Evaluates the sums over pairs and triplets above directly, in O(neighbors^2), and in fp64 even if the features are
// float.
class ChebyshevReference : public Descriptor {
 public:
  // CHECK-fails when the options are not valid.
  explicit ChebyshevReference(ChebyshevOptions options);

  int num_features() const override { return options_.num_features(); }
  double cutoff() const override { return options_.cutoff(); }
  std::unique_ptr<Workspace> MakeWorkspace() const override;
  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
               absl::Span<double> features) const override;
  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
               absl::Span<float> features) const override;

 private:
  ChebyshevOptions options_;
  std::vector<double> spins_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_H_
