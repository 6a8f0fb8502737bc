#include "tools/tracin/judge/run_identity.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/files/run_directory.h"
#include "tools/tracin/judge/subset_models.h"

namespace rutile {

absl::StatusOr<std::string> IdentityOfRun(const std::string& directory) {
  const RunDirectory run(directory);
  ASSIGN_OR_RETURN(const TrainingSetup setup, ReadTrainingSetup(run.last()));
  std::string text = absl::StrCat("steps=", setup.step, "\n");
  if (FileExists(run.checkpoint())) {
    ASSIGN_OR_RETURN(const CheckpointSummary last, ReadCheckpointSummary(run.checkpoint()));
    absl::StrAppend(&text, "seed=", last.seed, "\ndata_sha256=", last.data_sha256, "\n");
  }
  ASSIGN_OR_RETURN(const std::string model, Sha256HexOfFile(run.last()));
  return absl::StrCat(text, "model_sha256=", model, "\n");
}

absl::Status WriteOrCompare(const std::string& path, const std::string& text, const std::string& what) {
  if (!FileExists(path)) return WriteFileAtomically(path, text);
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  if (contents.data() == text) return absl::OkStatus();
  const std::vector<std::string> then = absl::StrSplit(contents.data(), '\n', absl::SkipEmpty());
  const std::vector<std::string> now = absl::StrSplit(text, '\n', absl::SkipEmpty());
  const auto lacking = [](const std::vector<std::string>& lines, const std::vector<std::string>& others) {
    for (const std::string& line : lines) {
      if (std::find(others.begin(), others.end(), line) == others.end()) return line;
    }
    return std::string("no more");
  };
  return absl::InvalidArgumentError(absl::StrCat(path, ": there are ", what, ": it has ", lacking(then, now),
                                                 ", and the run now ", lacking(now, then),
                                                 "; give another --judge, or remove this one"));
}

}  // namespace rutile
