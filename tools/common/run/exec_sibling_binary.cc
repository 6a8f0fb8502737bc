#include "tools/common/run/exec_sibling_binary.h"

#include <gflags/gflags.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "tools/common/run/exec_words.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/same_build.h"
#include "tools/common/run/start_script.h"

namespace rutile {
namespace {

// "PID NANOSECONDS": the process that set it, which another one may have inherited it from, and when its program
// started.
constexpr char kStartVariable[] = "RUTILE_START";

absl::Time FindStart() {
  const char* const variable = std::getenv(kStartVariable);
  int64_t process = 0, nanoseconds = 0;
  const std::pair<absl::string_view, absl::string_view> words =
      absl::StrSplit(variable == nullptr ? "" : variable, absl::MaxSplits(' ', 1));
  const bool is_ours =
      absl::SimpleAtoi(words.first, &process) && process == ::getpid() && absl::SimpleAtoi(words.second, &nanoseconds);
  return is_ours ? absl::FromUnixNanos(nanoseconds) : absl::Now();
}

const absl::Time program_start = FindStart();

// Tells the other program where flags came from (given_flags.cc).
void PassFlagOrigins() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::string origins;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (FlagGiven(flag.name.c_str())) absl::StrAppend(&origins, flag.name, "\t", FlagOrigin(flag.name), "\n");
  }
  ::setenv(kFlagOriginsVariable, origins.c_str(), /*replace=*/1);
}

}  // namespace

absl::StatusOr<std::string> SiblingBinary(const ToolRun& run, const std::string& name, absl::string_view why) {
  char self[PATH_MAX];
  const std::string start = PathOfThisProgram();
  if (::realpath(start.c_str(), self) == nullptr) {
    // Without /proc, or after the file was replaced, the name that the program was started by tells.
    const auto name_at_start = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (name_at_start == nullptr || ::realpath(name_at_start, self) == nullptr) {
      return ErrnoStatus(errno, absl::StrCat(start, ": cannot find the directory of this program; is /proc mounted?"));
    }
  }
  const std::string own = self, path = own.substr(0, own.rfind('/') + 1) + name;
  if (::access(path.c_str(), F_OK) == 0) return path;
  return absl::NotFoundError(absl::StrCat(why, ", and the program that has it is not beside this one: ", path,
                                          " does not exist; install ", name, " in the same directory as ", run.name));
}

absl::Time ProgramStart() { return program_start; }

absl::Status ExecSiblingBinary(const ToolRun& run, const std::string& name, absl::string_view why) {
  ASSIGN_OR_RETURN(const std::string path, SiblingBinary(run, name, why));
  std::vector<std::string> words = run.command;
  const std::vector<char*> argv = ExecWords(&words);
  PassFlagOrigins();
  ::setenv(kStartVariable, absl::StrCat(::getpid(), " ", absl::ToUnixNanos(ProgramStart())).c_str(), /*replace=*/1);
  ::setenv(kBuildVariable, BuildIdentity().c_str(), /*replace=*/1);
  // The other program needs seconds to load LibTorch, in which a signal would end it without a word: signals wait until
  // it has handlers.
  const sigset_t signals = InterruptSignals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  absl::Status status = CheckInterrupt();  // exec would lose the signal
  if (status.ok()) {
    ::execv(path.c_str(), argv.data());
    status = ErrnoStatus(errno, absl::StrCat(why, ": ", path));
  }
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return status;
}

}  // namespace rutile
