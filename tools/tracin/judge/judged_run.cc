#include "tools/tracin/judge/judged_run.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {

absl::StatusOr<std::unique_ptr<JudgedRun>> OpenJudgedRun(const std::string& model,
                                                         const std::vector<std::string>& train,
                                                         const std::vector<std::string>& test) {
  ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(model));
  ASSIGN_OR_RETURN(const FileKind kind, GetFileKind(look));
  if (kind.name == "kge") return OpenJudgedGraph(model, train, test);
  if (kind.name == "potential") return OpenJudgedPotential(model, train, test);
  return absl::InvalidArgumentError(
      absl::StrCat(model, ": a file of kind ", kind.name,
                   ", expected a model, such as a run's last.safetensors (--model gives one beside predictions)"));
}

absl::Status OtherTrainingData(const InfluenceFile& influence) {
  return absl::InvalidArgumentError(
      absl::StrCat(influence.path,
                   ": was computed with other training data than --train, or with these in another order: give the "
                   "files of that time in that order"));
}

absl::Status CheckTestNames(const InfluenceFile& influence, const std::vector<std::string>& names) {
  const std::vector<std::string>& then = influence.description.test_names;
  for (size_t t = 0; t < then.size(); ++t) {
    if (t < names.size() && then[t] == names[t]) continue;
    if (influence.influence.tests[t] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(influence.path, ": has scores of a sum of tests (--aggregate): compute those of single tests"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        influence.path, ": test ", influence.influence.tests[t], " is \"", then[t], "\", and --test has ",
        t < names.size() && !names[t].empty() ? absl::StrCat("\"", names[t], "\"") : std::string("nothing"),
        " there: give the tests, and the flags that chose them, of the scores"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
