#include "tools/tracin/judge/training_queue.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "tools/common/run/exec_words.h"

namespace rutile {
namespace {

// Allocates nothing between fork and exec, because this process may have threads.
absl::StatusOr<pid_t> Start(const TrainingCommand& training) {
  std::vector<std::string> words = training.command;
  const std::vector<char*> argv = ExecWords(&words);
  const int log = ::open(training.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (log < 0) return ErrnoStatus(errno, training.log);
  const pid_t parent = ::getpid(), process = ::fork();
  if (process < 0) {
    const int error = errno;
    ::close(log);
    return ErrnoStatus(error, "starting a training");
  }
  if (process == 0) {
    ::setpgid(0, 0);  // Ctrl-C reaches this program alone, which passes it on
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(log);
  return process;
}

// The program without its directory.
std::string NameOf(const TrainingCommand& training) {
  const std::string& path = training.command[0];
  return path.substr(path.rfind('/') + 1);
}

std::string LastLine(const std::string& path) {
  const absl::StatusOr<FileContents> contents = FileContents::Open(path);
  if (!contents.ok()) return "";
  std::string last;
  for (const absl::string_view line : absl::StrSplit(contents->data(), '\n', absl::SkipEmpty())) {
    last = std::string(line);
  }
  return last;
}

}  // namespace

absl::Status RunTrainings(const std::vector<TrainingCommand>& commands, int at_once,
                          const std::function<void()>& done) {
  std::map<pid_t, const TrainingCommand*> running;
  absl::Status failure;
  bool told = false;
  size_t next = 0;
  while (next < commands.size() || !running.empty()) {
    if (failure.ok() && InterruptSignal() != 0) failure = CheckInterrupt();
    if (!failure.ok()) {
      next = commands.size();
      if (!std::exchange(told, true)) {
        for (const auto& [process, training] : running) {
          ::kill(process, InterruptSignal() != 0 ? InterruptSignal() : SIGTERM);
        }
      }
    }
    while (next < commands.size() && static_cast<int>(running.size()) < at_once) {
      absl::StatusOr<pid_t> process = Start(commands[next]);
      if (!process.ok()) {
        failure = process.status();
        break;
      }
      running[*process] = &commands[next++];
    }
    int status = 0;
    bool has_ended = false;
    for (auto entry = running.begin(); entry != running.end();) {
      if (::waitpid(entry->first, &status, WNOHANG) <= 0) {
        ++entry;
        continue;
      }
      has_ended = true;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        done();
      } else if (failure.ok() && InterruptSignal() == 0) {
        failure = absl::InvalidArgumentError(absl::StrCat(
            entry->second->log, ": ", NameOf(*entry->second), " failed, ",
            WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status)) : LastLine(entry->second->log)));
      }
      entry = running.erase(entry);
    }
    if (!has_ended && !running.empty()) absl::SleepFor(absl::Milliseconds(5));
  }
  return failure;
}

absl::StatusOr<std::string> SiblingProgram(const std::string& name) {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof(self));
  if (size < 0) return ErrnoStatus(errno, "/proc/self/exe: cannot find the directory of this program");
  const std::string own(self, size), directory = own.substr(0, own.rfind('/'));
  const std::string beside = absl::StrCat(directory, "/", name);
  const std::string built = absl::StrCat(directory.substr(0, directory.rfind('/') + 1), name, "/", name);
  for (const std::string& path : {beside, built}) {
    if (::access(path.c_str(), X_OK) == 0 && FileExists(path)) return path;
  }
  return absl::NotFoundError(absl::StrCat("trainings need the program ", name, ", which is not beside this one: ",
                                          beside, " does not exist; install it in the same directory"));
}

}  // namespace rutile
