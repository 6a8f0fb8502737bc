// Time of LibTorch's operators, through its RecordFunction: what --operators shows.

#ifndef RUTILE_LIB_PROFILE_OPERATORS_H_
#define RUTILE_LIB_PROFILE_OPERATORS_H_

#include <cstddef>
#include <vector>

#include "lib/profile/record.h"

namespace rutile {

// From now on each operator that LibTorch runs, in any thread, is timed: some 0.3 us each. On CUDA that is the time to
// launch it.
void StartOperators();

// Ends it. The `most` that took the longest by themselves, operators inside others not counted to these. Empty where
// native kernels do the work, and without StartOperators.
std::vector<ProfileOperator> StopOperators(size_t most);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_OPERATORS_H_
