#include "tools/common/run/local_processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/trace/scope.h"
#include "tools/common/run/exec_words.h"
#include "tools/common/run/run_tool.h"
#include "tools/common/run/start_script.h"

extern char** environ;

namespace rutile {
namespace {

// Value "PID DESCRIPTOR": the process that started this one, and the pipe on which it waits for ReportJoined. It is
// valid only if PID is the parent's, because variables are inherited by further processes.
constexpr char kJoinedVariable[] = "RUTILE_JOINED";

absl::Status SystemError(const char* what) {
  return absl::ResourceExhaustedError(absl::StrCat("starting processes: ", what, ": ", std::strerror(errno)));
}

// Returns a port on which no process listens now.
absl::StatusOr<int> FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return SystemError("socket");
  const auto close = absl::MakeCleanup([socket] { ::close(socket); });
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), length) != 0) return SystemError("bind");
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return SystemError("getsockname");
  return ntohs(address.sin_port);
}

// The pipe on which each process sends a byte when it has joined.
class Reports {
 public:
  ~Reports() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  absl::Status Open() { return ::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0 ? absl::OkStatus() : SystemError("pipe"); }
  int writing_end() const { return ends_[1]; }
  int Count() {
    char bytes[256];
    for (ssize_t read; (read = ::read(ends_[0], bytes, sizeof(bytes))) > 0;) count_ += static_cast<int>(read);
    return count_;
  }

 private:
  int ends_[2] = {-1, -1};
  int count_ = 0;
};

// Returns the environment with our variables first: getenv finds the first of a name.
std::vector<std::string> Environment(int rank, int size, int port, int reports, int store) {
  std::vector<std::string> variables = {absl::StrCat("RANK=", rank),
                                        absl::StrCat("LOCAL_RANK=", rank),
                                        absl::StrCat("WORLD_SIZE=", size),
                                        absl::StrCat("LOCAL_WORLD_SIZE=", size),
                                        "MASTER_ADDR=127.0.0.1",
                                        absl::StrCat("MASTER_PORT=", port),
                                        absl::StrCat("RUTILE_STORE=/proc/self/fd/", store),
                                        absl::StrCat(kJoinedVariable, "=", ::getpid(), " ", reports)};
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {  // threads of LibTorch and BLAS
    variables.push_back(absl::StrCat("OMP_NUM_THREADS=", std::max(1, AvailableProcessors() / size)));
  }
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

// Allocates nothing between fork and exec, because this process may have threads.
absl::StatusOr<pid_t> Start(std::vector<std::string> command, std::vector<std::string> environment, int reports,
                            int store) {
  const std::vector<char*> argv = ExecWords(&command), envp = ExecWords(&environment);
  const std::string program = PathOfThisProgram();
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) return SystemError("fork");
  if (process > 0) return process;
  ::setpgid(0, 0);               // Ctrl-C reaches the parent alone, which forwards it once
  ::fcntl(reports, F_SETFD, 0);  // keep both open across exec
  ::fcntl(store, F_SETFD, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::execve(program.c_str(), argv.data(), envp.data());
  ::_exit(127);
}

int ExitStatusOf(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

class Processes {
 public:
  ~Processes() { Signal(SIGKILL); }

  void Add(pid_t process) { running_.push_back(process); }
  bool running() const {
    return std::any_of(running_.begin(), running_.end(), [](pid_t process) { return process != 0; });
  }
  void Signal(int signal_number) {
    for (const pid_t process : running_) {
      if (process != 0) ::kill(process, signal_number);
    }
  }
  // Reaps processes that have ended. Returns the status of the first that failed, or 0.
  int Collect() {
    for (size_t rank = 0; rank < running_.size(); ++rank) {
      int status = 0;
      if (running_[rank] == 0 || ::waitpid(running_[rank], &status, WNOHANG) <= 0) continue;
      if (WIFSIGNALED(status) && first_failure_ == 0) {
        PrintMessage(absl::StrCat("rank ", rank, " (process ", running_[rank], ") was ended by signal ",
                                  WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")"));
      }
      running_[rank] = 0;
      if (first_failure_ != 0) continue;
      first_failure_ = ExitStatusOf(status);
      failed_rank_ = static_cast<int>(rank);
    }
    return first_failure_;
  }
  int failed_rank() const { return failed_rank_; }

 private:
  std::vector<pid_t> running_;  // by rank; 0: ended
  int first_failure_ = 0;
  int failed_rank_ = -1;
};

}  // namespace

absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& command, const LocalProcessesOptions& options) {
  const int size = options.size;
  ASSIGN_OR_RETURN(const int port, FreePort());
  Reports reports;
  RETURN_IF_ERROR(reports.Open());
  // The file in which the processes find each other. It has no name, needs no disk, and nobody else can open it.
  const int store = ::memfd_create("rutile-store", MFD_CLOEXEC);
  if (store < 0) return SystemError("memfd_create");
  const auto close_store = absl::MakeCleanup([store] { ::close(store); });
  Processes processes;
  for (int rank = 0; rank < size; ++rank) {
    ASSIGN_OR_RETURN(const pid_t process, Start(command, Environment(rank, size, port, reports.writing_end(), store),
                                                reports.writing_end(), store));
    processes.Add(process);
  }
  bool handed_on = false, joining = false;
  absl::Time kill_at = absl::InfiniteFuture();
  int status = 0;
  const ProfileScope scope(Stage::kWaitForProcesses);
  while (processes.running()) {
    absl::SleepFor(absl::Milliseconds(10));
    if (InterruptSignal() != 0 && !std::exchange(handed_on, true)) processes.Signal(InterruptSignal());
    const bool failed_before = status != 0;
    status = processes.Collect();
    if (status != 0 && !failed_before) {
      // Connected processes notice a failure by themselves and may be writing. Others wait for a process that will not
      // come.
      joining = options.joining_grace < options.grace && reports.Count() < size;
      kill_at = absl::Now() + (joining ? options.joining_grace : options.grace);
      if (options.failure_signal != 0 && !handed_on) processes.Signal(options.failure_signal);
    }
    if (absl::Now() < kill_at || !processes.running()) continue;
    if (std::exchange(joining, false)) {
      PrintMessage(
          absl::StrCat("rank ", processes.failed_rank(),
                       " has ended before all processes had joined: the others, which wait for it, are ended"));
    }
    processes.Signal(SIGKILL);
  }
  return status;
}

void ReportJoined() {
  const char* const variable = std::getenv(kJoinedVariable);
  if (variable == nullptr) return;
  const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(variable, absl::MaxSplits(' ', 1));
  int parent = 0, descriptor = 0;
  if (!absl::SimpleAtoi(words.first, &parent) || !absl::SimpleAtoi(words.second, &descriptor)) return;
  if (parent != ::getppid() || descriptor <= STDERR_FILENO) return;
  // If this fails, a failure of another process is noticed later, which is no reason to end the run.
  if (::write(descriptor, "j", 1) == 1) ::close(descriptor);
}

}  // namespace rutile
