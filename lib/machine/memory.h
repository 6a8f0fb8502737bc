// How much memory there is, and what becomes of mapped files that are larger.

#ifndef RUTILE_LIB_MACHINE_MEMORY_H_
#define RUTILE_LIB_MACHINE_MEMORY_H_

#include <cstdint>

namespace rutile {

// Returns the bytes that this process may use: the machine's memory or the limit of its cgroup, whichever is less.
int64_t MemoryLimit();

// Returns the bytes that could be allocated now without swapping, as the kernel estimates; at most MemoryLimit().
int64_t AvailableMemory();

// Turns off read-ahead for mapped bytes that are read in random order from a file that does not fit into memory. (With
// much read-ahead, as on network disks, each page would cost megabytes.)
void AdviseRandomAccess(const void* data, int64_t bytes);

// Starts reading mapped bytes that will be needed soon, without waiting for them.
void Prefetch(const void* data, int64_t bytes);

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_MEMORY_H_
