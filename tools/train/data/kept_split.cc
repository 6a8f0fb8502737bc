#include "tools/train/data/kept_split.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/potential/data/structure_list.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_settings.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

bool GoesOn(const std::string& directory, const TrainerOptions& options) {
  if (options.mode != RunMode::kResume && options.mode != RunMode::kResumeOrNew) return false;
  return !options.resume_from.empty() || RunDirectory(directory).HasCheckpoint();
}

bool MayHaveOtherData(const TrainerOptions& options) {
  return std::any_of(options.overrides.begin(), options.overrides.end(),
                     [](const std::string& name) { return name == DataSetting().name || name == "all"; });
}

// Returns the path of the checkpoint that the run goes on from.
std::string CheckpointOf(const std::string& directory, const TrainerOptions& options) {
  if (!options.resume_from.empty()) return options.resume_from;
  const RunDirectory run(directory);
  return FileExists(run.checkpoint()) ? run.checkpoint() : run.previous();
}

// True if the run went on with other data once before, so that its sets are not those that would be drawn. The trainer
// reads the checkpoint again and says what is wrong with it.
bool WentOn(const std::string& directory, const TrainerOptions& options) {
  const absl::StatusOr<std::string> changes = ReadCheckpointChanges(CheckpointOf(directory, options));
  return changes.ok() && WentOnWithOtherData(*changes);
}

// True if the caller may take structure s out of its set, so that no list names it: as an isolated atom, or for want of
// a weight or of labels.
bool MayBeLeftOut(const AtomicData& data, int64_t s) {
  return data.num_atoms(s) == 1 || data.weight(s) == 0 || !data.has_energy(s);
}

// Returns the run of "run/checkpoints/last.safetensors".
std::string RunOf(const std::string& checkpoint) {
  std::string directory = checkpoint;
  for (int level = 0; level < 2; ++level) {
    const size_t slash = directory.rfind('/');
    if (slash == std::string::npos) return level == 0 ? ".." : ".";
    directory.resize(slash);
  }
  return directory;
}

}  // namespace

absl::StatusOr<std::optional<Split>> KeptSplit(const std::string& directory, const TrainerOptions& options,
                                               const AtomicData& data) {
  if (!GoesOn(directory, options)) return std::nullopt;
  const bool may_be_other = MayHaveOtherData(options);
  if (!may_be_other && !WentOn(directory, options)) return std::nullopt;
  const std::string run = options.resume_from.empty() ? directory : RunOf(options.resume_from);
  const std::array<const char*, 3> names = {"train", "validation", "test"};
  std::map<std::string, int> set_of_hash;
  std::map<std::pair<int64_t, std::string>, int> set_of_both;  // copies may be in several sets
  for (int set = 0; set < 3; ++set) {
    const std::string path = absl::StrCat(run, "/", names[set], "_frames.txt");
    StructureList list;
    if (FileExists(path)) {
      ASSIGN_OR_RETURN(list, ReadStructureList(path));
    }
    if (set == 0 && !list.has_hashes()) {
      if (!may_be_other) return std::nullopt;
      PrintWarning(absl::StrCat(path,
                                " does not say which structures the run trained on: those of its test and "
                                "validation sets are drawn anew, and may be among them"));
      return std::nullopt;
    }
    for (size_t i = 0; i < list.numbers.size(); ++i) {
      set_of_hash.emplace(list.hashes[i], set);
      // Under --overfit_batches the same structures train and validate.
      if (!set_of_both.emplace(std::make_pair(list.numbers[i], list.hashes[i]), set).second) return std::nullopt;
    }
  }
  Split kept;
  std::vector<int64_t> unlisted;
  std::array<std::vector<int64_t>*, 3> sets = {&kept.train, &kept.validation, &kept.test};
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    const std::string hash = data.HashOfNumber(data.number(s));
    const auto both = set_of_both.find({data.number(s), hash});
    const auto found = set_of_hash.find(hash);
    if (both != set_of_both.end()) {
      sets[both->second]->push_back(s);
    } else if (!may_be_other && MayBeLeftOut(data, s)) {
      unlisted.push_back(s);
    } else if (found != set_of_hash.end()) {
      sets[found->second]->push_back(s);
    }
  }
  const int64_t known = static_cast<int64_t>(kept.train.size() + kept.validation.size() + kept.test.size());
  const int64_t others = data.num_structures() - known;
  const std::string stay =
      absl::StrCat(known, " structures are known to ", run, " and stay in their sets: ", kept.train.size(), " train, ",
                   kept.validation.size(), " validate, ", kept.test.size(), " test; ", others);
  if (may_be_other) {
    PrintMessage(absl::StrCat(stay, " others are drawn for the sets"));
    return kept;
  }
  // Where the data may not be others, either nothing is left to be drawn, or the trainer refuses them.
  if (static_cast<int64_t>(unlisted.size()) != others) return std::nullopt;
  PrintMessage(absl::StrCat(stay, " others are in none"));
  // The caller takes them out of the training set again, which is where it looks for structures of weight 0.
  kept.train.insert(kept.train.end(), unlisted.begin(), unlisted.end());
  return kept;
}

bool ResumesSameData(const std::string& directory, const TrainerOptions& options, int64_t num_structures,
                     const Split& split) {
  if (!GoesOn(directory, options) || !options.overrides.empty() || options.data_sha256.empty()) return false;
  const absl::StatusOr<CheckpointSummary> then = ReadCheckpointSummary(CheckpointOf(directory, options));
  return then.ok() && then->data_sha256 == options.data_sha256 &&
         then->data == Fingerprint(num_structures, split.train, split.validation);
}

}  // namespace rutile
