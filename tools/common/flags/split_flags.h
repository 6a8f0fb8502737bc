// The flags that choose validation and test examples.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/train/options/split.h"

namespace rutile {

// Files whose examples are a set by themselves; empty: no such file.
struct SplitFiles {
  std::vector<std::string> validation, test;
};

// From --validation_data and --test_data, expanded as inputs are. INVALID_ARGUMENT: the errors of ExpandInputs, a file
// that is named for both sets or is among `inputs`, standard input.
absl::StatusOr<SplitFiles> SplitFilesFromFlags(absl::Span<const std::string> inputs);

// How examples are found in the data.
struct SplitLookup {
  int64_t num_examples = 0;
  // Tells which examples have a value of that key that fits the glob.
  std::function<absl::StatusOr<std::vector<bool>>(absl::string_view key, absl::string_view pattern)> mask;
  // Reads a list of examples and returns their places.
  std::function<absl::StatusOr<std::vector<int64_t>>(const std::string& path)> listed;
  // Returns the places of all examples of these files, at least one.
  std::function<absl::StatusOr<std::vector<int64_t>>(absl::Span<const std::string> files)> of_files;
};

// From --validation_fraction, --test_fraction, --split_seed, --validation_frames, --test_frames, --validation_key and
// --test_key, beside the files of --validation_data and --test_data. Keys apply to the examples of no such file, shares
// to those that no flag names. shares_of_named: of those that lists and keys name, too, as earlier versions drew.
absl::StatusOr<SplitOptions> SplitOptionsFromFlags(const SplitFiles& files, const SplitLookup& lookup,
                                                   bool shares_of_named);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_
