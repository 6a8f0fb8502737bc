// Flags of --precondition=gauss-newton and ek-fac, and of measures that need its matrix.

#ifndef RUTILE_TOOLS_TRACIN_CURVATURE_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_CURVATURE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/task/parameter_slice.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// How the matrix is damped and summed.
struct CurvatureFlags {
  bool from_run = true;  // the damping of the run; otherwise one of the two below
  double trace = 0;      // > 0: this share of the mean curvature
  double constant = 0;   // > 0: this number for each parameter
  int probes = -1;       // 0: all outputs; -1: by their number
  std::string Text() const;
};

// Reads --damping and --probes; refuses them where no matrix is made. INVALID_ARGUMENT naming flag, value and what
// would fit.
absl::StatusOr<CurvatureFlags> CurvatureFromFlags(const TracinFlags& flags);

// Returns the damping of the run at each checkpoint, [checkpoints, P]. INVALID_ARGUMENT saying why it is unknown.
absl::StatusOr<std::vector<std::vector<double>>> DampingsOfRun(const CheckpointSet& checkpoint_set,
                                                               const std::vector<ParameterSlice>& slices);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_CURVATURE_FLAGS_H_
