// Runs tests of kernels on each instruction set.

#ifndef RUTILE_LIB_TESTING_FOR_EACH_TARGET_H_
#define RUTILE_LIB_TESTING_FOR_EACH_TARGET_H_

#include <functional>

namespace rutile {

// Calls `check` once for each instruction set that the machine has and kernels were compiled for, while all kernels use
// it. Failures name the instruction set.
void ForEachTarget(const std::function<void()>& check);

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_FOR_EACH_TARGET_H_
