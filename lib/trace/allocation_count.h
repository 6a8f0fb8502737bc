// Counts how often a thread calls operator new, which allocation_count.cc replaces.
//
// Memory from malloc is not counted: LibTorch's tensors get their data so, but each comes with objects that are
// counted. Counting adds one instruction to an allocation, with or without a profile.

#ifndef RUTILE_LIB_TRACE_ALLOCATION_COUNT_H_
#define RUTILE_LIB_TRACE_ALLOCATION_COUNT_H_

#include <cstdint>

namespace rutile {
namespace profile_internal {

// Number of allocations since the thread began; stays 0 if nothing counts.
inline thread_local int64_t thread_allocations = 0;
// True if allocation_count.cc is part of the program. It is not in builds with sanitizers, which have their own
// operator new.
inline bool allocations_are_counted = false;

}  // namespace profile_internal
}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_ALLOCATION_COUNT_H_
