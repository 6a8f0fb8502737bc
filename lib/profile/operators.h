// Times LibTorch's operators through its RecordFunction, for --operators.

#ifndef RUTILE_LIB_PROFILE_OPERATORS_H_
#define RUTILE_LIB_PROFILE_OPERATORS_H_

#include <cstddef>
#include <vector>

#include "lib/profile/record.h"

namespace rutile {

// Starts timing each operator that LibTorch runs in any thread, at a cost of some 0.3 us each. On CUDA the time is that
// of launching the operator.
void StartOperators();

// Stops timing and returns the `most` operators with the longest self time (without operators inside them). Empty if
// native kernels do all the work, or without StartOperators.
std::vector<ProfileOperator> StopOperators(size_t most);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_OPERATORS_H_
