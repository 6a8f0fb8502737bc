#include "lib/file/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "lib/base/status_macros.h"
#include "lib/file/commit_together.h"
#include "lib/file/directory.h"
#include "lib/file/mapped_files.h"
#include "lib/file/wait_for_input.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr size_t kPiece = size_t{1} << 26;  // bytes of one write call; copy buffers start from this size

absl::StatusOr<std::string> ReadToEnd(int fd, absl::string_view path) {
  std::string bytes;
  size_t used = 0;
  while (true) {
    if (bytes.size() - used < (1 << 16)) bytes.resize(std::max<size_t>(1 << 20, 2 * bytes.size()));
    RETURN_IF_ERROR(WaitForInput(fd));
    const ssize_t n = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, path);
    }
    used += n;
  }
  bytes.resize(used);
  return bytes;
}

// What is between a file's name and the numbers of its temporary file, of the process and of the file in it.
constexpr char kTemporary[] = ".tmp.";

// True for what follows kTemporary: "123.0".
bool AreTwoNumbers(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> numbers = absl::StrSplit(text, absl::MaxSplits('.', 1));
  const auto is_number = [](absl::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == absl::string_view::npos;
  };
  return is_number(numbers.first) && is_number(numbers.second);
}

// Removes temporary files that processes of this user which were killed have left of `name`: those that nobody has
// written for an hour, and whose writer holds no lock. (Where a file system keeps locks of each machine for itself, the
// age alone tells.) Each name is looked for once in a process, because a folder may be large.
void RemoveAbandoned(const std::string& name) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const seen = new std::set<std::string>();
  {
    const absl::MutexLock lock(&mutex);
    if (!seen->insert(name).second) return;
  }
  constexpr time_t kAge = 3600;
  const std::string directory = DirectoryOf(name);
  const std::string prefix = name.substr(name.find_last_of('/') + 1) + kTemporary;
  DIR* const folder = ::opendir(directory.c_str());
  if (folder == nullptr) return;
  const auto close_folder = absl::MakeCleanup([folder] { ::closedir(folder); });
  while (const dirent* const entry = ::readdir(folder)) {
    absl::string_view file = entry->d_name;
    if (!absl::ConsumePrefix(&file, prefix) || !AreTwoNumbers(file)) continue;
    const int fd = ::openat(::dirfd(folder), entry->d_name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat info;
    const bool is_old = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
                        info.st_mtime + kAge < ::time(nullptr);
    if (is_old && ::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlinkat(::dirfd(folder), entry->d_name, 0);
    ::close(fd);
  }
}

// The bytes that UnreadStandardInput gave back, if any.
struct Unread {
  absl::Mutex mutex;
  std::optional<FileContents> contents ABSL_GUARDED_BY(mutex);
};

Unread& UnreadInput() {
  static auto* unread = new Unread();
  return *unread;
}

}  // namespace

void UnreadStandardInput(FileContents contents) {
  Unread& unread = UnreadInput();
  const absl::MutexLock lock(&unread.mutex);
  unread.contents = std::move(contents);
}

absl::Status ErrnoStatus(int error_number, absl::string_view what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error_number));
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::StatusOr<FileContents> FileContents::Open(absl::string_view path) {
  FileContents contents;
  contents.path_ = std::string(path);
  const bool is_stdin = path == "-";
  if (is_stdin) {
    contents.path_ = "standard input";
    Unread& unread = UnreadInput();
    const absl::MutexLock lock(&unread.mutex);
    if (unread.contents.has_value()) return *std::exchange(unread.contents, std::nullopt);
  }
  const int fd = is_stdin ? ::dup(STDIN_FILENO) : ::open(contents.path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, contents.path_);
  const absl::Cleanup close_fd = [fd] { ::close(fd); };
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, contents.path_);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(contents.path_, ": is a directory, expected a file"));
  }
  if (S_ISREG(info.st_mode) && info.st_size > 0 && !is_stdin) {
    const size_t size = info.st_size;
    void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) return ErrnoStatus(errno, contents.path_);
    RememberMapping(address, size, contents.path_);
    contents.owner_ = std::shared_ptr<const void>(address, [size](const void* p) {
      ForgetMapping(p);
      ::munmap(const_cast<void*>(p), size);
    });
    contents.data_ = absl::string_view(static_cast<const char*>(address), size);
    return contents;
  }
  ASSIGN_OR_RETURN(std::string bytes, ReadToEnd(fd, contents.path_));
  auto owned = std::make_shared<const std::string>(std::move(bytes));
  contents.data_ = *owned;
  contents.owner_ = std::move(owned);
  return contents;
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), fd_(std::exchange(other.fd_, -1)) {
  other.temporary_.clear();
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

absl::StatusOr<AtomicFile> AtomicFile::Create(absl::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("the output has no name");
  const std::string name(path);
  if (path == "-") {
    const int fd = ::dup(STDOUT_FILENO);
    if (fd < 0) return ErrnoStatus(errno, "standard output");
    return AtomicFile("standard output", "", fd);
  }
  struct stat info;
  if (::stat(name.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": is a directory, expected the name of a file to write"));
    }
    const int fd = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, name);
    return AtomicFile(name, "", fd);
  }
  RemoveAbandoned(name);
  // The name is unique among the threads of this process and, with the process number, among processes.
  static std::atomic<int> counter{0};
  std::string temporary;
  int fd = -1;
  do {  // in a container a killed process had the same number
    temporary = absl::StrCat(name, kTemporary, ::getpid(), ".", counter.fetch_add(1));
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("cannot write ", name));
  ::flock(fd, LOCK_EX | LOCK_NB);  // tells others that this file is being written
  return AtomicFile(name, std::move(temporary), fd);
}

absl::Status AtomicFile::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min(bytes.size(), kPiece));
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, absl::StrCat("cannot write ", path_));
    }
    bytes.remove_prefix(n);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::AppendFile(int fd, int64_t size, bool drain) {
  // Pieces are small, because the system reuses recently used memory more cheaply than fresh memory.
  const int64_t piece = drain ? int64_t{1} << 20 : int64_t{1} << 26;
  const auto drain_up_to = [&](off_t* begin, off_t end) {  // fails on some file systems, which is harmless
    if (drain) ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, *begin, end - *begin);
    *begin = end;
  };
  off_t offset = 0, drained = 0;
  while (offset < size) {
    const ssize_t n = ::copy_file_range(fd, &offset, fd_, nullptr, std::min<int64_t>(size - offset, piece), 0);
    if (n <= 0) break;  // the kernel cannot copy across file systems or into a pipe; the loop below can
    drain_up_to(&drained, offset);
  }
  std::string buffer;
  while (offset < size) {
    buffer.resize(std::min<int64_t>(size - offset, 1 << 20));
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(n == 0 ? EIO : errno, absl::StrCat("cannot read back what was spooled for ", path_));
    RETURN_IF_ERROR(Append(absl::string_view(buffer.data(), n)));
    offset += n;
    drain_up_to(&drained, offset);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  const ProfileScope scope(Stage::kWrite);  // waiting for the disk
  // A pipe or a terminal cannot be flushed to a device (EINVAL); a regular file must be flushed before it is renamed.
  if (!temporary_.empty() && ::fsync(fd_) != 0) return ErrnoStatus(errno, absl::StrCat("cannot write ", path_));
  // A second descriptor holds the lock until the file has its name.
  int lock = temporary_.empty() ? -1 : ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  const auto unlock = absl::MakeCleanup([&lock] {
    if (lock >= 0) ::close(lock);
  });
  if (::close(std::exchange(fd_, -1)) != 0) return ErrnoStatus(errno, absl::StrCat("cannot write ", path_));
  if (temporary_.empty()) return absl::OkStatus();
  if (CommitTogether* const together = CommitTogether::OfThisThread(); together != nullptr) {
    together->Take(path_, std::exchange(temporary_, ""), std::exchange(lock, -1));
    return absl::OkStatus();
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("cannot write ", path_));
  temporary_.clear();
  FlushDirectory(DirectoryOf(path_));
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(absl::string_view path, absl::string_view bytes) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

absl::Status ReplaceFile(absl::string_view next, absl::string_view path, absl::string_view former) {
  const std::string from(next), to(path), old(former);
  const auto error = [&] { return ErrnoStatus(errno, absl::StrCat("cannot replace ", path)); };
  if (FileExists(path)) {
    // Gives the old file a second name first, so that the name `path` is never without a file.
    const std::string link = absl::StrCat(former, ".link");
    ::unlink(link.c_str());
    if (::link(to.c_str(), link.c_str()) == 0) {
      if (::rename(link.c_str(), old.c_str()) != 0) return error();
      ::unlink(link.c_str());  // rename(2) does nothing if both names are of one file
    } else if (::rename(to.c_str(), old.c_str()) != 0) {
      return error();
    }
  }
  if (::rename(from.c_str(), to.c_str()) != 0) return error();
  FlushDirectory(DirectoryOf(old));
  FlushDirectory(DirectoryOf(to));
  return absl::OkStatus();
}

absl::Status CheckWritableDirectory(absl::string_view path) {
  std::string directory(path);
  struct stat info = {};
  while (::stat(directory.c_str(), &info) != 0) {
    if (errno != ENOENT) return ErrnoStatus(errno, directory);
    const std::string parent = DirectoryOf(directory);
    if (parent == directory) break;
    directory = parent;
  }
  if (!S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(directory, ": is a file, expected a directory"));
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot write in the directory ", directory));
  }
  return absl::OkStatus();
}

absl::Status MakeDirectories(absl::string_view path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part(path.substr(0, end));
    if (!part.empty() && ::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, absl::StrCat("cannot make the directory ", part));
    }
    if (end == absl::string_view::npos) break;
  }
  struct stat info;
  if (::stat(std::string(path).c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a file, expected a directory"));
  }
  return absl::OkStatus();
}

bool FileExists(absl::string_view path) {
  struct stat info;
  return ::stat(std::string(path).c_str(), &info) == 0;
}

}  // namespace rutile
