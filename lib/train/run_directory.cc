#include "lib/train/run_directory.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

absl::Status Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot remove ", path));
  return absl::OkStatus();
}

}  // namespace

std::string RunDirectory::epoch_checkpoint(int64_t epoch) const {
  return absl::StrFormat("%s/checkpoints/epoch-%05d.safetensors", path_, epoch);
}

std::string RunDirectory::step_checkpoint(int64_t step) const {
  return absl::StrFormat("%s/checkpoints/step-%09d.safetensors", path_, step);
}

std::string RunDirectory::named_checkpoint(absl::string_view name) const {
  return absl::StrCat(path_, "/checkpoints/", name);
}

absl::Status RunDirectory::RemoveCheckpoint(absl::string_view name) const { return Remove(named_checkpoint(name)); }

bool RunDirectory::HoldsRun() const {
  return FileExists(checkpoint()) || FileExists(best()) || FileExists(last()) || FileExists(log()) ||
         FileExists(config());
}

std::vector<std::string> RunDirectory::Files() const {
  return {best(),
          average(),
          last(),
          config(),
          flags(),
          log(),
          log_stem() + ".jsonl",
          step_log_stem() + ".tsv",
          step_log_stem() + ".jsonl",
          learning_curve(),
          failed_batch()};
}

absl::StatusOr<bool> RunDirectory::Open(RunMode mode) const {
  const bool resume = FileExists(checkpoint()) && (mode == RunMode::kResume || mode == RunMode::kResumeOrNew);
  if (mode == RunMode::kResume && !resume) {
    return absl::NotFoundError(
        absl::StrCat(path_, ": nothing to resume, there is no checkpoints/last.safetensors; start without resuming"));
  }
  if (mode == RunMode::kNew && HoldsRun()) {
    return absl::AlreadyExistsError(
        absl::StrCat(path_, ": holds a run already; resume it, overwrite it, or name another directory"));
  }
  RETURN_IF_ERROR(MakeDirectories(absl::StrCat(path_, "/checkpoints")));
  return resume;
}

absl::Status RunDirectory::RemoveRun() const {
  for (const std::string& file : Files()) RETURN_IF_ERROR(Remove(file));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(absl::StrCat(path_, "/checkpoints"), error)) {
    const std::string name = entry.path().filename().string();
    const bool numbered =
        absl::StartsWith(name, "epoch-") || absl::StartsWith(name, "step-") || absl::StartsWith(name, "top-");
    if (name == "last.safetensors" || (numbered && absl::EndsWith(name, ".safetensors"))) {
      RETURN_IF_ERROR(Remove(entry.path().string()));
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot read ", path_, "/checkpoints"));
  return absl::OkStatus();
}

}  // namespace rutile
