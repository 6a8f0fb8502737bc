#include "lib/plot/gnuplot.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

constexpr size_t kLongestMessage = 2000;  // bytes of gnuplot's standard error in our message

// A file descriptor that is closed when it goes out of scope.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

// The two ends of a stream that the child writes and we read.
struct Channel {
  Fd ours;
  Fd theirs;
};

absl::StatusOr<Channel> MakeChannel() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return ErrnoStatus(errno, "cannot run gnuplot");
  return Channel{Fd(fds[0]), Fd(fds[1])};
}

// Returns the script as a file in memory, positioned at its beginning.
absl::StatusOr<Fd> MemoryFile(absl::string_view text) {
  Fd file(::memfd_create("gnuplot", MFD_CLOEXEC));
  if (!file.open()) return ErrnoStatus(errno, "cannot run gnuplot");
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "cannot run gnuplot");
    text.remove_prefix(n);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, "cannot run gnuplot");
  return file;
}

// Returns our environment without variables that would change numbers, letters or the terminal.
std::vector<std::string> ChildEnvironment() {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view variable(*entry);
    if (absl::StartsWith(variable, "LC_") || absl::StartsWith(variable, "LANG") ||
        absl::StartsWith(variable, "GNUTERM") || absl::StartsWith(variable, "GNUPLOT")) {
      continue;
    }
    result.emplace_back(variable);
  }
  result.emplace_back("LC_ALL=C.UTF-8");
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Starts the program with these standard streams, in a process group of its own: Ctrl-C on the terminal reaches only
// us, and we decide. gnuplot reads "-", its standard input, byte by byte, which for 2000 epochs was half of its time;
// under its other name it is read as a file.
absl::StatusOr<pid_t> Spawn(const std::string& program, const std::array<int, 3>& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  CHECK(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  // Duplicates to numbers above the standard streams first, so that none overwrites another that is still needed.
  std::array<Fd, 3> high;
  for (int i = 0; i < 3; ++i) {
    high[i] = Fd(::fcntl(streams[i], F_DUPFD_CLOEXEC, 3));
    if (!high[i].open()) return ErrnoStatus(errno, "cannot run gnuplot");
    posix_spawn_file_actions_adddup2(&actions, high[i].get(), i);
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> arguments = {program, "--default-settings", "/dev/stdin"};
  std::vector<std::string> environment = ChildEnvironment();
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, program.c_str(), &actions, &attributes, Pointers(arguments).data(),
                                   Pointers(environment).data());
  if (error == ENOENT) {
    return absl::NotFoundError(absl::StrCat(program, " is not installed: apt-get install gnuplot-nox"));
  }
  if (error != 0) return ErrnoStatus(error, absl::StrCat("cannot run ", program));
  return pid;
}

// Reads both outputs until they end. Returns false if the deadline came first.
absl::StatusOr<bool> ReadOutputs(std::array<Channel, 2>& channels, absl::Time deadline, std::string* output,
                                 std::string* messages) {
  while (channels[0].ours.open() || channels[1].ours.open()) {
    pollfd polled[2];
    for (int i = 0; i < 2; ++i) polled[i] = {channels[i].ours.get(), POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return false;
    const int ready = ::poll(polled, 2, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "cannot talk to gnuplot");
    if (ready <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (!channels[i].ours.open() || polled[i].revents == 0) continue;
      char buffer[1 << 16];
      const ssize_t n = ::recv(channels[i].ours.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
      if (n > 0) (i == 0 ? output : messages)->append(buffer, n);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) channels[i].ours.Close();
    }
  }
  return true;
}

// Returns the wait status, or -1 if the deadline came first.
int WaitUntil(pid_t pid, absl::Time deadline) {
  int status = 0;
  while (true) {
    const pid_t result = ::waitpid(pid, &status, WNOHANG);
    if (result == pid) return status;
    if (result < 0 && errno != EINTR) return 0;  // SIGCHLD is ignored in this process: the status is lost
    if (absl::Now() > deadline) return -1;
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace

absl::StatusOr<std::string> RunGnuplot(absl::string_view script, const GnuplotOptions& options) {
  const absl::Time deadline = absl::Now() + options.timeout;
  std::array<Channel, 2> channels;
  for (Channel& channel : channels) {
    ASSIGN_OR_RETURN(channel, MakeChannel());
  }
  ASSIGN_OR_RETURN(Fd input, MemoryFile(script));
  ASSIGN_OR_RETURN(const pid_t pid,
                   Spawn(options.program, {input.get(), channels[0].theirs.get(), channels[1].theirs.get()}));
  input.Close();
  for (Channel& channel : channels) channel.theirs.Close();

  std::string output, messages;
  const absl::StatusOr<bool> talked = ReadOutputs(channels, deadline, &output, &messages);
  const int status = talked.ok() && *talked ? WaitUntil(pid, deadline) : -1;
  if (status == -1) {
    ::kill(-pid, SIGKILL);  // kills the group: the program may have started others
    WaitUntil(pid, absl::InfiniteFuture());
    RETURN_IF_ERROR(talked.status());
    return absl::DeadlineExceededError(
        absl::StrCat(options.program, " did not finish within ", absl::FormatDuration(options.timeout)));
  }
  std::string what;
  if (WIFSIGNALED(status)) {
    what = absl::StrCat(" was killed by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)), ")");
  } else if (WEXITSTATUS(status) != 0) {
    what = absl::StrCat(" failed with exit status ", WEXITSTATUS(status));
  } else if (output.empty()) {
    what = " drew nothing";
  }
  if (what.empty()) return output;
  const absl::string_view said = absl::StripAsciiWhitespace(messages);
  return absl::InternalError(
      absl::StrCat(options.program, what, said.empty() ? "" : ": ", said.substr(0, kLongestMessage)));
}

}  // namespace rutile
