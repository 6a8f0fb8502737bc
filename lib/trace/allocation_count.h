// How often a thread has asked for memory with operator new, which this library's .cc replaces to count.
//
// What is allocated by malloc alone is not seen: LibTorch's tensors take their data so, but each comes with objects
// that are. Counting adds one instruction to an allocation, whether a profile is taken or not.

#ifndef RUTILE_LIB_TRACE_ALLOCATION_COUNT_H_
#define RUTILE_LIB_TRACE_ALLOCATION_COUNT_H_

#include <cstdint>

namespace rutile {
namespace profile_internal {

// Since the thread began; stays 0 where nothing counts.
inline thread_local int64_t thread_allocations = 0;
// Whether allocation_count.cc is part of the program: not with sanitizers, which bring their own operator new.
inline bool allocations_are_counted = false;

}  // namespace profile_internal
}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_ALLOCATION_COUNT_H_
