// check_profile RECORD...: for tests. One line for each record: tool, exit status, what the stages of its main thread
// add up to as a share of wall time, the share of stage "other", spans, operators, and the names of its threads. Exits
// with 1 where a record is damaged, stages do not add up within 3 %, or a span lies outside.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/profile/record.h"
#include "lib/profile/session.h"

namespace rutile {
namespace {

absl::Status Check(const std::string& path) {
  ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(path));
  ASSIGN_OR_RETURN(const ProfileRecord record, ParseProfileRecord(file.data()));
  const ProfileData& data = record.data;
  double sum = 0, other = 0;
  for (const ProfileStage& stage : data.stages) {
    if (stage.thread == 0) sum += stage.self_s;
    if (stage.thread == 0 && stage.path == "other") other = stage.self_s;
  }
  for (const ProfileSpan& span : data.spans) {
    const double end = 1e-9 * static_cast<double>(span.start_ns + span.duration_ns);
    if (span.start_ns < 0 || end > 1.01 * data.wall_s) {
      return absl::InvalidArgumentError(absl::StrFormat("%s: a span ends at %g s of %g", path, end, data.wall_s));
    }
  }
  std::cout << absl::StrFormat(
      "%s status=%d sum=%.1f%% other=%.1f%% spans=%d operators=%d threads=%s\n", record.tool, record.exit_status,
      100 * sum / data.wall_s, 100 * other / data.wall_s, data.spans.size(), record.operators.size(),
      absl::StrJoin(data.threads, ",", [](std::string* out, const ProfileThread& thread) { *out += thread.name; }));
  if (std::abs(sum - data.wall_s) > 0.03 * data.wall_s) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: stages add up to %g s of %g", path, sum, data.wall_s));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    const absl::Status checked = rutile::Check(argv[i]);
    if (checked.ok()) continue;
    std::cerr << checked.message() << "\n";
    status = 1;
  }
  return status;
}
