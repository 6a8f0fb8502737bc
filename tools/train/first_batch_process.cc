#include "tools/train/first_batch_process.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/run/exec_sibling_binary.h"
#include "tools/common/run/exec_words.h"
#include "tools/common/run/same_build.h"
#include "tools/common/run/tool_flags.h"

namespace rutile {
namespace {

constexpr char kProgram[] = "train-libtorch";
constexpr char kVariable[] = "RUTILE_FIRST_BATCH";  // of the environment: what the process is for
constexpr char kSeparator = '\x1e';                 // comes before what the check has found: code, message

// Reading so much text and making features of it takes about as long as LibTorch takes to load.
constexpr int64_t kMuchText = int64_t{16} << 20;
// Tensor files are mapped in, but what is made of them takes memory in both processes.
constexpr int64_t kMuchData = int64_t{1} << 30;

std::string Value(const char* flag) {
  std::string value;
  return gflags::GetCommandLineOption(flag, &value) ? value : "";
}

// Whether a word of the command, or a part of it between commas, is standard input or names what cannot be read again:
// a pipe, or one that /dev or /proc have by name.
bool NamesPipe(absl::string_view word) {
  absl::ConsumePrefix(&word, "list:");
  if (word == "-" || absl::StartsWith(word, "/dev/") || absl::StartsWith(word, "/proc/")) return true;
  struct stat info = {};
  if (::stat(std::string(word).c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return true;
  for (const absl::string_view part : absl::StrSplit(word, ',')) {
    if (part.size() < word.size() && NamesPipe(part)) return true;
  }
  return false;
}

// Returns a file's share of what is little enough to be read twice: 1 for all of it. Infinity for no regular file.
double ShareOf(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::numeric_limits<double>::infinity();
  const bool is_small = info.st_size <= kMuchText;
  return static_cast<double>(info.st_size) / (is_small || !LooksLikeTensorFile(path) ? kMuchText : kMuchData);
}

// Makes a descriptor one that a closed standard stream does not have.
int AboveStandard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(fd);
  return above;
}

// The process that checks.
class Checker {
 public:
  // pipe: what it says, without blocking.
  Checker(pid_t process, int pipe) : process_(process), pipe_(pipe) {}

  // Returns what it has found, once it has ended; without `wait` OK before.
  absl::Status Found(bool wait) {
    if (!found_.has_value() && Read(wait)) found_ = Judge();
    return found_.value_or(absl::OkStatus());
  }

 private:
  // Reads what there is. Returns true at the end.
  bool Read(bool wait) {
    char block[4096];
    for (;;) {
      const ssize_t size = ::read(pipe_, block, sizeof(block));
      if (size > 0) said_.append(block, size);
      if (size > 0 || (size < 0 && errno == EINTR)) continue;
      if (size == 0 || errno != EAGAIN) break;
      if (!wait) return false;
      pollfd readable = {pipe_, POLLIN, 0};
      ::poll(&readable, 1, /*timeout=*/-1);
    }
    ::close(pipe_);
    return true;
  }

  absl::Status Judge() const {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    const std::vector<std::string> parts = absl::StrSplit(said_, absl::MaxSplits(kSeparator, 2));
    int number = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && parts.size() == 3 && absl::SimpleAtoi(parts[1], &number)) {
      const auto code = static_cast<absl::StatusCode>(number);
      // A disagreement with the reference is no limit that was not met.
      return absl::Status(code == absl::StatusCode::kFailedPrecondition ? absl::StatusCode::kInvalidArgument : code,
                          parts[2]);
    }
    const std::string end = WIFSIGNALED(status) ? absl::StrCat("by signal ", WTERMSIG(status))
                                                : absl::StrCat("with status ", WEXITSTATUS(status));
    std::string last;  // message: a timing table may follow
    for (const absl::string_view line : absl::StrSplit(said_, '\n')) {
      if (absl::StartsWith(line, "train: ")) last = absl::StrCat(", and said last: ", line);
    }
    return absl::InvalidArgumentError(absl::StrCat(kProgram, ", which checks the gradients of the first batch, ended ",
                                                   end, " before it had done so", last,
                                                   "; --check_gradient=false trains without a check"));
  }

  const pid_t process_;
  const int pipe_;
  std::string said_;
  std::optional<absl::Status> found_;
};

Checker*& Started() {
  static Checker* started = nullptr;
  return started;
}

}  // namespace

absl::StatusOr<bool> CanReadInputsTwice(const ToolRun& run) {
  if (Value("committee") != "1" || Value("compile_preset") == "max-autotune" || Value("preload") != "none") {
    return false;
  }
  for (const gflags::CommandLineFlagInfo& flag : ToolFlags()) {
    if (flag.type == "string" && NamesPipe(flag.current_value)) return false;
  }
  for (const std::string& argument : run.args) {
    if (NamesPipe(argument)) return false;
  }
  ASSIGN_OR_RETURN(std::vector<std::string> inputs, ExpandInputs(run.args));
  for (const char* flag : {"validation_data", "test_data"}) {
    if (Value(flag).empty()) continue;
    const absl::StatusOr<std::vector<std::string>> files = ExpandInputs(SplitInputs(Value(flag)));
    if (!files.ok()) {
      return absl::Status(files.status().code(), absl::StrCat("--", flag, ": ", files.status().message()));
    }
    inputs.insert(inputs.end(), files->begin(), files->end());
  }
  double share = 0;
  for (const std::string& input : inputs) share += ShareOf(input);
  return share <= 1;
}

absl::Status StartFirstBatchProcess(const ToolRun& run, absl::string_view why) {
  ASSIGN_OR_RETURN(const std::string path, SiblingBinary(run, kProgram, why));
  std::vector<std::string> words = run.command;
  words[0] = path;
  std::vector<std::string> variables = {absl::StrCat(kVariable, "=check"),
                                        absl::StrCat(kBuildVariable, "=", BuildIdentity())};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!absl::StartsWith(*variable, "RUTILE_PROFILE_DIR=")) variables.emplace_back(*variable);
  }
  const std::vector<char*> argv = ExecWords(&words), environment = ExecWords(&variables);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  for (int& fd : pipe) fd = AboveStandard(fd);
  const int nothing = AboveStandard(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (pipe[0] < 0 || pipe[1] < 0 || nothing < 0) return ErrnoStatus(errno, "cannot open /dev/null or a pipe");
  ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid(), process = ::fork();
  if (process < 0) return ErrnoStatus(errno, absl::StrCat("cannot start ", path));
  if (process == 0) {
    // It ends with its parent, whose affair signals are, and before it where memory is short, if the kernel can be
    // told.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    IgnoreSignals();
    const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    [[maybe_unused]] const bool is_told = score >= 0 && ::write(score, "1000", 4) == 4;
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(pipe[1], STDERR_FILENO);
    ::execve(path.c_str(), argv.data(), environment.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  ::close(nothing);
  Started() = new Checker(process, pipe[0]);
  return absl::OkStatus();
}

std::function<absl::Status(bool)> FirstBatchOfProcess() {
  if (Started() == nullptr) return nullptr;
  return [](bool wait) { return Started()->Found(wait); };
}

void IgnoreSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ::signal(signal, SIG_IGN);
}

bool OnlyChecksFirstBatch() { return std::getenv(kVariable) != nullptr; }

void EndWithFirstBatch(const absl::Status& found) {
  const std::string said = absl::StrCat(std::string(1, kSeparator), static_cast<int>(found.code()),
                                        std::string(1, kSeparator), found.message());
  absl::string_view rest = said;
  while (!rest.empty()) {
    const ssize_t size = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) ::_exit(1);
    rest.remove_prefix(size);
  }
  ::_exit(0);
}

}  // namespace rutile
