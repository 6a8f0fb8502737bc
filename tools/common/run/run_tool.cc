#include "tools/common/run/run_tool.h"

#include <gflags/gflags.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/printable_text.h"
#include "lib/base/status_macros.h"
#include "lib/base/version.h"
#include "lib/file/mapped_files.h"
#include "lib/tensorfile/provenance.h"
#include "lib/trace/scope.h"
#include "tools/common/run/check_arguments.h"
#include "tools/common/run/check_outputs.h"
#include "tools/common/run/exec_words.h"
#include "tools/common/run/flag_file.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/help.h"
#include "tools/common/run/profile_run.h"
#include "tools/common/run/same_build.h"
#include "tools/common/run/start_script.h"
#include "tools/common/run/tool_flags.h"

namespace rutile {
namespace {

const char* tool_name = "rutile";
int message_rank = 0;
bool quiet = false;     // true: print nothing but errors
bool silenced = false;  // true: print nothing but errors and the last message

// Returns the names of the tool's flags and of those of gflags that every tool has.
std::vector<std::string> FlagNames() {
  std::vector<std::string> names = {"flagfile", "help", "version"};
  for (const auto& flag : ToolFlags()) names.push_back(flag.name);
  return names;
}

// Returns the tool's text flags with their values.
std::vector<std::pair<std::string, std::string>> TextFlags() {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const auto& flag : ToolFlags()) {
    if (flag.type == "string" && !flag.is_default) flags.emplace_back(flag.name, flag.current_value);
  }
  return flags;
}

// Takes the topic off the first argument for help, "all" of "--help=all", and returns it; "" if there is none. Flags
// end at "--".
std::string TakeHelpTopic(std::vector<std::string>* arguments) {
  for (std::string& argument : *arguments) {
    if (argument == "--") break;
    absl::string_view topic = argument;
    if (!absl::ConsumePrefix(&topic, "--help=") && !absl::ConsumePrefix(&topic, "-help=")) continue;
    const std::string taken(topic);
    argument = "--help";
    return taken;
  }
  return "";
}

absl::Status PrintHelp(const ToolInfo& info, absl::string_view topic) {
  ASSIGN_OR_RETURN(const std::string flags, HelpText(info.name, HelpFlags(), info.essential, topic));
  std::cout << info.name << " - " << info.summary << "\n\nUsage: " << info.synopsis << "\n" << flags;
  return absl::OkStatus();
}

bool FlagIsSet(const char* name) {
  std::string value;
  return gflags::GetCommandLineOption(name, &value) && value == "true";
}

int ExitStatus(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsCancelled(status) && InterruptSignal() != 0) return 128 + InterruptSignal();
  if (absl::IsFailedPrecondition(status)) return 2;
  if (absl::IsInternal(status)) return 3;
  return 1;
}

// Returns the message for the first of `arguments` that is one of these flags, or "".
std::string FindForeign(absl::Span<const Argument> arguments, absl::Span<const ForeignFlag> foreign) {
  for (const Argument& argument : arguments) {
    absl::string_view name = argument.text;
    if (name == "--") return "";
    if (!absl::ConsumePrefix(&name, "-")) continue;
    absl::ConsumePrefix(&name, "-");
    const std::string plain = absl::StrReplaceAll(name.substr(0, name.find('=')), {{"-", "_"}});
    for (const ForeignFlag& flag : foreign) {
      if (plain != flag.name) continue;
      const bool is_flag = absl::StartsWith(flag.why, "--");
      return absl::StrCat("--", name.substr(0, name.find('=')), is_flag ? ": no such flag; use " : ": ", flag.why);
    }
  }
  return "";
}

// Returns what to say of an unknown flag to a user of a tool that runs a command and has seen no "--" before it.
std::string CommandHint(const ToolInfo& info, absl::Span<const Argument> arguments) {
  if (!absl::StrContains(info.synopsis, " -- ")) return "";
  for (const Argument& argument : arguments) {
    if (argument.text == "--") return "";
  }
  return absl::StrCat("; a command comes after --, with flags of its own: ", info.name, " -- train ...");
}

absl::Status FlushResults() {
  std::cout << std::flush;
  return std::cout ? absl::OkStatus() : absl::ResourceExhaustedError("cannot write to standard output");
}

absl::Status RunGuarded(const ToolRun& run, absl::Status (*body)(const ToolRun& run)) {
  try {
    absl::Status status = body(run);
    status.Update(FlushResults());
    return status;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::resource_unavailable_try_again) {
      return absl::InternalError(absl::StrCat("internal error: ", e.what()));
    }
    return absl::ResourceExhaustedError(
        "cannot start a thread: allow more memory or processes (ulimit -v, ulimit -u), or give fewer --threads");
  } catch (const std::exception& e) {  // the first line of LibTorch's errors is followed by a long stack trace
    const std::string what = e.what();
    return absl::InternalError(absl::StrCat("internal error: ", what.substr(0, what.find('\n'))));
  }
}

// Prints a message, whatever text from files it quotes: control characters are escaped, and its length is bounded.
void PrintLine(absl::string_view what) {
  const std::string line =
      absl::StrCat(isatty(STDERR_FILENO) ? "\r\033[K" : "", tool_name, ": ", PrintableMessage(what), "\n");
  std::fputs(line.c_str(), stderr);
}

void PrintError(const absl::Status& status) {
  if (!quiet) return PrintLine(status.message());
  // All ranks receive the same signal; one of them reports it.
  if (absl::IsCancelled(status)) return;
  const std::string rank = absl::StrCat("rank ", message_rank);
  PrintLine(absl::StartsWith(status.message(), rank) ? std::string(status.message())
                                                     : absl::StrCat(rank, ": ", status.message()));
}

// Returns the exit status of a run that only prints about the tool.
int ExitOfText() {
  const absl::Status status = FlushResults();
  if (!status.ok()) PrintError(status);
  return ExitStatus(status);
}

void PrintNotProfiled(const absl::Status& status) {
  PrintWarning(absl::StrCat("no profile was written: ", status.message()));
}

// Ends the process without destroying the static objects of libraries: outputs are complete and printed text is
// flushed, and LibTorch would spend 0.1 s on its tables of operators. Sanitizers need the regular exit.
[[noreturn]] void EndProcess(int exit_status) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::exit(exit_status);
#else
  std::cout << std::flush;
  std::clog << std::flush;
  std::fflush(nullptr);
  ::_exit(exit_status);
#endif
}

}  // namespace

absl::StatusOr<Metadata> OutputMetadata(const ToolRun& run, absl::string_view kind,
                                        absl::Span<const std::string> inputs) {
  const ProfileScope scope(Stage::kHash);
  Provenance provenance;
  provenance.tool = run.name;
  provenance.arguments.assign(run.command.begin() + 1, run.command.end());
  for (const std::string& input : inputs) RETURN_IF_ERROR(provenance.AddInput(input));
  return MakeMetadata(kind, provenance, {});
}

void PrintWarning(absl::string_view what) { PrintMessage(absl::StrCat("warning: ", what)); }

void PrintMessage(absl::string_view what) {
  if (!silenced) PrintLastMessage(what);
}

void SilenceMessages() { silenced = true; }

void PrintLastMessage(absl::string_view what) {
  if (!quiet) PrintLine(what);
}

void SetMessageRank(int rank, bool rank_0_leads) {
  message_rank = rank;
  quiet = rank > 0 || !rank_0_leads;
  if (quiet && std::freopen("/dev/null", "w", stdout) == nullptr) {
    PrintError(absl::InternalError("cannot open /dev/null"));
  }
}

void ExitTool(const ToolRun& run, int exit_status) {
  // The other processes print the timing table.
  const ProfiledRun profiled = FinishProfiledRun(run.name, run.command, exit_status);
  if (!profiled.status.ok()) PrintNotProfiled(profiled.status);
  EndProcess(exit_status);
}

int RunTool(int argc, char** argv, const ToolInfo& info, absl::Status (*body)(const ToolRun& run)) {
  tool_name = info.name;
  ToolRun run{info.name, {argv[0]}, {}};
  // Tables of processes have the name of the loader otherwise.
  if (PathOfThisProgram() != "/proc/self/exe") ::prctl(PR_SET_NAME, info.name);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  gflags::SetVersionString(kVersion);
  std::vector<std::string> given(argv + 1, argv + argc);
  if (!given.empty() && given[0] == "-h") given[0] = "--help";
  const std::string help_topic = TakeHelpTopic(&given);
  const absl::StatusOr<std::vector<Argument>> arguments = ExpandFlagFiles(given);
  if (!arguments.ok()) {
    PrintMessage(arguments.status().message());
    return 1;
  }
  if (const std::string message = FindForeign(*arguments, info.foreign); !message.empty()) {
    PrintMessage(message);
    return 1;
  }
  if (const absl::Status status = CheckArguments(*arguments, FlagNames()); !status.ok()) {
    PrintMessage(absl::StrCat(status.message(), CommandHint(info, *arguments), "; see ", info.name, " --help"));
    return 1;
  }
  for (const Argument& argument : *arguments) run.command.push_back(argument.text);
  std::vector<std::string> words = run.command;  // gflags reorders pointers to these
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  argc = static_cast<int>(words.size());
  argv = pointers.data();
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, /*remove_flags=*/true);
  RecordFlagOrigins(FlagOrigins(*arguments));
  if (const absl::Status status = CheckSameBuild(info.name); !status.ok()) {
    PrintMessage(status.message());
    return 1;
  }
  if (FlagIsSet("version")) {
    std::cout << info.name << " " << kVersion << "\n" << info.features;
    return ExitOfText();
  }
  if (FlagIsSet("help")) {
    if (const absl::Status status = PrintHelp(info, help_topic); !status.ok()) {
      PrintMessage(status.message());
      return 1;
    }
    return ExitOfText();
  }
  run.args.assign(argv + 1, argv + argc);
  if (const absl::Status status = CheckOutputs(TextFlags(), run.args); !status.ok()) {
    PrintMessage(status.message());
    return 1;
  }
  InstallInterruptHandlers();
  const sigset_t signals = InterruptSignals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // ExecSiblingBinary held them back
  InstallMappedFileHandler(info.name);
  StartProfiledRun();
  const absl::Status status = RunGuarded(run, body);
  if (!status.ok()) PrintError(status);
  const ProfiledRun profiled = FinishProfiledRun(run.name, run.command, ExitStatus(status));
  if (!profiled.status.ok()) PrintNotProfiled(profiled.status);
  if (message_rank == 0) std::fputs(profiled.table.c_str(), stderr);
  EndProcess(ExitStatus(status));
}

}  // namespace rutile
