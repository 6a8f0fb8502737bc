#include "lib/train/process_startup.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/base/version.h"
#include "lib/distributed/communicator.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/train/resume_config.h"

namespace rutile {
namespace {

absl::string_view Bytes(const std::vector<int64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)};
}

absl::string_view Bytes(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

// Compares the options that decide a run and names those that differ, not all of them.
absl::Status CheckSameOptions(Agreement* agreement, const std::string& own) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, agreement->communicator()->Gather(own));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    ASSIGN_OR_RETURN(const std::vector<ConfigChange> changes, ConfigChanges(all[0], all[rank]));
    const std::string differences = absl::StrJoin(changes, "; ", [](std::string* out, const ConfigChange& change) {
      absl::StrAppend(out, "it has --", change.name, "=", change.after, ", rank 0 ", change.before);
    });
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank, " does not agree with rank 0: ", differences.empty() ? "its options differ" : differences,
        "; start all processes with the same flags"));
  }
  return absl::OkStatus();
}

// Checks that all processes could read the checkpoint to resume from. own: what this process has read, or its error.
absl::StatusOr<StartingState> AgreeToResume(Agreement* agreement, const RunDirectory& directory,
                                            absl::StatusOr<StartingState> own) {
  if (agreement->alone()) return own;
  std::string message(own.status().message());
  if (absl::IsNotFound(own.status()) && !agreement->writes()) {
    message = absl::StrCat(directory.path(), ": does not hold the checkpoint that rank 0 resumes from (", message,
                           "): give all ranks one --output_dir, in a folder that all machines share");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> messages, agreement->communicator()->Gather(message));
  if (!own.ok()) return absl::Status(own.status().code(), message);
  for (size_t rank = 0; rank < messages.size(); ++rank) {
    if (messages[rank].empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, ": ", messages[rank]));
  }
  return own;
}

}  // namespace

absl::StatusOr<absl::Time> AgreeOnStart(Agreement* agreement, absl::Time own) {
  RETURN_IF_ERROR(agreement->Agree());
  if (own == absl::InfiniteFuture()) own = agreement->Now();
  if (agreement->alone()) return own;
  ASSIGN_OR_RETURN(const std::vector<std::string> all,
                   agreement->communicator()->Gather(absl::StrCat(absl::ToUnixNanos(own))));
  int64_t nanoseconds = 0;
  if (!absl::SimpleAtoi(all[0], &nanoseconds)) return absl::InternalError("rank 0 sent no time");
  return absl::FromUnixNanos(nanoseconds);
}

absl::StatusOr<RunPlace> JoinRun(Agreement* agreement, const RunDirectory& directory, const TrainerOptions& options) {
  if (agreement->alone()) return directory.Enter(options.mode, options.resume_from);
  absl::StatusOr<RunPlace> own = RunPlace();
  if (agreement->writes()) own = directory.Enter(options.mode, options.resume_from);
  const std::string answer = own.ok() ? (own->resume ? "resume" : "new") : std::string(own.status().message());
  ASSIGN_OR_RETURN(const std::vector<std::string> answers, agreement->communicator()->Gather(answer));
  RETURN_IF_ERROR(own.status());
  if (answers[0] != "resume" && answers[0] != "new") {
    return absl::FailedPreconditionError(absl::StrCat("rank 0: ", answers[0]));
  }
  own->resume = answers[0] == "resume";
  return own;
}

absl::StatusOr<StartingState> AgreeToStart(Agreement* agreement, bool resume, const Task& task, const RunPlan& plan,
                                           const RunDirectory& directory) {
  if (resume) return AgreeToResume(agreement, directory, ResumedState(task, plan, directory));
  StartingState start;
  start.state = NewState(task, plan);
  if (plan.options.mode == RunMode::kResumeOrNew) {
    start.messages.push_back(absl::StrCat(directory.path(), ": no checkpoint to resume, a new run starts"));
  }
  return start;
}

absl::Status CheckSameRun(Agreement* agreement, const Task& task, const RunPlan& plan, const Checkpoint& state,
                          const RunDirectory& directory, const Metadata& provenance) {
  if (agreement->alone()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckAgreement(*agreement->communicator(), {absl::StrCat("version ", kVersion)}));
  RETURN_IF_ERROR(CheckSameOptions(agreement, ResumeConfigJson(plan.options, task.ResumeConfig())));
  std::vector<std::string> settings = {
      absl::StrCat("--output_dir=", directory.path()),
      absl::StrCat(task.num_examples(), " examples"),
      absl::StrCat("training examples ", Sha256Hex(Bytes(plan.train))),
      absl::StrCat("validation examples ", Sha256Hex(Bytes(plan.validation))),
      absl::StrCat("step ", state.step, " to begin at"),
      absl::StrCat("parameters ", Sha256Hex(Bytes(state.parameters)), " to begin with"),
  };
  // Contents count, under whatever paths the processes see them.
  const auto inputs = provenance.find("inputs");
  if (!plan.options.data_sha256.empty()) {
    settings.push_back(absl::StrCat("inputs with SHA-256 ", plan.options.data_sha256));
  } else if (inputs != provenance.end()) {
    settings.push_back(absl::StrCat("inputs ", inputs->second));
  }
  return CheckAgreement(*agreement->communicator(), settings);
}

absl::Status WriteRunRecord(const RunDirectory& directory, const TrainerOptions& options, const Task& task,
                            const Metadata& provenance, absl::Span<const std::string> log_columns,
                            absl::string_view changes) {
  const std::string flags = FlagFileAfter(changes, options.flag_file);
  if (!flags.empty()) RETURN_IF_ERROR(WriteFileAtomically(directory.flags(), flags));
  return WriteFileAtomically(directory.config(),
                             ConfigJson(options, task.ResumeConfig(), provenance, log_columns, changes));
}

}  // namespace rutile
