#include "tools/train/first_batch_process.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
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

std::string Value(const char* flag) {
  std::string value;
  return gflags::GetCommandLineOption(flag, &value) ? value : "";
}

// Pipes cannot be read again, and /dev and /proc have them by names.
bool NamesPipe(absl::string_view path) {
  return path == "-" || path == "list:-" || absl::StartsWith(path, "/dev/") || absl::StartsWith(path, "/proc/");
}

// Returns the size of a regular file as far as it is text; nullopt for what is no regular file. Tensor files are mapped
// in, whatever their size.
std::optional<int64_t> TextSize(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_size > kMuchText && LooksLikeTensorFile(path)) return 0;
  return info.st_size;
}

// The process that checks.
class Checker {
 public:
  Checker(pid_t process, int pipe) : process_(process), pipe_(pipe) {}

  const absl::Status& Found() {
    if (!found_.has_value()) found_ = Wait();
    return *found_;
  }

 private:
  absl::Status Wait() const {
    std::string said;
    char block[4096];
    for (;;) {
      const ssize_t size = ::read(pipe_, block, sizeof(block));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      said.append(block, size);
    }
    ::close(pipe_);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    const std::vector<std::string> parts = absl::StrSplit(said, absl::MaxSplits(kSeparator, 2));
    int code = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && parts.size() == 3 && absl::SimpleAtoi(parts[1], &code)) {
      return absl::Status(static_cast<absl::StatusCode>(code), parts[2]);
    }
    const std::string end = WIFSIGNALED(status) ? absl::StrCat("by signal ", WTERMSIG(status))
                                                : absl::StrCat("with status ", WEXITSTATUS(status));
    absl::string_view last = absl::StripSuffix(said, "\n");
    last.remove_prefix(last.rfind('\n') + 1);
    return absl::InvalidArgumentError(absl::StrCat(kProgram, ", which checks the gradients of the first batch, ended ",
                                                   end, " before it had done so",
                                                   last.empty() ? "" : absl::StrCat(", and said last: ", last),
                                                   "; --check_gradient=false trains without a check"));
  }

  const pid_t process_;
  const int pipe_;
  std::optional<absl::Status> found_;
};

Checker*& Started() {
  static Checker* started = nullptr;
  return started;
}

}  // namespace

absl::StatusOr<bool> CanReadInputsTwice(const ToolRun& run) {
  if (Value("committee") != "1" || Value("compile_preset") == "max-autotune" || Value("preload") != "none")
    return false;
  std::vector<std::string> arguments = run.args;
  for (const gflags::CommandLineFlagInfo& flag : ToolFlags()) {
    if (flag.type == "string" && NamesPipe(flag.current_value)) return false;
  }
  for (const char* flag : {"validation_data", "test_data"}) {
    for (const std::string& input : SplitInputs(Value(flag))) arguments.push_back(input);
  }
  for (const std::string& argument : arguments) {
    if (NamesPipe(argument)) return false;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(arguments));
  int64_t text = 0;
  for (const std::string& input : inputs) {
    const std::optional<int64_t> size = TextSize(input);
    if (!size.has_value()) return false;
    text += *size;
  }
  return text <= kMuchText;
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
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const pid_t parent = ::getpid(), process = ::fork();
  if (process < 0) return ErrnoStatus(errno, absl::StrCat("cannot start ", path));
  if (process == 0) {
    // It ends with its parent, and Ctrl-C, which is the group's, is the parent's affair.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(pipe[1], STDERR_FILENO);
    ::execve(path.c_str(), argv.data(), environment.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  if (nothing >= 0) ::close(nothing);
  Started() = new Checker(process, pipe[0]);
  return absl::OkStatus();
}

std::function<absl::Status()> FirstBatchOfProcess() {
  if (Started() == nullptr) return nullptr;
  return [] { return Started()->Found(); };
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
