// Errors of a potential for each training structure as if that structure had been left out, from one model: the closed
// form of leave-one-out cross-validation for the model linearized at its parameters (R. D. Cook, Technometrics 1977;
// S. Rubinstein and J. Hopkins, 2025), exact for models that are linear in their
// parameters and learn from one term (energies).
//
// With the matrix of gauss_newton.h, a structure's rows J [outputs, C], curvatures c and slopes g of its loss,
// G = J K J^T and B = sqrt(c) G sqrt(c):
//
//   change of the outputs without it = G x,   x = (1 - c G)^-1 g;   leverage = tr B;
//   change of the parameters without it = K J^T x =: p,   d = tr(H (H + D)^-1),
//   Cook's distance = (sum over all R outputs of c (J p)^2) / d  over  (sum over them of c error^2) / (R - d)
//
// The first sum, over the outputs of all structures, is n p^T H p = x^T G x - n p^T D p.
// Leverages add up to d. The matrix is summed from all outputs, whatever the options say of probes. Terms count with
// the weights that they have: that a structure left out also changes the numbers of values that means are taken over,
// and so the balance of energies and forces, is not counted, so that exact is what is said above of one term.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_LEAVE_ONE_OUT_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_LEAVE_ONE_OUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/potential_products.h"
#include "lib/potential/model/potential_file.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// Errors are predicted less reference energies per atom, eV, and root mean squares over the components of forces,
// eV/Angstrom, and stresses, eV/Angstrom^3. NaN: the structure has none that counts.
struct LeftOutErrors {
  double energy, force, stress;
};

struct LeftOut {
  int64_t structure = 0;
  double loss = 0;  // that of potential_products.h
  LeftOutErrors with, without;
  double leverage = 0;
  double cook = 0;
  double self_influence = 0;  // g^T G g: by how much its own loss changes without it, to first order
};

struct LeaveOneOut {
  std::vector<LeftOut> structures;  // in the order of the examples
  std::string notes;                // GaussNewton::Describe
};

// Computes it for the examples of options.gauss_newton, which must be set. columns: the parameters that count.
// Errors are those of MakePotentialProducts and GaussNewton::Make, and INVALID_ARGUMENT for EK-FAC, which has blocks of
// the matrix. Measures of a structure whose leverage has no solution (one that decides some parameter alone, without
// damping) are infinite.
absl::StatusOr<LeaveOneOut> ComputeLeaveOneOut(const Potential& potential, const AtomicData& train,
                                               const WeightedCheckpoint& point, const std::vector<ColumnRange>& columns,
                                               const PotentialProductsOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_LEAVE_ONE_OUT_H_
