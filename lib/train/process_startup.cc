#include "lib/train/process_startup.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/sha256.h"
#include "lib/base/status_macros.h"
#include "lib/base/version.h"
#include "lib/distributed/communicator.h"
#include "lib/train/resume_config.h"

namespace rutile {
namespace {

absl::string_view Bytes(const std::vector<int64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)};
}

absl::string_view Bytes(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

}  // namespace

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

absl::Status CheckSameRun(Agreement* agreement, const Task& task, const RunPlan& plan, const Checkpoint& state,
                          const Metadata& provenance) {
  if (agreement->alone()) return absl::OkStatus();
  std::vector<std::string> settings = {
      absl::StrCat("version ", kVersion),
      absl::StrCat("options ", ResumeConfigJson(plan.options, task.ResumeConfig())),
      absl::StrCat(task.num_examples(), " examples"),
      absl::StrCat("training examples ", Sha256Hex(Bytes(plan.train))),
      absl::StrCat("validation examples ", Sha256Hex(Bytes(plan.validation))),
      absl::StrCat("step ", state.step, " to begin at"),
      absl::StrCat("parameters ", Sha256Hex(Bytes(state.parameters)), " to begin with"),
  };
  const auto inputs = provenance.find("inputs");
  if (inputs != provenance.end()) settings.push_back(absl::StrCat("inputs ", inputs->second));
  return CheckAgreement(*agreement->communicator(), settings);
}

}  // namespace rutile
