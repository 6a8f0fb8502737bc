#include "tools/train/data/held_out_files.h"

#include <gflags/gflags.h>

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

DECLARE_string(validation_frames);
DECLARE_string(validation_key);
DECLARE_string(test_frames);
DECLARE_string(test_key);

namespace rutile {

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

absl::Status CheckHeldOut(const SplitFiles& files, const Split& split) {
  struct Set {
    const char* flag;
    const std::string value;
    const std::vector<int64_t>& examples;
  };
  for (const Set& set :
       {Set{"validation_data", absl::StrJoin(files.validation, ","), split.validation},
        Set{"validation_frames", FLAGS_validation_frames, split.validation},
        Set{"validation_key", FLAGS_validation_key, split.validation},
        Set{"test_data", absl::StrJoin(files.test, ","), split.test}, Set{"test_frames", FLAGS_test_frames, split.test},
        Set{"test_key", FLAGS_test_key, split.test}}) {
    if (set.value.empty() || !set.examples.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", set.flag, "=", set.value,
                                                   ": no structure of it can be compared with: expected some that have "
                                                   "labels and are no isolated atoms"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
