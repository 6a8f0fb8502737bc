// Brings files that training reads again and again, in random order, into memory before use. Pages of a mapped file are
// read from disk when they are first touched, and may be dropped under memory pressure.

#ifndef RUTILE_LIB_FILE_PRELOAD_H_
#define RUTILE_LIB_FILE_PRELOAD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"
#include "lib/file/file.h"

namespace rutile {

// How a file's bytes get into memory. kNone maps the file. kRam reads its bytes into this process's memory with all
// threads at once. kShm reads them into a file in shared memory, which other processes and later runs map instead of
// copying again.
enum class Preload { kNone, kRam, kShm };

inline constexpr absl::string_view kPreloadWords[] = {"none", "ram", "shm"};
inline constexpr EnumNames<Preload> kPreloadNames("files cannot be loaded by", kPreloadWords);

// How and where to preload.
struct PreloadOptions {
  Preload preload = Preload::kNone;
  int num_threads = 1;
  // With kShm, copies are in the folder rutile-UID below this one, which only that user can enter. A copy is identified
  // by the file's real path, device, inode, size and time of change. It stays until the machine restarts or someone
  // removes it; if its file has changed since, the next OpenPreloaded of that path replaces it (processes that have
  // mapped the old copy keep it).
  std::string shm_root = "/dev/shm";
};

// Opens a file with its bytes brought into memory; path() and messages give the file's own name. A path that is no
// regular file is read to its end, as by FileContents::Open, whose errors are also returned here. DATA_LOSS: the file
// became shorter meanwhile. PERMISSION_DENIED: the directory of copies belongs to another user. RESOURCE_EXHAUSTED:
// there is no room for the bytes.
absl::StatusOr<FileContents> OpenPreloaded(absl::string_view path, const PreloadOptions& options);

// Fails with RESOURCE_EXHAUSTED, giving sizes, if these files do not fit together into available memory and, with kShm,
// into free shared memory (copies that exist already do not count). Call it for all files before reading the first.
// Paths that are no regular files do not count.
absl::Status CheckPreloadRoom(absl::Span<const std::string> paths, const PreloadOptions& options);

// Returns the directory of copies, for messages: "/dev/shm/rutile-1000".
std::string PreloadDirectory(const PreloadOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_PRELOAD_H_
