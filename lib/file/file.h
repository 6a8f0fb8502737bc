// Reads files as a whole, and writes outputs that appear complete or not at all.

#ifndef RUTILE_LIB_FILE_FILE_H_
#define RUTILE_LIB_FILE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// The bytes of an input file, mapped if it is a regular file and read to the end otherwise ("-" is standard input).
// Copies share the bytes, which live as long as any copy.
//
//   ASSIGN_OR_RETURN(const FileContents file, FileContents::Open("a.stp"));
//   Parse(file.path(), file.data());
class FileContents {
 public:
  // Fails with NOT_FOUND, PERMISSION_DENIED, or INVALID_ARGUMENT (for a directory); the message starts with the path.
  static absl::StatusOr<FileContents> Open(absl::string_view path);
  FileContents() = default;
  // Wraps bytes that are in memory already, kept alive by `owner`. Messages call them `path`.
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

// Makes the next FileContents::Open("-") return these bytes instead of reading. A caller that reads standard input to
// find out its format gives the bytes back in this way for the reader of that format.
void UnreadStandardInput(FileContents contents);

// An output file that other processes see only when it is complete. Bytes go to a temporary name in the same directory;
// Commit() flushes them and renames the file to `path`. An object destroyed before Commit() removes its temporary file.
// A path that is no regular file (a pipe, /dev/null) is written directly, and "-" is standard output.
//
//   ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
//   RETURN_IF_ERROR(file.Append(bytes));
//   return file.Commit();
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(absl::string_view path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Fails with RESOURCE_EXHAUSTED, naming the path, when the device is full.
  absl::Status Append(absl::string_view bytes);
  // Appends the first `size` bytes of another open file, copying inside the kernel where it can. With `drain`, the
  // other file is not needed afterward: its space is freed piece by piece, so that this file can use it.
  absl::Status AppendFile(int fd, int64_t size, bool drain = false);
  absl::Status Commit();

  const std::string& path() const { return path_; }

 private:
  AtomicFile(std::string path, std::string temporary, int fd);

  std::string path_;
  std::string temporary_;  // empty: `path` itself is written
  int fd_ = -1;
};

// Writes a file in one call: AtomicFile::Create, Append, Commit.
absl::Status WriteFileAtomically(absl::string_view path, absl::string_view bytes);

// Renames the file `next` to `path`, and the file that was `path` (if any) to `former`, replacing any file of that
// name. Each of the names `path` and `former` is a complete file at every moment, also after a power cut. (On a file
// system without hard links `path` is missing for a moment, while `former` and `next` exist.) All three must be on one
// file system.
absl::Status ReplaceFile(absl::string_view next, absl::string_view path, absl::string_view former);

// Checks that files can be created in the directory, or that the directory can be made if it does not exist, without
// touching anything. Fails with PERMISSION_DENIED (also for a read-only file system), or with INVALID_ARGUMENT naming
// the directory that is in the way.
absl::Status CheckWritableDirectory(absl::string_view path);

// Makes the directory and its parents; OK when it exists.
absl::Status MakeDirectories(absl::string_view path);

bool FileExists(absl::string_view path);

// Returns a status whose code fits errno and whose message is `what` followed by the text of the error, such as
// "Permission denied".
absl::Status ErrnoStatus(int error_number, absl::string_view what);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_FILE_H_
