// A file that one process at a time holds. The kernel lets go of it when the process ends, however it ends.

#ifndef RUTILE_LIB_BASE_FILE_LOCK_H_
#define RUTILE_LIB_BASE_FILE_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

class FileLock {
 public:
  // Makes the file, which holds the number of the process for people to read. FAILED_PRECONDITION naming that number
  // when another holds it (another FileLock of this process, too); otherwise errors of the file system. Where a file
  // system knows no locks nothing is locked, and the result is OK.
  static absl::StatusOr<FileLock> Acquire(absl::string_view path);
  // The error of Acquire when somebody holds it now. Makes nothing.
  static absl::Status CheckFree(absl::string_view path);

  FileLock() = default;  // holds nothing
  FileLock(FileLock&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock() { Release(); }

  // Removes the file, too.
  void Release();

 private:
  FileLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_FILE_LOCK_H_
