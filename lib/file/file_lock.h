// Locks a run directory, so that two processes do not write into it. The kernel releases the lock when the process
// ends, however it ends.

#ifndef RUTILE_LIB_FILE_FILE_LOCK_H_
#define RUTILE_LIB_FILE_FILE_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A lock on a file, held by at most one process at a time, released by the destructor.
//
//   ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(absl::StrCat(directory, "/lock")));
class FileLock {
 public:
  // Creates the file, which contains the process number for people to read, and locks it. Fails with
  // FAILED_PRECONDITION naming that number if another process or another FileLock of this process holds the lock;
  // otherwise returns errors of the file system. On a file system without locks nothing is locked, and the result is
  // OK.
  static absl::StatusOr<FileLock> Acquire(absl::string_view path);
  // Returns the error of Acquire if the lock is held now. Creates no file.
  static absl::Status CheckFree(absl::string_view path);

  FileLock() = default;  // holds nothing
  FileLock(FileLock&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock() { Release(); }

  // Removes the file and releases the lock.
  void Release();

 private:
  FileLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_FILE_LOCK_H_
