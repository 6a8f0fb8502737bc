// Finds energies, forces and stresses that are too large for a loss, so that bad data is reported before training
// computes infinities.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_LABELS_LABEL_RANGE_H_
#define RUTILE_LIB_POTENTIAL_MODEL_LABELS_LABEL_RANGE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// INVALID_ARGUMENT if a label is above 1e17 in fp32 or 1e150 in fp64, where the sum of its squares would overflow.
// Checks energies per atom first (`targets`, [structures of the data], less the atomic energies), then the force and
// stress components that are learned; the error names the structure of the largest.
absl::Status CheckLabelRange(const AtomicData& data, absl::Span<const double> targets,
                             const AtomisticTaskOptions& options, absl::Span<const int64_t> structures);

// Summarizes how far energies lie from fitted atomic energies, if one of them does by more than any bond could explain:
// cohesive energies are below 10 eV per atom.
struct FitOutlier {
  static constexpr double kLimit = 20;  // eV per atom
  int64_t structure = -1;               // the structure whose energy is the farthest off
  double residual = 0;                  // its energy less that of the fit, eV per atom
  double median = 0;                    // of |residual| over all structures
  int64_t beyond = 0;                   // number of structures beyond the limit
};

// Returns the outlier, or nothing if no structure is beyond the limit. targets: as in CheckLabelRange, with fitted
// atomic energies.
std::optional<FitOutlier> FindFitOutlier(absl::Span<const double> targets, absl::Span<const int64_t> structures);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_LABELS_LABEL_RANGE_H_
