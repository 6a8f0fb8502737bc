// Energies, forces and stresses that are too large for a loss: data to correct before training meets infinities.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_LABEL_RANGE_H_
#define RUTILE_LIB_POTENTIAL_MODEL_LABEL_RANGE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// INVALID_ARGUMENT naming the structure of the largest energy per atom (`targets`, [structures of the data], less the
// atomic energies), or else of a force or stress component that is learned, when it is above 1e17 in fp32 or 1e150 in
// fp64: sums of its square would overflow.
absl::Status CheckLabelRange(const AtomicData& data, absl::Span<const double> targets,
                             const AtomisticTaskOptions& options, absl::Span<const int64_t> structures);

// How far energies lie from fitted atomic energies, where one does by more than any bond: cohesive energies are below
// 10 eV per atom.
struct FitOutlier {
  static constexpr double kLimit = 20;  // eV per atom
  int64_t structure = -1;               // whose energy is the farthest off
  double residual = 0;                  // of that, eV per atom: energy less what the fit expects
  double median = 0;                    // of |residual| over all
  int64_t beyond = 0;                   // structures beyond the limit
};

// targets: as above, of fitted atomic energies. Nothing where no structure is beyond the limit.
std::optional<FitOutlier> FindFitOutlier(absl::Span<const double> targets, absl::Span<const int64_t> structures);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_LABEL_RANGE_H_
