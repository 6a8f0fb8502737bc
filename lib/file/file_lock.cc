#include "lib/file/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

// Says who holds the lock: an open lock file contains the number of its process.
std::string Holder(int fd) {
  char text[32];
  const ssize_t n = ::pread(fd, text, sizeof(text), 0);
  const absl::string_view number = absl::StripAsciiWhitespace(absl::string_view(text, n > 0 ? n : 0));
  return number.empty() ? "another process" : absl::StrCat("process ", number);
}

absl::Status Held(int fd, absl::string_view path) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": held by ", Holder(fd)));
}

// Tells whether `path` still names the open file: the holder of the lock removes the file at the end.
bool IsStillNamed(int fd, const std::string& path) {
  struct stat opened, named;
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

absl::StatusOr<FileLock> FileLock::Acquire(absl::string_view path) {
  const std::string name(path);
  while (true) {
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return ErrnoStatus(errno, absl::StrCat("cannot write ", path));
    FileLock lock("", fd);  // has no path, so it is closed on return but not removed
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return Held(fd, path);
      if (errno == EINTR) continue;
      return FileLock();  // this file system has no locks
    }
    if (!IsStillNamed(fd, name)) continue;
    const std::string text = absl::StrCat(::getpid(), "\n");
    // Errors are ignored: the lock counts also without the number, and the disk may be full.
    if (::ftruncate(fd, 0) == 0) static_cast<void>(!::pwrite(fd, text.data(), text.size(), 0));
    lock.path_ = name;
    return lock;
  }
}

absl::Status FileLock::CheckFree(absl::string_view path) {
  const int fd = ::open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::OkStatus();
  FileLock lock("", fd);
  return ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK ? Held(fd, path) : absl::OkStatus();
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  Release();
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

void FileLock::Release() {
  if (fd_ < 0) return;
  if (!path_.empty()) ::unlink(path_.c_str());  // still locked, so this removes no file of another holder
  ::close(std::exchange(fd_, -1));
}

}  // namespace rutile
