#include "tools/train/replaced_runs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

// A config.json or log.tsv alone may belong to another program.
bool IsOurs(const RunDirectory& run) {
  return run.HasCheckpoint() || (run.HoldsRun() && FileExists(run.flags())) || FileExists(run.best());
}

// Returns the files that train writes in addition to those of RunDirectory.
std::vector<std::string> FilesBeside(const std::string& directory) {
  std::vector<std::string> files;
  for (const char* set : {"train", "validation", "test"}) {
    files.push_back(absl::StrCat(directory, "/", set, "_frames.txt"));
    files.push_back(absl::StrCat(directory, "/energies-", set, ".tsv"));
    files.push_back(absl::StrCat(directory, "/forces-", set, ".tsv"));
  }
  return files;
}

}  // namespace

std::string MemberName(int member) { return absl::StrFormat("member-%02d", member); }

absl::StatusOr<std::vector<std::string>> OtherRuns(const std::string& output_dir, int committee, RunMode mode) {
  struct Other {
    std::string directory, what;
  };
  std::vector<Other> others;
  if (committee > 1) {
    others.push_back({output_dir, absl::StrCat("holds a run of one model, which --committee=", committee,
                                               " would leave beside its members")});
  }
  for (int m = committee > 1 ? committee : 0; m < kMostMembers; ++m) {
    others.push_back({absl::StrCat(output_dir, "/", MemberName(m)),
                      committee > 1 ? absl::StrCat("is left from a larger committee than --committee=", committee)
                                    : "is of a committee, whose members would be left beside the run of one model"});
  }
  std::vector<std::string> directories;
  for (const Other& other : others) {
    const RunDirectory run(other.directory);
    if (!IsOurs(run)) continue;
    if (mode != RunMode::kOverwrite) {
      return absl::InvalidArgumentError(absl::StrCat(
          other.directory, " ", other.what, ": ",
          mode == RunMode::kNew ? "give --overwrite, which removes it, or another --output_dir" : "remove it first"));
    }
    const absl::Status usable = run.CheckUsable();
    if (!usable.ok()) return absl::InvalidArgumentError(usable.message());
    directories.push_back(other.directory);
  }
  return directories;
}

absl::Status RemoveOtherRun(const std::string& directory, const std::vector<std::string>& kept) {
  const RunDirectory run(directory);
  {
    ASSIGN_OR_RETURN(const RunPlace place, run.Enter(RunMode::kOverwrite, /*resume_from=*/""));
    RETURN_IF_ERROR(run.RemoveRun());
    for (const std::string& file : FilesBeside(directory)) {
      std::error_code error;
      const bool is_kept = std::any_of(kept.begin(), kept.end(), [&](const std::string& path) {
        std::error_code none;
        return std::filesystem::equivalent(path, file, none);
      });
      if (is_kept) continue;
      std::filesystem::remove(file, error);
      if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot remove ", file));
    }
  }
  std::error_code not_empty;
  std::filesystem::remove(absl::StrCat(directory, "/checkpoints"), not_empty);
  std::filesystem::remove(directory, not_empty);
  return absl::OkStatus();
}

}  // namespace rutile
