// The record that a profiled process writes at its end: DIR/<tool>-<pid>.json if RUTILE_PROFILE_DIR=DIR is set.
//
// {"kind": "rutile.profile/1", "tool": "train", "version": "0.3.0", "command": ["train", ...], "pid": 7,
//  "parent_pid": 6, "start_unix_ns": ..., "wall_s": ..., "cpu_s": ..., "peak_rss_bytes": ..., "exit_status": 0,
//  "threads": [{"id": 0, "name": "main"}, ...],
//  "stages": [{"name": "forward", "path": "validation/forward", "thread": 0, "calls": ..., "self_s": ...,
//              "total_s": ..., "counters": {"atoms": ..., "flop": ...}, "peak_rss_bytes": ..., "allocations": ...,
//              "device_s": ...}, ...],
//  "spans": [[index into stages, thread, start in ns since the process began, duration in ns], ...],
//  "spans_dropped": 0, "operators": [{"name": "aten::mm", "calls": ..., "self_s": ...}, ...],
//  "machine": MachineFactsJson}
//
// An entry of "stages" is one path (a stage and those around it) in one thread, so a name can occur several times:
// self_s may be summed by name, total_s only by path. The self_s of thread 0 sum to wall_s; its stage "other" is time
// in no scope, and "exit", which `profile` adds, is the time after the record. Counters that are 0, peak_rss_bytes and
// allocations that were not measured, device_s without a device, and "operators" without --operators are omitted.
// Readers must skip keys that they do not know.
//
// Example:
//   StartProfile({});
//   ...  // work inside ProfileScopes (lib/trace/scope.h)
//   const ProfileRecord record = MakeProfileRecord("train", command, /*exit_status=*/0, StopProfile());
//   RETURN_IF_ERROR(WriteProfileRecord(directory, record));

#ifndef RUTILE_LIB_PROFILE_RECORD_H_
#define RUTILE_LIB_PROFILE_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/profile/machine_facts.h"
#include "lib/profile/session.h"

namespace rutile {

constexpr char kProfileKind[] = "rutile.profile/1";
constexpr char kProfileDirectoryVariable[] = "RUTILE_PROFILE_DIR";
constexpr char kExitStage[] = "exit";

// Time of one LibTorch operator.
struct ProfileOperator {
  std::string name;
  int64_t calls = 0;
  double self_s = 0;
};

// The content of a record.
struct ProfileRecord {
  std::string tool, version;
  std::vector<std::string> command;
  int64_t pid = 0, parent_pid = 0;
  int64_t start_unix_ns = 0;
  double cpu_s = 0;  // of all threads, and of child processes that were waited for
  int64_t peak_rss_bytes = 0;
  int exit_status = 0;
  ProfileData data;
  std::vector<ProfileOperator> operators;  // the largest self_s first
  MachineFacts machine;
};

// Makes the record of this process, with the facts of its machine.
ProfileRecord MakeProfileRecord(absl::string_view tool, const std::vector<std::string>& command, int exit_status,
                                ProfileData data);

std::string ProfileRecordJson(const ProfileRecord& record);

// Parses ProfileRecordJson. INVALID_ARGUMENT naming what is wrong.
absl::StatusOr<ProfileRecord> ParseProfileRecord(absl::string_view json);

// Writes <directory>/<tool>-<pid>.json atomically, and creates the directory if necessary.
absl::Status WriteProfileRecord(const std::string& directory, const ProfileRecord& record);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_RECORD_H_
