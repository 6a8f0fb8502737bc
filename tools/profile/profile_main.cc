// profile shows where time and memory of the tools go, and which flags make them faster.

#include <gflags/gflags.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/duration_flag.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/profile/find_batch_size.h"
#include "tools/profile/find_lr.h"
#include "tools/profile/profile_command.h"
#include "tools/profile/tune.h"

DEFINE_bool(machine, false, "Print what this machine is and what it can do at most, and end.");
DEFINE_bool(tune, false, "Try settings of a command of train in short runs and recommend the fastest.");
DEFINE_bool(find_batch_size, false, "Measure throughput and memory of a command of train over its batch size.");
DEFINE_bool(find_lr, false, "Learning-rate range test of a command of train.");
DEFINE_string(records, "",
              "Show the records of this directory (RUTILE_PROFILE_DIR of earlier runs) instead of a command.");
DEFINE_string(max_time, "", "Stop the command after so much time (SIGTERM): 20s, 1h30m or DD:HH:MM:SS.");
DEFINE_string(output_dir, "", "Where report.html, trace.json and tables are written. Empty: nowhere.");
DEFINE_bool(tsv, false, "Print a table for scripts on standard output instead of a page.");
DEFINE_bool(peaks, true,
            "Measure what the machine could do, once for each user (three seconds), to show shares of it.");
DEFINE_bool(measure_peaks, false, "Measure that again, and keep the higher of both rates.");
DEFINE_int32(max_stages, 12, "Stages of a process that the page shows, 1 to 1000.");
DEFINE_validator(max_stages, [](const char*, int32_t value) { return value >= 1 && value <= 1000; });
DEFINE_string(time_budget, "120s", "How long all trials of --tune, --find_batch_size or --find_lr may take.");
DEFINE_string(
    allow, "same",
    "What recommended flags may do to what is learned: same (nothing but rounding), course (another course of "
    "training), accuracy (cost some).");
DEFINE_string(flagfile_output, "", "Where --tune writes the recommended flags, for train --flagfile.");
DEFINE_string(memory_limit, "", "Most memory a batch may take: 512M, 8G. Empty: nine tenths of what is free.");
DEFINE_double(min_lr, 1e-8, "Learning rate that --find_lr begins with.");
DEFINE_double(max_lr, 1, "Learning rate that it ends with.");
DEFINE_int64(lr_steps, 200, "Steps from one to the other; 20 or more.");

namespace rutile {
namespace {

// Refuses flags that belong to other modes than `chosen`.
absl::Status RefuseOthers(const std::string& chosen) {
  const bool tune = chosen == "--tune", batch = chosen == "--find_batch_size", lr = chosen == "--find_lr";
  const bool trials = tune || batch || lr, shows = chosen == "--records" || chosen == "a command";
  return RefuseUnused(chosen, {{"max_time", chosen == "a command"},
                               {"output_dir", shows || batch || lr},
                               {"tsv", shows || trials},
                               {"peaks", shows},
                               {"measure_peaks", shows || chosen == "--machine"},
                               {"max_stages", shows},
                               {"time_budget", trials},
                               {"allow", tune},
                               {"flagfile_output", tune},
                               {"memory_limit", batch},
                               {"min_lr", lr},
                               {"max_lr", lr},
                               {"lr_steps", lr}});
}

absl::StatusOr<std::string> Mode(bool has_command) {
  std::vector<std::string> chosen;
  if (FLAGS_machine) chosen.push_back("--machine");
  if (FLAGS_tune) chosen.push_back("--tune");
  if (FLAGS_find_batch_size) chosen.push_back("--find_batch_size");
  if (FLAGS_find_lr) chosen.push_back("--find_lr");
  if (!FLAGS_records.empty()) chosen.push_back("--records");
  if (chosen.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(chosen[0], " and ", chosen[1], ": give one of them"));
  }
  if (chosen.empty()) chosen.push_back("a command");
  const bool alone = chosen[0] == "--machine" || chosen[0] == "--records";
  if (alone && has_command) {
    return absl::InvalidArgumentError(absl::StrCat(chosen[0], " runs no command: leave it out"));
  }
  if (!alone && !has_command) {
    return absl::InvalidArgumentError("needs a command: profile [flags] -- COMMAND...; see profile --help");
  }
  return chosen[0];
}

absl::Status RunProfile(const ToolRun& run) {
  ASSIGN_OR_RETURN(const std::string mode, Mode(!run.args.empty()));
  RETURN_IF_ERROR(RefuseOthers(mode));
  if (mode == "--machine") return ShowMachine(FLAGS_measure_peaks);
  ASSIGN_OR_RETURN(const absl::Duration budget, ParseDurationFlag("time_budget", FLAGS_time_budget));
  const double budget_s = absl::ToDoubleSeconds(budget);
  if (mode == "--tune") {
    ASSIGN_OR_RETURN(const Effect allow, ParseEffect(FLAGS_allow));
    return Tune(run.args, {budget_s, allow, FLAGS_flagfile_output, FLAGS_tsv});
  }
  if (mode == "--find_batch_size") {
    int64_t limit = 0;
    if (!FLAGS_memory_limit.empty()) {
      ASSIGN_OR_RETURN(limit, ParseBytesFlag("memory_limit", FLAGS_memory_limit));
    }
    return FindBatchSize(run.args, {budget_s, limit, FLAGS_output_dir, FLAGS_tsv});
  }
  if (mode == "--find_lr") {
    return FindLr(run.args, {FLAGS_min_lr, FLAGS_max_lr, FLAGS_lr_steps, budget_s, FLAGS_output_dir, FLAGS_tsv});
  }
  CommandOptions options;
  if (!FLAGS_max_time.empty()) {
    ASSIGN_OR_RETURN(options.max_time, ParseDurationFlag("max_time", FLAGS_max_time));
  }
  options.output_dir = FLAGS_output_dir;
  options.tsv = FLAGS_tsv;
  options.peaks = FLAGS_peaks;
  options.measure_peaks = FLAGS_measure_peaks;
  if (options.measure_peaks && !options.peaks) {
    return absl::InvalidArgumentError("--measure_peaks and --peaks=false exclude each other");
  }
  options.max_stages = FLAGS_max_stages;
  if (mode == "--records") return ShowRecords(FLAGS_records, options);
  int exit_status = 0;
  RETURN_IF_ERROR(ProfileCommand(run.args, options, &exit_status));
  if (exit_status != 0) std::exit(exit_status);  // the command's own, whatever it means
  return absl::OkStatus();
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(argc, argv,
                         {"profile", "where time and memory go, and which flags make train faster",
                          "profile [flags] -- COMMAND...   (--tune, --find_batch_size, --find_lr: -- train ...)"},
                         rutile::RunProfile);
}
