#include "lib/file/preload.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/machine/memory.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

constexpr int64_t kPiece = int64_t{1} << 24;  // bytes that one thread reads at a time
// What a training run takes beside its data: LibTorch, networks, batches.
constexpr int64_t kProcessBytes = int64_t{512} << 20;
constexpr absl::string_view kTemporary = ".tmp.";

bool IsRegular(absl::string_view path, struct stat* info) {
  return path != "-" && ::stat(std::string(path).c_str(), info) == 0 && S_ISREG(info->st_mode);
}

// A mapping of `size` bytes that is unmapped with its last owner.
std::shared_ptr<void> Owned(void* address, size_t size) {
  return std::shared_ptr<void>(address, [size](void* p) { ::munmap(p, size); });
}

absl::Status ReadInto(int fd, absl::string_view path, int num_threads, char* to, int64_t size) {
  std::atomic<int> error{0};
  ThreadPool pool(static_cast<int>(std::min<int64_t>(num_threads, (size + kPiece - 1) / kPiece)));
  pool.For(size, kPiece, [&](int64_t begin, int64_t end, int) {
    while (begin < end && error == 0) {
      const ssize_t n = ::pread(fd, to + begin, end - begin, begin);
      if (n > 0) begin += n;
      if (n == 0) error = -1;
      if (n < 0 && errno != EINTR) error = errno;
    }
  });
  if (error > 0) return ErrnoStatus(error, path);
  if (error < 0) {
    return absl::DataLossError(absl::StrCat(path, ": became shorter than its ", size, " bytes while it was read"));
  }
  return absl::OkStatus();
}

absl::StatusOr<FileContents> ReadToRam(const std::string& path, const PreloadOptions& options) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  const absl::Cleanup close_fd = [fd] { ::close(fd); };
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, path);
  const auto size = static_cast<size_t>(info.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return ErrnoStatus(errno, path);
  const std::shared_ptr<void> owner = Owned(address, size);
  (void)::madvise(address, size, MADV_HUGEPAGE);  // saves TLB misses; the kernel may refuse
  RETURN_IF_ERROR(ReadInto(fd, path, options.num_threads, static_cast<char*>(address), info.st_size));
  (void)::mprotect(address, size, PROT_READ);  // read-only, like a mapped file
  return FileContents(path, absl::string_view(static_cast<const char*>(address), size), owner);
}

// ---- copies in shared memory

// Returns the copy's name, "PATH-CONTENT": hash digits of the real path, and of the facts that change when the file
// does.
struct CopyName {
  std::string path, content;
  std::string text() const { return absl::StrCat(path, "-", content); }
};

absl::StatusOr<CopyName> NameOfCopy(const std::string& path, const struct stat& info) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  if (real == nullptr) return ErrnoStatus(errno, path);
  const std::string content = absl::StrCat(info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec,
                                           " ", info.st_mtim.tv_nsec);
  return CopyName{Sha256Hex(real.get()).substr(0, 16), Sha256Hex(content).substr(0, 16)};
}

absl::Status MakePrivateDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat("cannot make the directory ", path));
  }
  // Any user may write to shared memory, so a file that another user put there under this name is not trusted.
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, ": expected a directory of user ", ::geteuid(), " that nobody else can enter; remove it"));
}

// Returns the process that writes "NAME.tmp.PID", or 0 if the name is of another form.
pid_t WriterOf(absl::string_view name) {
  const size_t dot = name.rfind(kTemporary);
  int pid = 0;
  if (dot == absl::string_view::npos || !absl::SimpleAtoi(name.substr(dot + kTemporary.size()), &pid)) return 0;
  return pid;
}

// Removes copies of earlier versions of the file, and unfinished copies by processes that have ended.
void RemoveOldCopies(const std::string& directory, const CopyName& copy) {
  DIR* const entries = ::opendir(directory.c_str());
  if (entries == nullptr) return;
  const absl::Cleanup close = [entries] { ::closedir(entries); };
  while (const dirent* entry = ::readdir(entries)) {
    const absl::string_view name = entry->d_name;
    const pid_t writer = WriterOf(name);
    const bool old = writer > 0 ? ::kill(writer, 0) != 0 && errno == ESRCH
                                : absl::StartsWith(name, absl::StrCat(copy.path, "-")) && name != copy.text();
    if (old) ::unlink(absl::StrCat(directory, "/", name).c_str());
  }
}

absl::Status CopyToShm(const std::string& from, const std::string& to, int num_threads) {
  const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) return ErrnoStatus(errno, from);
  const absl::Cleanup close_in = [in] { ::close(in); };
  struct stat info;
  if (::fstat(in, &info) != 0) return ErrnoStatus(errno, from);
  const std::string temporary = absl::StrCat(to, kTemporary, ::getpid());
  const int out = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (out < 0) return ErrnoStatus(errno, temporary);
  absl::Cleanup remove = [out, &temporary] {
    ::close(out);
    ::unlink(temporary.c_str());
  };
  const std::string what = absl::StrCat("cannot copy ", from, " to ", to);
  // Allocates the pages now: a process whose mapping finds no page later is killed without an error.
  if (const int error = ::posix_fallocate(out, 0, info.st_size); error != 0) return ErrnoStatus(error, what);
  void* const address = ::mmap(nullptr, info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
  if (address == MAP_FAILED) return ErrnoStatus(errno, what);
  const std::shared_ptr<void> mapped = Owned(address, info.st_size);
  RETURN_IF_ERROR(ReadInto(in, from, num_threads, static_cast<char*>(address), info.st_size));
  if (::rename(temporary.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, what);
  std::move(remove).Cancel();
  ::close(out);
  return absl::OkStatus();
}

absl::StatusOr<FileContents> OpenInShm(const std::string& path, const struct stat& info,
                                       const PreloadOptions& options) {
  const std::string directory = PreloadDirectory(options);
  RETURN_IF_ERROR(MakePrivateDirectory(directory));
  ASSIGN_OR_RETURN(const CopyName name, NameOfCopy(path, info));
  const std::string copy = absl::StrCat(directory, "/", name.text());
  RemoveOldCopies(directory, name);
  struct stat there;
  if (!IsRegular(copy, &there) || there.st_size != info.st_size) {
    RETURN_IF_ERROR(CopyToShm(path, copy, options.num_threads));
  }
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(copy));
  return FileContents(path, contents.data(), contents.owner());
}

}  // namespace

std::string PreloadDirectory(const PreloadOptions& options) {
  return absl::StrCat(options.shm_root, "/rutile-", ::geteuid());
}

absl::StatusOr<FileContents> OpenPreloaded(absl::string_view path, const PreloadOptions& options) {
  struct stat info;
  if (options.preload == Preload::kNone || !IsRegular(path, &info) || info.st_size == 0) {
    return FileContents::Open(path);
  }
  return options.preload == Preload::kRam ? ReadToRam(std::string(path), options)
                                          : OpenInShm(std::string(path), info, options);
}

absl::Status CheckPreloadRoom(absl::Span<const std::string> paths, const PreloadOptions& options) {
  if (options.preload == Preload::kNone) return absl::OkStatus();
  const bool shm = options.preload == Preload::kShm;
  int64_t bytes = 0;
  for (const std::string& path : paths) {
    struct stat info, there;
    if (!IsRegular(path, &info)) continue;
    if (shm) {
      ASSIGN_OR_RETURN(const CopyName name, NameOfCopy(path, info));
      const std::string copy = absl::StrCat(PreloadDirectory(options), "/", name.text());
      if (IsRegular(copy, &there) && there.st_size == info.st_size) continue;
    }
    bytes += info.st_size;
  }
  const auto check = [&](int64_t room, absl::string_view where) {
    if (bytes <= room) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("preloading into ", kPreloadNames.Name(options.preload), " needs ",
                                                     bytes, " bytes, but ", room, " are ", where,
                                                     ": read them from the disk instead, with preload none"));
  };
  // The process that reads them needs memory, too. Small files need no such care.
  const int64_t own = std::min(kProcessBytes, 4 * bytes);
  RETURN_IF_ERROR(
      check(std::max<int64_t>(0, AvailableMemory() - own), "available in memory beside the process itself"));
  if (!shm || bytes == 0) return absl::OkStatus();
  struct statvfs info;
  if (::statvfs(options.shm_root.c_str(), &info) != 0) return ErrnoStatus(errno, options.shm_root);
  return check(static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize),
               absl::StrCat("free in ", options.shm_root));
}

}  // namespace rutile
