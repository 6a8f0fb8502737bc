// Files that are read as a whole and outputs that appear whole or not at all.

#ifndef RUTILE_LIB_BASE_FILE_H_
#define RUTILE_LIB_BASE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// The bytes of a file: mapped when it is a regular file, read to the end otherwise ("-" is standard input).
// Copies share the bytes, which live as long as any copy.
class FileContents {
 public:
  // NOT_FOUND, PERMISSION_DENIED, or INVALID_ARGUMENT (a directory); the message starts with the path.
  static absl::StatusOr<FileContents> Open(absl::string_view path);
  FileContents() = default;
  // Bytes that are in memory already, kept alive by `owner`; `path` is what messages call them.
  FileContents(std::string path, absl::string_view data, std::shared_ptr<const void> owner)
      : path_(std::move(path)), data_(data), owner_(std::move(owner)) {}

  absl::string_view data() const { return data_; }
  const std::string& path() const { return path_; }
  // Keeps data() alive after this object is gone.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::string path_;
  absl::string_view data_;
  std::shared_ptr<const void> owner_;
};

// The next Open("-") gives these bytes instead of reading: for who had to look at a stream to know who shall read it.
void UnreadStandardInput(FileContents contents);

// An output file. Bytes go to a temporary name in the same directory; Commit() flushes and renames it to `path`, and an
// object destroyed before that removes it. What is not a regular file (a pipe, /dev/null) is written directly, and "-"
// is standard output.
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(absl::string_view path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // RESOURCE_EXHAUSTED when the device is full; the message names the path.
  absl::Status Append(absl::string_view bytes);
  // Appends `size` bytes of another open file from its offset 0, inside the kernel where it can. drain: the other file
  // is of no use afterward, and its space is given back piece by piece, to be taken for this one.
  absl::Status AppendFile(int fd, int64_t size, bool drain = false);
  absl::Status Commit();

  const std::string& path() const { return path_; }

 private:
  AtomicFile(std::string path, std::string temporary, int fd);

  std::string path_;
  std::string temporary_;  // empty: `path` itself is written
  int fd_ = -1;
};

// Create, Append, Commit.
absl::Status WriteFileAtomically(absl::string_view path, absl::string_view bytes);

// The file `next` takes the name `path`, and what had that name (if any) the name `former`, in the place of what had
// that. Each of the two names is a whole file at every moment, also after a power cut. (On a file system without hard
// links `path` is missing for a moment, while `former` and `next` are there.) All on one file system.
absl::Status ReplaceFile(absl::string_view next, absl::string_view path, absl::string_view former);

// OK when files can be made in the directory, or the directory be made where there is none: nothing is touched.
// PERMISSION_DENIED (a read-only file system, too) or INVALID_ARGUMENT naming the directory that is in the way.
absl::Status CheckWritableDirectory(absl::string_view path);

// Makes the directory and its parents; OK when it exists.
absl::Status MakeDirectories(absl::string_view path);

bool FileExists(absl::string_view path);

// "Permission denied" and so on as a status whose code fits errno: `what` comes first in its message.
absl::Status ErrnoStatus(int error_number, absl::string_view what);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_FILE_H_
