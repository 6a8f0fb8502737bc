#include "lib/train/files/run_directory.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/file/file.h"
#include "lib/train/files/checkpoint.h"

namespace rutile {
namespace {

absl::Status Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot remove ", path));
  return absl::OkStatus();
}

bool IsNumbered(absl::string_view name) {
  return (absl::StartsWith(name, "epoch-") || absl::StartsWith(name, "step-") || absl::StartsWith(name, "top-")) &&
         absl::EndsWith(name, ".safetensors");
}

// Recognizes names given by AtomicFile and ReplaceFile: "log.tsv.tmp.123.4", "previous.safetensors.link".
bool IsTemporary(absl::string_view name) {
  if (absl::EndsWith(name, ".safetensors.link")) return true;
  const size_t at = name.rfind(".tmp.");
  if (at == absl::string_view::npos) return false;
  const std::vector<absl::string_view> numbers = absl::StrSplit(name.substr(at + 5), '.');
  return numbers.size() == 2 && std::all_of(numbers.begin(), numbers.end(), [](absl::string_view number) {
           return !number.empty() && std::all_of(number.begin(), number.end(), absl::ascii_isdigit);
         });
}

// Explains to the user why the lock is taken.
absl::Status Explain(const std::string& path, const absl::Status& held) {
  if (!absl::IsFailedPrecondition(held)) return held;
  return absl::FailedPreconditionError(absl::StrCat(path, ": another run is training here (", held.message(),
                                                    "); wait for it, or name another output directory"));
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

absl::Status RunDirectory::RemoveNamed(absl::Span<const std::string> kept) const {
  if (!FileExists(to_remove())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(to_remove()));
  for (const absl::string_view name : absl::StrSplit(file.data(), '\n')) {
    const bool is_kept = std::find(kept.begin(), kept.end(), name) != kept.end();
    if (IsNumbered(name) && !absl::StrContains(name, '/') && !is_kept) RETURN_IF_ERROR(RemoveCheckpoint(name));
  }
  return RemoveToRemove();
}

absl::Status RunDirectory::RemoveToRemove() const { return Remove(to_remove()); }

absl::Status RunDirectory::RemovePrevious() const { return Remove(previous()); }

absl::Status RunDirectory::WriteFinished(absl::string_view reason, int64_t epochs, int64_t steps) const {
  return WriteFileAtomically(finished(),
                             absl::StrCat("reason\tepochs\tsteps\n", TsvCell(reason), "\t", epochs, "\t", steps, "\n"));
}

absl::Status RunDirectory::RemoveFinished() const { return Remove(finished()); }

absl::Status RunDirectory::SetAside(const std::string& file) const {
  RETURN_IF_ERROR(MakeDirectories(path_ + "/recovery"));
  std::error_code error;
  const std::filesystem::path to = std::filesystem::path(path_ + "/recovery") / std::filesystem::path(file).filename();
  std::filesystem::rename(file, to, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot move ", file));
  return absl::OkStatus();
}

absl::Status RunDirectory::SetLaterAside(int64_t step) const {
  for (const std::string& path : NumberedCheckpoints()) {
    const absl::StatusOr<CheckpointPlace> place = ReadCheckpointPlace(path);
    if (place.ok() && place->step > step) RETURN_IF_ERROR(SetAside(path));
  }
  return absl::OkStatus();
}

absl::Status RunDirectory::SetLogsAside() const {
  for (const char* name : {"log.tsv", "log.jsonl", "steps.tsv", "steps.jsonl"}) {
    const std::string log = absl::StrCat(path_, "/", name);
    if (FileExists(log)) RETURN_IF_ERROR(SetAside(log));
  }
  return absl::OkStatus();
}

bool RunDirectory::HoldsRun() const {
  return HasCheckpoint() || FileExists(best()) || FileExists(last()) || FileExists(log()) || FileExists(config());
}

bool RunDirectory::IsEmpty() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_, error)) {
    if (!entry.is_directory() && entry.path().filename() != "lock") return false;
  }
  return !error;
}

std::vector<std::string> RunDirectory::Files() const {
  return {finished(),  // first, so that no moment shows it beside an incomplete run
          best(),
          average(),
          last(),
          config(),
          flags(),
          log(),
          log_stem() + ".jsonl",
          step_log_stem() + ".tsv",
          step_log_stem() + ".jsonl",
          learning_curve(),
          path_ + "/learning-curve.svg",  // as versions before this one called it
          failed_batch(),
          previous(),
          next(),
          replaced(),
          to_remove(),
          path_ + "/recovery/log.tsv",
          path_ + "/recovery/log.jsonl",
          path_ + "/recovery/steps.tsv",
          path_ + "/recovery/steps.jsonl"};
}

std::vector<std::string> RunDirectory::NumberedCheckpoints() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(absl::StrCat(path_, "/checkpoints"), error)) {
    if (IsNumbered(entry.path().filename().string())) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool RunDirectory::Holds(absl::string_view checkpoint) const {
  const std::filesystem::path parent = std::filesystem::path(std::string(checkpoint)).parent_path();
  for (const char* folder : {"/checkpoints", "/recovery"}) {
    std::error_code error;
    if (std::filesystem::equivalent(parent.empty() ? "." : parent, path_ + folder, error)) return true;
  }
  return false;
}

absl::Status RunDirectory::CheckUsable() const {
  const absl::Status writable = CheckWritableDirectory(path_);
  if (!writable.ok()) {
    return absl::Status(writable.code(), absl::StrCat(writable.message(), "; name another output directory"));
  }
  return Explain(path_, FileLock::CheckFree(lock()));
}

absl::StatusOr<RunPlace> RunDirectory::Enter(RunMode mode, absl::string_view resume_from) const {
  RETURN_IF_ERROR(CheckUsable());
  RETURN_IF_ERROR(Open(mode, resume_from).status());
  absl::StatusOr<FileLock> held = FileLock::Acquire(lock());
  if (!held.ok()) return Explain(path_, held.status());
  RunPlace place = {*std::move(held)};
  RETURN_IF_ERROR(RemoveTemporaries());
  ASSIGN_OR_RETURN(place.resume, Open(mode, resume_from));  // again, now that no other process changes anything
  return place;
}

absl::Status RunDirectory::Promote() const { return ReplaceFile(next(), checkpoint(), previous()); }

absl::Status RunDirectory::Replace() const { return ReplaceFile(next(), checkpoint(), replaced()); }

absl::Status RunDirectory::RemoveTemporaries() const {
  for (const char* folder : {"", "/checkpoints", "/recovery"}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_ + folder, error)) {
      if (IsTemporary(entry.path().filename().string())) RETURN_IF_ERROR(Remove(entry.path().string()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RunDirectory::Open(RunMode mode, absl::string_view resume_from) const {
  if (!resume_from.empty()) {
    if (!FileExists(resume_from)) return absl::NotFoundError(absl::StrCat(resume_from, ": no such file to resume"));
    if (!Holds(resume_from) && HoldsRun()) {
      return absl::AlreadyExistsError(absl::StrCat(path_, ": holds another run than that of ", resume_from,
                                                   "; name another directory to go on in"));
    }
    RETURN_IF_ERROR(MakeDirectories(absl::StrCat(path_, "/checkpoints")));
    return true;
  }
  const bool resume = HasCheckpoint() && (mode == RunMode::kResume || mode == RunMode::kResumeOrNew);
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
  for (const auto& entry : std::filesystem::directory_iterator(absl::StrCat(path_, "/recovery"), error)) {
    if (IsNumbered(entry.path().filename().string())) RETURN_IF_ERROR(Remove(entry.path().string()));
  }
  for (const auto& entry : std::filesystem::directory_iterator(absl::StrCat(path_, "/checkpoints"), error)) {
    const std::string name = entry.path().filename().string();
    if (name == "last.safetensors" || IsNumbered(name)) {
      RETURN_IF_ERROR(Remove(entry.path().string()));
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot read ", path_, "/checkpoints"));
  std::filesystem::remove(path_ + "/recovery", error);  // succeeds only if it is empty
  return absl::OkStatus();
}

}  // namespace rutile
