#include "lib/machine/mapped_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

struct Place {
  std::string directory;
  int64_t least_bytes = 0;
};

Place& ThePlace() {
  static Place* const place = new Place;
  return *place;
}

// Returns a file without a name that is open for reading and writing, or -1 and errno.
int UnnamedFile(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  // Some file systems of networks do not know such files.
  std::string path = absl::StrCat(directory, "/rutile-XXXXXX");
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

// True of a folder whose files are in memory, and so of no use here.
bool IsInMemory(const std::string& directory) {
  struct statfs info = {};
  constexpr int64_t kTmpfs = 0x01021994, kRamfs = 0x858458f6;
  return ::statfs(directory.c_str(), &info) == 0 && (info.f_type == kTmpfs || info.f_type == kRamfs);
}

// Returns the error, or 0. Where a file system has no call for it, posix_fallocate writes each block, and would fill
// the disk before it fails.
int TakeRoom(int fd, int64_t bytes) {
  struct statvfs info = {};
  if (::fstatvfs(fd, &info) == 0 && static_cast<uint64_t>(bytes) / info.f_frsize >= info.f_bavail) return ENOSPC;
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(fd, 0, bytes);
  return error;
}

}  // namespace

absl::Status MapLargeArrays(absl::string_view directory, int64_t least_bytes) {
  Place place = {std::string(directory), least_bytes};
  if (!directory.empty()) {
    const int fd = UnnamedFile(place.directory);
    if (fd < 0) {
      return absl::InvalidArgumentError(absl::StrCat(directory, ": no file can be made there (", std::strerror(errno),
                                                     "); expected a folder on a disk"));
    }
    ::close(fd);
    if (IsInMemory(place.directory)) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, ": files there are in memory (tmpfs); expected a folder on a disk"));
    }
  }
  ThePlace() = std::move(place);
  return absl::OkStatus();
}

std::shared_ptr<void> MappedZeros(int64_t bytes) {
  const Place& place = ThePlace();
  if (place.directory.empty() || bytes <= 0 || bytes < place.least_bytes) return nullptr;
  const int fd = UnnamedFile(place.directory);
  int error = fd < 0 ? errno : TakeRoom(fd, bytes);
  void* memory = MAP_FAILED;
  if (error == 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  if (fd >= 0) ::close(fd);
  if (memory == MAP_FAILED) {
    LOG(WARNING) << place.directory << ": no room for an array of " << bytes << " bytes (" << std::strerror(error)
                 << ")";
    throw std::bad_alloc();
  }
  // Rows are touched in random order: reading what lies around a row would cost far more than the row.
  ::madvise(memory, bytes, MADV_RANDOM);
  return {memory, [bytes](void* mapped) { ::munmap(mapped, bytes); }};
}

}  // namespace rutile
