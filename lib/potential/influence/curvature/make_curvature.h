// Computes the curvature of a potential's training loss and calibrates the uncertainties that follow from it.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_MAKE_CURVATURE_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_MAKE_CURVATURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "lib/potential/influence/curvature/uncertainty.h"
#include "lib/potential/influence/potential_products.h"
#include "lib/potential/model/potential_file.h"
#include "lib/task/gradient_products.h"

namespace rutile {

struct MadeCurvature {
  Curvature curvature;  // without metadata
  std::string notes;    // GaussNewton::Describe
  double noise_scale;   // the scale of both quantities without calibration: the root of GaussNewton::noise
  // What the scales come from, with the deviations that they give; empty where `calibration` has no such labels, and
  // the scale is noise_scale.
  CalibrationData calibration;
};

// Computes the curvature of the examples of options.gauss_newton, which must be set, as a sum over structures, and the
// scales that make errors of the structures `held_out` of `calibration` have the variance that is predicted. columns:
// the parameters that count. INVALID_ARGUMENT: errors of MakePotentialProducts and GaussNewton::Make, errors that are
// all zero, which give no scale, or EK-FAC, of which there is no matrix to keep.
absl::StatusOr<MadeCurvature> MakeCurvature(const Potential& potential, const AtomicData& train,
                                            const AtomicData& calibration, absl::Span<const int64_t> held_out,
                                            const WeightedCheckpoint& point, const std::vector<ColumnRange>& columns,
                                            const PotentialProductsOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_MAKE_CURVATURE_H_
