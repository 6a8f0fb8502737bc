// Whether a computation of influence can begin.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_INPUTS_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_INPUTS_H_

#include "absl/status/status.h"
#include "lib/influence/tracin.h"
#include "lib/influence/tracin_options.h"

namespace rutile {

// INVALID_ARGUMENT naming the input or option that is out of range: examples that do not exist or come twice, rates
// that are none, weights for other tests. CHECK-fails when checkpoints disagree in how many examples there are.
absl::Status CheckInfluenceInputs(const InfluenceInputs& inputs, const TracInOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_INPUTS_H_
