#include "tools/train/run_member.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/communicator.h"
#include "lib/trace/scope.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/first_batch_of_run.h"
#include "lib/train/options/monitor.h"
#include "lib/train/run_plan.h"
#include "tools/common/run/exec_sibling_binary.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/train/first_batch_process.h"
#include "tools/train/replaced_runs.h"
#include "tools/train/report/train_lines.h"
#include "tools/train/report/train_plot.h"
#include "tools/train/report/train_progress.h"
#include "tools/train/schedule_interval.h"
#include "tools/train/trainer_flags/checkpoint_flags.h"

DEFINE_int32(committee, 1,
             "Number of models to train one after another, 1 to 100. Their seeds are seed, seed + 1 and so on, and "
             "each is a whole run in output_dir/member-00 and so on. They share the data and the split.");
DEFINE_validator(committee, [](const char*, int32_t value) { return value >= 1 && value <= 100; });
DEFINE_bool(progress, true,
            "Show progress on standard error: a line that changes on a terminal, lines of --log_interval elsewhere.");
DEFINE_bool(quiet, false, "Print nothing but errors, the last line and the results.");
DEFINE_bool(verbose, false, "Print a line for each epoch and validation, also on a terminal.");

namespace rutile {
namespace {

// Returns the files that the command names; they may lie in a run to be removed.
std::vector<std::string> FilesOfFlags() {
  std::vector<std::string> files;
  for (const char* flag : {"validation_frames", "test_frames"}) {
    std::string file;
    if (gflags::GetCommandLineOption(flag, &file)) files.push_back(file);
  }
  for (const char* flag : {"validation_data", "test_data"}) {
    std::string list;
    if (!gflags::GetCommandLineOption(flag, &list)) continue;
    for (const absl::string_view file : absl::StrSplit(list, ',')) files.emplace_back(file);
  }
  return files;
}

absl::Status CheckProgressFlags(const TrainerOptions& options) {
  if (options.files == RunFiles::kAtEnd) {
    RETURN_IF_ERROR(RefuseFlags("with --barebones, which shows no progress", {"verbose"}));
  }
  if (FLAGS_quiet) RETURN_IF_ERROR(RefuseFlags("with --quiet", {"verbose", "progress", "log_interval"}));
  return RefuseUnused("--progress=false", {{"verbose", FLAGS_progress}, {"log_interval", FLAGS_progress}});
}

std::string ShellWord(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("/._-+", c); });
  return plain ? text : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// Returns the value that will decide which model is kept. It is unknown for options that Train refuses.
MonitoredValue MonitoredOf(const Task& task, const Split& split, const TrainerOptions& options) {
  if (!CheckTrainerOptions(options).ok()) return {};
  const absl::StatusOr<RunPlan> plan = MakeRunPlan(split, options);
  if (!plan.ok()) return {};
  const absl::StatusOr<Monitor> monitor = Monitor::Create(task, options.monitor, !plan->validation.empty());
  if (!monitor.ok()) return {};
  return {monitor->name(), monitor->maximize()};
}

// Returns what to do to go on with a run that was stopped.
std::string HowToGoOn(const Member& member, const RunDirectory& directory, const TrainerOptions& options) {
  // How several processes were started is not in flags.txt, nor are the other members of a committee.
  if (options.flag_file.empty() || options.communicator != nullptr || !member.name.empty())
    return "the same command with --resume goes on";
  return absl::StrCat("to go on: train --flagfile=", ShellWord(directory.flags()), " --resume");
}

}  // namespace

void StartMessagesFromFlags() {
  if (FLAGS_quiet) SilenceMessages();
}

absl::StatusOr<std::vector<Member>> MembersFromFlags(const TrainerOptions& options) {
  RETURN_IF_ERROR(CheckProgressFlags(options));
  const std::string directory = OutputDirFromFlags();
  std::vector<Member> members = {{"", directory, "", {}}};
  if (FLAGS_committee > 1) members.clear();
  for (int m = 0; FLAGS_committee > 1 && m < FLAGS_committee; ++m) {
    const std::string name = MemberName(m);
    members.push_back(
        {name, absl::StrCat(directory, "/", name), absl::StrCat(name, " (", m + 1, " of ", FLAGS_committee, ")"), {}});
  }
  if (members.size() > 1 && !options.resume_from.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--resume=", options.resume_from,
                                                   " is one run's: --committee goes with --resume and --resume=auto"));
  }
  if (!WritesFiles(options)) return members;  // rank 0 may already have begun to write
  for (const Member& member : members) {
    const absl::Status usable = RunDirectory(member.directory).CheckUsable();
    if (!usable.ok()) return absl::InvalidArgumentError(usable.message());
    if (options.mode != RunMode::kNew || !RunDirectory(member.directory).HoldsRun()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(member.directory, " holds a run already: give --resume, --overwrite or another --output_dir"));
  }
  ASSIGN_OR_RETURN(members[0].replaces, OtherRuns(directory, FLAGS_committee, options.mode));
  return members;
}

bool WritesFiles(const TrainerOptions& options) {
  return options.files != RunFiles::kNone && (options.communicator == nullptr || options.communicator->rank() == 0);
}

absl::StatusOr<bool> IsTooLate(const Member& member, const TrainerOptions& options) {
  if (member.name.empty() || member.name == MemberName(0) || options.stop.max_time == absl::InfiniteDuration()) {
    return false;
  }
  bool is_late = absl::Now() - ProgramStart() >= options.stop.max_time;
  if (options.communicator != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<std::string> all, options.communicator->Gather(is_late ? "late" : "in time"));
    is_late = all[0] == "late";
  }
  if (is_late) {
    const bool overwrite = options.mode == RunMode::kOverwrite;
    // An earlier committee's member must not stand among the new ones.
    if (overwrite && WritesFiles(options)) RETURN_IF_ERROR(RemoveOtherRun(member.directory, FilesOfFlags()));
    PrintWarning(absl::StrCat("--max_time=", absl::FormatDuration(options.stop.max_time), " is over before ",
                              member.name, ", which is not trained; the same command with --resume",
                              overwrite ? " in place of --overwrite" : "", " goes on"));
  }
  return is_late;
}

absl::StatusOr<TrainResult> RunTask(const Member& member, const TaskRun& run, const Split& split,
                                    TrainerOptions options, const Metadata& metadata) {
  SetScheduleInterval(member.directory, split, &options);
  if (OnlyChecksFirstBatch()) EndWithFirstBatch(CheckFirstBatchOfRun(*run.task, split, options));
  options.await_first_batch = FirstBatchOfProcess();
  if (!member.replaces.empty()) RETURN_IF_ERROR(AwaitFirstBatch(options));
  const RunDirectory directory(member.directory);
  const bool others_report = options.communicator != nullptr && options.communicator->rank() > 0;
  const bool shows = !others_report && FLAGS_progress && !FLAGS_quiet && options.files != RunFiles::kAtEnd;
  const MonitoredValue monitored = MonitoredOf(*run.task, split, options);
  StopOptions left = options.stop;  // what is shown of --max_time is what this member has of it
  left.max_time = std::max(absl::ZeroDuration(), left.max_time - (absl::Now() - ProgramStart()));
  TrainProgress progress({member.label.empty() ? "train" : member.label, run.cost_unit, monitored}, left, shows);
  const absl::Duration interval = progress.active() ? absl::ZeroDuration() : options.log_interval;
  TrainLines lines({member.label, run.cost_unit, run.task->loss_unit(), monitored, left, interval, FLAGS_verbose},
                   PrintMessage);
  const bool has_lines = shows && (FLAGS_verbose || interval > absl::ZeroDuration());
  if (!member.label.empty() && !others_report) PrintMessage(absl::StrCat(member.label, ": training"));
  TrainPlot plot(directory, options, monitored);
  double cost_per_s = 0;
  if (progress.active() || has_lines) {
    options.on_step = [&](const StepReport& report) {
      progress.OnStep(report);
      if (has_lines) lines.OnStep(report);
    };
  }
  // Remove replaced runs only after a step: by then nothing can keep the new run from starting.
  absl::Status removed;
  std::vector<std::string> replaced = member.replaces;
  if (!replaced.empty()) {
    options.on_step = [&, report = options.on_step](const StepReport& step) {
      for (const std::string& other : std::exchange(replaced, {}))
        removed.Update(RemoveOtherRun(other, FilesOfFlags()));
      if (report) report(step);
    };
  }
  options.on_epoch = [&](const EpochReport& report) {
    if (others_report) return;
    const ProfileScope scope(Stage::kLog);
    cost_per_s = report.cost_per_s;
    progress.OnEpoch(report);
    if (has_lines) lines.OnEpoch(report);
    plot.OnEpoch(report);
  };
  options.on_message = PrintMessage;
  absl::StatusOr<TrainResult> result = Train(*run.task, split, options, member.directory, metadata, ProgramStart());
  progress.Finish();
  if (absl::IsFailedPrecondition(result.status())) return absl::InvalidArgumentError(result.status().message());
  if (!result.ok() && !absl::IsCancelled(result.status())) return result.status();
  if (others_report) return result;
  const bool keeps_files = options.files != RunFiles::kNone;
  if (keeps_files && run.write_beside) RETURN_IF_ERROR(run.write_beside());
  if (absl::IsCancelled(result.status()) && keeps_files && directory.HasCheckpoint()) {
    return absl::CancelledError(absl::StrCat(result.status().message(), "; ", HowToGoOn(member, directory, options)));
  }
  RETURN_IF_ERROR(result.status());
  const ProfileScope scope(Stage::kReport);
  const bool plotted = plot.Finish(result->best_epoch, result->best_step);
  PrintOutcome(directory, options, *result, run.task->loss_unit(), run.cost_unit, cost_per_s, plotted);
  if (result->averaged > 0) {
    PrintMessage(absl::StrCat("mean of the best ", result->averaged,
                              split.validation.empty()
                                  ? " by their training loss, as there is no validation set"
                                  : absl::StrFormat(": validation loss %.6g", result->average_loss),
                              keeps_files ? " -> " + directory.average() : ""));
  }
  ASSIGN_OR_RETURN(const Split used, LearnedSplit(split, options));
  RETURN_IF_ERROR(PrintErrors(*run.task, used, result->best_parameters, run.example_unit, run.count_columns,
                              member.name, options.eager.device));
  if (!removed.ok()) return absl::InvalidArgumentError(absl::StrCat("another run is left: ", removed.message()));
  return result;
}

absl::Status WriteFinished(const Member& member, const TrainerOptions& options, const TrainResult& result) {
  if (!WritesFiles(options)) return absl::OkStatus();
  return RunDirectory(member.directory).WriteFinished(result.stop_reason, result.epochs, result.steps);
}

}  // namespace rutile
