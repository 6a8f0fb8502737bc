// How much memory there is, and what becomes of mapped files that are larger.

#ifndef RUTILE_LIB_BASE_MEMORY_H_
#define RUTILE_LIB_BASE_MEMORY_H_

#include <cstdint>

namespace rutile {

// Bytes that this process may use: the machine's memory or its cgroup's limit, whichever is less.
int64_t MemoryLimit();

// Bytes that could be taken now without anything being swapped out: what the kernel reckons, at most MemoryLimit().
int64_t AvailableMemory();

// For mapped bytes that are read here and there, in a file that does not fit into memory: nothing is read ahead of what
// is asked for. (Where much is read ahead, as on network disks, each page would cost megabytes.)
void AdviseRandomAccess(const void* data, int64_t bytes);

// Begins to read mapped bytes that will be needed soon, without waiting for them.
void Prefetch(const void* data, int64_t bytes);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_MEMORY_H_
