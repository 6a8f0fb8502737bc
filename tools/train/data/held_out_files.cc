#include "tools/train/data/held_out_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

constexpr int kNamed = 3;  // structures that a warning names

// Warns of structures of one set that also train. trained: their places by the hashes of their content.
void WarnOfTrainedOn(const AtomicData& data, const std::map<std::string, int64_t>& trained, const char* flag,
                     absl::Span<const int64_t> set) {
  std::vector<std::string> named;
  int64_t count = 0;
  for (const int64_t s : set) {
    const auto found = trained.find(data.HashOfNumber(data.number(s)));
    if (found == trained.end()) continue;
    if (++count <= kNamed) named.push_back(absl::StrCat(data.name(s), " is ", data.name(found->second)));
  }
  if (count == 0) return;
  PrintWarning(absl::StrCat(count, " of ", set.size(), " structures of --", flag,
                            " are trained on, too: ", absl::StrJoin(named, ", "), count > kNamed ? ", ..." : "",
                            "; their errors are of what was learned"));
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> PlacesOfFiles(const AtomicData& data, absl::Span<const std::string> files) {
  const std::set<std::string> paths(files.begin(), files.end());
  std::vector<int64_t> places;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    if (paths.count(data.path(s)) > 0) places.push_back(s);
  }
  if (!places.empty()) return places;
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(files, ","), ": no structure is left",
                   data.filters().empty() ? "" : absl::StrCat(": all are left out by ", data.filters())));
}

std::vector<bool> HeldOut(const AtomicData& data, const SplitFiles& files) {
  std::set<std::string> paths(files.validation.begin(), files.validation.end());
  paths.insert(files.test.begin(), files.test.end());
  if (paths.empty()) return {};
  std::vector<bool> held_out(data.num_structures());
  for (int64_t s = 0; s < data.num_structures(); ++s) held_out[s] = paths.count(data.path(s)) > 0;
  return held_out;
}

absl::Status CheckHeldOut(const AtomicData& data, const SplitFiles& files, const Split& split) {
  if (files.validation.empty() && files.test.empty()) return absl::OkStatus();
  std::map<std::string, int64_t> trained;
  for (const int64_t s : split.train) trained.emplace(data.HashOfNumber(data.number(s)), s);
  struct Set {
    const char* flag;
    const std::vector<std::string>& files;
    const std::vector<int64_t>& examples;
  };
  for (const Set& set :
       {Set{"validation_data", files.validation, split.validation}, Set{"test_data", files.test, split.test}}) {
    if (set.files.empty()) continue;
    if (set.examples.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("--", set.flag, "=", absl::StrJoin(set.files, ","),
                                                     ": no structure in it can be compared with: expected some that "
                                                     "have labels and are no isolated atoms"));
    }
    WarnOfTrainedOn(data, trained, set.flag, set.examples);
  }
  return absl::OkStatus();
}

}  // namespace rutile
