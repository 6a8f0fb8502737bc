#include "tools/common/flags/split_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/input_files.h"
#include "tools/common/flags/distinct_inputs.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_double(
    validation_fraction, 0.1,
    "Share of the examples used to choose the best model, of those that no flag names for the test. They are drawn "
    "at random.");
DEFINE_double(
    test_fraction, 0,
    "Share of the examples held out for testing, of those that no flag names for validation. They are drawn at "
    "random, and training never sees them.");
DEFINE_int64(split_seed, 0, "Random seed for drawing validation and test examples. It is independent of --seed.");
DEFINE_string(validation_data, "",
              "Files of validation examples, with commas between, of the kind of the data to train on: files, "
              "directories or globs. None of these examples trains. They are numbered after the data to train on.");
DEFINE_string(test_data, "",
              "Files of test examples, likewise. They are numbered after the data to train on and --validation_data.");
DEFINE_string(validation_frames, "",
              "File with the numbers of the validation structures, counted from 0 over all that is read, filtered or "
              "not. It replaces "
              "the random draw. A list that a run wrote finds its structures by their content.");
DEFINE_string(
    test_frames, "",
    "File with the numbers of the test structures, counted from 0 over all that is read, filtered or not. It replaces "
    "the random draw. A list that a run wrote finds its structures by their content.");
DEFINE_string(validation_key, "", "KEY:GLOB that selects the validation examples, as in config_type:valid*.");
DEFINE_string(test_key, "", "KEY:GLOB that selects the test examples, as in config_type:test*.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

absl::StatusOr<std::vector<std::string>> Expand(const char* flag, const std::string& value) {
  if (value.empty()) return std::vector<std::string>();
  absl::StatusOr<std::vector<std::string>> files = ExpandInputs(SplitInputs(value));
  if (!files.ok()) return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", files.status().message()));
  if (std::find(files->begin(), files->end(), "-") != files->end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, "=", value, ": standard input holds data to train on; name a file, or a pipe as by <(command)"));
  }
  return files;
}

// A key chooses among the examples of no file that is a set by itself.
void LeaveOut(const std::optional<std::vector<int64_t>>& held, std::vector<bool>* mask) {
  if (!held.has_value() || mask->empty()) return;
  for (const int64_t example : *held) (*mask)[example] = false;
}

}  // namespace

absl::StatusOr<SplitFiles> SplitFilesFromFlags(absl::Span<const std::string> inputs) {
  SplitFiles files;
  ASSIGN_OR_RETURN(files.validation, Expand("validation_data", FLAGS_validation_data));
  ASSIGN_OR_RETURN(files.test, Expand("test_data", FLAGS_test_data));
  std::vector<std::string> all = files.validation;
  all.insert(all.end(), files.test.begin(), files.test.end());
  RETURN_IF_ERROR(CheckDistinctFiles(all, "--validation_data and --test_data are sets apart"));
  all.insert(all.end(), inputs.begin(), inputs.end());
  RETURN_IF_ERROR(CheckDistinctFiles(all));
  return files;
}

absl::StatusOr<SplitOptions> SplitOptionsFromFlags(const SplitFiles& files, const SplitLookup& lookup,
                                                   bool shares_of_named) {
  SplitOptions options;
  options.seed = FLAGS_split_seed;
  options.validation_fraction = FLAGS_validation_fraction;
  options.test_fraction = FLAGS_test_fraction;
  struct Source {
    const char* set;
    const std::vector<std::string>& files;
    const std::string& frames;
    const std::string& key;
    std::optional<std::vector<int64_t>>* examples;
    std::vector<bool>* mask;
  };
  int64_t held_out = 0;
  for (const Source& source :
       {Source{"validation", files.validation, FLAGS_validation_frames, FLAGS_validation_key,
               &options.validation_examples, &options.validation_mask},
        Source{"test", files.test, FLAGS_test_frames, FLAGS_test_key, &options.test_examples, &options.test_mask}}) {
    const std::string fraction = absl::StrCat(source.set, "_fraction");
    if (!source.files.empty() + !source.frames.empty() + !source.key.empty() + FlagGiven(fraction.c_str()) > 1) {
      return absl::InvalidArgumentError(absl::StrCat("--", source.set, "_data, --", source.set, "_frames, --",
                                                     source.set, "_key and --", fraction, " each choose the ",
                                                     source.set, " set: give one of them"));
    }
    if (!source.files.empty()) {
      ASSIGN_OR_RETURN(*source.examples, lookup.of_files(source.files));
      held_out += static_cast<int64_t>((*source.examples)->size());
    }
    if (!source.frames.empty()) {
      ASSIGN_OR_RETURN(*source.examples, lookup.listed(source.frames));
    }
    if (!source.key.empty()) {
      const size_t colon = source.key.find(':');
      if (colon == std::string::npos || colon == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", source.set, "_key=", source.key, ": expected KEY:GLOB, as in config_type:test*"));
      }
      ASSIGN_OR_RETURN(*source.mask, lookup.mask(source.key.substr(0, colon), source.key.substr(colon + 1)));
    }
  }
  if (shares_of_named) options.shares_of = lookup.num_examples - held_out;
  if (!files.validation.empty()) LeaveOut(options.validation_examples, &options.test_mask);
  if (!files.test.empty()) LeaveOut(options.test_examples, &options.validation_mask);
  const bool draws_validation = !options.validation_examples.has_value() && FLAGS_validation_key.empty();
  const bool draws_test = !options.test_examples.has_value() && FLAGS_test_key.empty();
  if (!(draws_validation && options.validation_fraction > 0) && !(draws_test && options.test_fraction > 0)) {
    RETURN_IF_ERROR(RefuseFlags("where neither the validation nor the test set is drawn", {"split_seed"}));
  }
  return options;
}

}  // namespace rutile
