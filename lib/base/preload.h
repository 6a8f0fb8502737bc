// Files that are read again and again, in any order, brought into memory before they are used: a mapped file's pages
// come from the disk when they are touched, and may be thrown out again under pressure.

#ifndef RUTILE_LIB_BASE_PRELOAD_H_
#define RUTILE_LIB_BASE_PRELOAD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/file.h"

namespace rutile {

// kNone: the file is mapped. kRam: its bytes are read into this process's memory, by all threads at once. kShm: the
// same, into a file in shared memory, which other processes and later runs map instead of copying again.
enum class Preload { kNone, kRam, kShm };

absl::string_view PreloadName(Preload preload);                // "shm"
absl::StatusOr<Preload> ParsePreload(absl::string_view name);  // INVALID_ARGUMENT naming the choices

struct PreloadOptions {
  Preload preload = Preload::kNone;
  int num_threads = 1;
  // kShm: copies are in rutile-UID of it, which only that user can enter. A copy is known by the file's real path,
  // device, inode, size and time of change. It stays until the machine restarts or someone removes it; when its file
  // has changed since, the next OpenPreloaded of that path replaces it (who has mapped the old one keeps it).
  std::string shm_root = "/dev/shm";
};

// The file's bytes, which path() and messages call by its own name. What is no regular file is read to its end, as by
// FileContents::Open, whose errors come here, too. DATA_LOSS: the file became shorter meanwhile. PERMISSION_DENIED: the
// directory of copies is somebody else's. RESOURCE_EXHAUSTED: no room for the bytes.
absl::StatusOr<FileContents> OpenPreloaded(absl::string_view path, const PreloadOptions& options);

// RESOURCE_EXHAUSTED with figures when these files do not fit together: into the memory that is available, and with
// kShm (where what is there already does not count) into what is free in shared memory. Better asked for all before the
// first is read. Paths that are no regular files do not count.
absl::Status CheckPreloadRoom(absl::Span<const std::string> paths, const PreloadOptions& options);

// "/dev/shm/rutile-1000", for messages.
std::string PreloadDirectory(const PreloadOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_PRELOAD_H_
