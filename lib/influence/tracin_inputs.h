// Checks the inputs of a computation of influence.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_INPUTS_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_INPUTS_H_

#include "absl/status/status.h"
#include "lib/influence/tracin.h"
#include "lib/influence/tracin_options.h"

namespace rutile {

// Returns INVALID_ARGUMENT naming the input or option that is out of range: examples that do not exist or occur twice,
// rates that are negative or not finite, a number of weights other than that of tests. CHECK-fails if checkpoints
// disagree in how many examples there are.
absl::Status CheckInfluenceInputs(const InfluenceInputs& inputs, const TracInOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_INPUTS_H_
