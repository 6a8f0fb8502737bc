// Tests of kernels that exist for several instruction sets.

#ifndef RUTILE_LIB_TESTING_FOR_EACH_TARGET_H_
#define RUTILE_LIB_TESTING_FOR_EACH_TARGET_H_

#include <functional>

namespace rutile {

// Calls check once for each instruction set that the machine has and kernels were compiled for, which all of them then
// use; failures name it.
void ForEachTarget(const std::function<void()>& check);

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_FOR_EACH_TARGET_H_
