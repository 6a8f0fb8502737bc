#include "tools/train/data/learned_before.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/potential/data/structure_list.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/init_flags.h"

DECLARE_string(init_from);

namespace rutile {
namespace {

// A set of the run whose structures judge it.
struct JudgingSet {
  const char* name;  // as flags and files have it
  const std::vector<int64_t>* structures;
  int64_t learned = 0;  // structures that the model learned
};

// Returns the folders of the models that --init_from names, each once.
absl::StatusOr<std::vector<std::string>> DirectoriesOfModels() {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, InitialFiles());
  std::vector<std::string> directories;
  for (const std::string& path : paths) {
    const size_t slash = path.rfind('/');
    std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    if (std::find(directories.begin(), directories.end(), directory) == directories.end()) {
      directories.push_back(std::move(directory));
    }
  }
  return directories;
}

// Returns a list that a run wrote; an empty one without the file, for a file of that name that no run wrote, and if it
// says no hashes, as old versions did not.
StructureList ReadHashedList(const std::string& path) {
  if (!FileExists(path)) return {};
  absl::StatusOr<StructureList> list = ReadStructureList(path);
  return list.ok() && list->has_hashes() ? *std::move(list) : StructureList();
}

std::set<std::string> HashesOf(const AtomicData& data) {
  std::set<std::string> hashes;
  for (int64_t s = 0; s < data.num_structures(); ++s) hashes.insert(data.HashOfNumber(data.number(s)));
  return hashes;
}

bool IsChosenByFlags(absl::string_view set) {
  const auto is_given = [set](absl::string_view what) { return FlagGiven(absl::StrCat(set, what).c_str()); };
  return is_given("_frames") || is_given("_data") || is_given("_key");
}

// Returns the flags that give the run the sets of the model's run; "" if they would not do.
std::string FlagsThatKeepSets(const std::string& directory, absl::Span<const JudgingSet> sets,
                              const std::set<std::string>& known) {
  std::vector<std::string> flags;
  for (const JudgingSet& set : sets) {
    const std::string path = absl::StrCat(directory, set.name, "_frames.txt");
    const StructureList list = ReadHashedList(path);
    const bool all_are_here = !list.numbers.empty() && std::all_of(list.hashes.begin(), list.hashes.end(),
                                                                   [&](const auto& h) { return known.count(h) > 0; });
    if (set.learned > 0 && !all_are_here) return std::string();
    // What is drawn beside a named set could meet learned structures, too.
    if (all_are_here && (set.learned > 0 || !IsChosenByFlags(set.name))) {
      flags.push_back(absl::StrCat("--", set.name, "_frames=", path));
    }
  }
  return absl::StrJoin(flags, " ");
}

}  // namespace

absl::StatusOr<std::string> DescribeLearnedBefore(const AtomicData& data, const Split& split) {
  if (FLAGS_init_from.empty()) return std::string();
  ASSIGN_OR_RETURN(const std::vector<std::string> directories, DirectoriesOfModels());
  for (const std::string& directory : directories) {
    const std::string path = absl::StrCat(directory, "train_frames.txt");
    const StructureList trained = ReadHashedList(path);
    const std::set<std::string> learned(trained.hashes.begin(), trained.hashes.end());
    std::vector<JudgingSet> sets;
    if (!split.validation.empty()) sets.push_back({"validation", &split.validation});
    if (!split.test.empty()) sets.push_back({"test", &split.test});
    std::vector<std::string> found;
    for (JudgingSet& set : sets) {
      set.learned = std::count_if(set.structures->begin(), set.structures->end(),
                                  [&](int64_t s) { return learned.count(data.HashOfNumber(data.number(s))) > 0; });
      if (set.learned == 0) continue;
      found.push_back(absl::StrCat(set.learned, " of ", set.structures->size(), " ", set.name, " structures"));
    }
    if (found.empty()) continue;
    const std::string flags = FlagsThatKeepSets(directory, sets, HashesOf(data));
    return absl::StrCat(
        "--init_from=", FLAGS_init_from, " learned ", absl::StrJoin(found, " and "), " of this run, as ", path,
        " says: errors on them are too small. ",
        flags.empty() ? "Name sets of other structures (--validation_data, --test_data, --validation_frames and so on)"
                      : absl::StrCat("The sets of its run hold none: ", flags));
  }
  return std::string();
}

}  // namespace rutile
