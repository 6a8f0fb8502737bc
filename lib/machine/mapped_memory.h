// Memory whose content lies in files, for arrays that together do not fit into memory.
//
//   RETURN_IF_ERROR(MapLargeArrays("/scratch"));   // once, before the arrays are made
//   std::shared_ptr<void> zeros = MappedZeros(bytes);
//   if (zeros == nullptr) ...                      // memory as ever

#ifndef RUTILE_LIB_MACHINE_MAPPED_MEMORY_H_
#define RUTILE_LIB_MACHINE_MAPPED_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Smaller arrays stay in memory: those of a batch, which are written again and again, are among them.
constexpr int64_t kLeastMappedBytes = int64_t{32} << 20;

// From now on MappedZeros puts arrays of `least_bytes` or more into files of `directory`. The files have no names, and
// go with the process, however it ends. Call it before threads make arrays. An empty directory ends it.
// INVALID_ARGUMENT: the directory is not there, is not one, no file can be made in it, or its files are in memory.
absl::Status MapLargeArrays(absl::string_view directory, int64_t least_bytes = kLeastMappedBytes);

// Returns `bytes` bytes of 0 in a file, aligned to a page, which the kernel writes to the disk and drops from memory as
// it needs room. Room on the disk is taken now, so that no later write finds none. Null: MapLargeArrays was not called,
// or the array is small. Throws std::bad_alloc, after a line that says so, if the disk has no room for it.
std::shared_ptr<void> MappedZeros(int64_t bytes);

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_MAPPED_MEMORY_H_
