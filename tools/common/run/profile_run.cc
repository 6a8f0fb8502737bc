#include "tools/common/run/profile_run.h"

#include <gflags/gflags.h>

#include <cstdlib>
#include <utility>

#include "lib/profile/session.h"
#include "lib/profile/timing_table.h"
#include "lib/trace/scope.h"

DEFINE_bool(timing, false,
            "Print time by stage and thread to standard error at the end. RUTILE_PROFILE_DIR=DIR in the environment "
            "writes the record to a file in DIR, named by tool and process, also when the run fails.");

namespace rutile {
namespace {

// Returns the directory for the record; "" if none is requested.
std::string ProfileDirectory() {
  const char* const directory = std::getenv(kProfileDirectoryVariable);
  return directory == nullptr ? "" : directory;
}

std::function<std::vector<ProfileOperator>()>& OperatorSource() {
  static auto* const source = new std::function<std::vector<ProfileOperator>()>;
  return *source;
}

}  // namespace

void StartProfiledRun() {
  ProfileOptions options;
  options.spans = !ProfileDirectory().empty();
  if (FLAGS_timing || options.spans) StartProfile(options);
}

ProfiledRun FinishProfiledRun(const std::string& tool, const std::vector<std::string>& command, int exit_status) {
  ProfiledRun run;
  if (!ProfilingIsOn()) return run;
  ProfileRecord record = MakeProfileRecord(tool, command, exit_status, StopProfile());
  if (OperatorSource()) record.operators = OperatorSource()();
  if (FLAGS_timing) run.table = TimingTable(record);
  if (const std::string directory = ProfileDirectory(); !directory.empty()) {
    run.status = WriteProfileRecord(directory, record);
  }
  return run;
}

void SetProfileOperators(std::function<std::vector<ProfileOperator>()> source) { OperatorSource() = std::move(source); }

}  // namespace rutile
