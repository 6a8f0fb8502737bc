#include "tools/profile/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/base/interrupt.h"
#include "lib/file/file.h"
#include "tools/common/run/exec_words.h"

extern char** environ;

namespace rutile {
namespace {

std::vector<std::string> Environment(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : more) variables.push_back(absl::StrCat(name, "=", value));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    bool replaced = false;
    for (const auto& [name, value] : more) replaced |= absl::StartsWith(*variable, absl::StrCat(name, "="));
    if (!replaced) variables.emplace_back(*variable);
  }
  return variables;
}

// Opens files before the fork, so that an error can be reported.
struct Files {
  int output = -1, messages = -1;
  ~Files() {
    if (output >= 0) ::close(output);
    if (messages >= 0) ::close(messages);
  }
};

absl::Status Open(const std::string& path, int* fd) {
  if (path.empty()) return absl::OkStatus();
  *fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return *fd >= 0 ? absl::OkStatus() : ErrnoStatus(errno, path);
}

// Starts the command. Nothing is allocated between fork and exec.
absl::StatusOr<pid_t> Start(std::vector<std::string> command, const ChildOptions& options, const Files& files) {
  std::vector<std::string> environment = Environment(options.environment);
  const std::vector<char*> argv = ExecWords(&command);
  std::vector<char*> envp = ExecWords(&environment);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot start a process");
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::close(failure[0]);
    ::close(failure[1]);
    return ErrnoStatus(error, "cannot start a process");
  }
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would end it, or know of it, if kill -9 ended us
    if (::getppid() != parent) ::_exit(127);
    std::signal(SIGXFSZ, SIG_DFL);
    if (files.messages >= 0) ::dup2(files.messages, STDERR_FILENO);
    if (files.output >= 0) ::dup2(files.output, STDOUT_FILENO);
    if (options.output_to_messages) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    environ = envp.data();
    ::execvp(argv[0], argv.data());
    const int error = errno;
    if (::write(failure[1], &error, sizeof error) < 0) ::_exit(126);
    ::_exit(127);
  }
  ::setpgid(pid, pid);  // parent and child both set it, whoever comes first
  ::close(failure[1]);
  int error = 0;
  ssize_t got;
  while ((got = ::read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(failure[0]);
  if (got != sizeof error) return pid;
  ::waitpid(pid, nullptr, 0);
  if (error == ENOENT)
    return absl::NotFoundError(absl::StrCat(command[0], ": no such command, neither as a path nor in PATH"));
  return ErrnoStatus(error, command[0]);
}

int64_t ResidentBytes(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return file ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Collects processes that have ended; returns true while others run. Sets *ended if the command's own process has
// ended.
bool Collect(pid_t pid, bool* ended, ChildResult* result) {
  for (;;) {
    int status = 0;
    rusage usage = {};
    const pid_t process = ::wait4(-1, &status, WNOHANG, &usage);
    if (process == 0) return true;
    if (process < 0) return errno == EINTR;
    result->cpu_s += Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
    result->peak_rss_bytes = std::max<int64_t>(result->peak_rss_bytes, 1024 * static_cast<int64_t>(usage.ru_maxrss));
    if (process != pid) continue;
    *ended = true;
    result->end_unix_ns = absl::ToUnixNanos(absl::Now());
    result->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

}  // namespace

absl::StatusOr<ChildResult> RunChild(const std::vector<std::string>& command, const ChildOptions& options) {
  constexpr absl::Duration kOrphans = absl::Seconds(2);
  Files files;
  for (const auto& [path, fd] : {std::pair{&options.output, &files.output}, {&options.messages, &files.messages}}) {
    const absl::Status status = Open(*path, fd);
    if (!status.ok()) return status;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // processes that the command leaves behind become our children
  const absl::Time start = absl::Now();
  const absl::StatusOr<pid_t> pid = Start(command, options, files);
  if (!pid.ok()) return pid.status();

  ChildResult result;
  result.pid = *pid;
  result.start_unix_ns = absl::ToUnixNanos(start);
  bool ended = false, signaled = false;
  absl::Time kill_at = absl::InfiniteFuture(), leave_at = absl::InfiniteFuture(), ask_at = start;
  while (Collect(*pid, &ended, &result)) {
    const absl::Time now = absl::Now();
    if (ended && leave_at == absl::InfiniteFuture()) leave_at = now + (signaled ? options.grace : kOrphans);
    if (now >= leave_at) break;
    if (!signaled && InterruptSignal() != 0) {
      signaled = true;
      ::kill(-*pid, InterruptSignal());
      kill_at = now + options.grace;
    }
    if (!signaled && now - start >= options.max_time) {
      signaled = result.cut = true;
      ::kill(-*pid, SIGTERM);
      kill_at = now + options.grace;
    }
    if (!ended && options.memory_limit > 0) {
      if (const int64_t resident = ResidentBytes(*pid); resident > options.memory_limit) {
        // The kernel's peak may lag a few hundred kB behind the value just read.
        result.peak_rss_bytes = std::max(result.peak_rss_bytes, resident);
        result.over_memory = true;
        ::kill(-*pid, SIGKILL);
      }
    }
    if (!ended && options.done && now >= ask_at) {
      ask_at = now + absl::Milliseconds(100);
      if (options.done()) {
        result.done = true;
        ::kill(-*pid, SIGKILL);
      }
    }
    if (now >= kill_at) ::kill(-*pid, SIGKILL);
    // Waits are short at first, so that a command of milliseconds is not prolonged, and its end is seen to 1 % of its
    // time.
    absl::SleepFor(std::clamp((now - start) / 200, absl::Microseconds(500), absl::Milliseconds(5)));
  }
  result.wall_s = absl::ToDoubleSeconds(absl::Now() - start);
  return result;
}

}  // namespace rutile
