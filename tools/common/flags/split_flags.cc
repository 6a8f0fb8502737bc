#include "tools/common/flags/split_flags.h"

#include <gflags/gflags.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_double(validation_fraction, 0.1,
              "Share of the examples used to choose the best model. They are drawn at random.");
DEFINE_double(test_fraction, 0,
              "Share of the examples held out for testing. They are drawn at random, and training never sees them.");
DEFINE_int64(split_seed, 0, "Random seed for drawing validation and test examples. It is independent of --seed.");
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

}  // namespace

absl::StatusOr<SplitOptions> SplitOptionsFromFlags(
    const std::function<absl::StatusOr<std::vector<bool>>(absl::string_view, absl::string_view)>& mask,
    const std::function<absl::StatusOr<std::vector<int64_t>>(const std::string&)>& listed) {
  SplitOptions options;
  options.seed = FLAGS_split_seed;
  options.validation_fraction = FLAGS_validation_fraction;
  options.test_fraction = FLAGS_test_fraction;
  struct Source {
    const char* set;
    const std::string& frames;
    const std::string& key;
    std::optional<std::vector<int64_t>>* examples;
    std::vector<bool>* mask;
  };
  for (const Source& source :
       {Source{"validation", FLAGS_validation_frames, FLAGS_validation_key, &options.validation_examples,
               &options.validation_mask},
        Source{"test", FLAGS_test_frames, FLAGS_test_key, &options.test_examples, &options.test_mask}}) {
    const std::string fraction = absl::StrCat(source.set, "_fraction");
    if (!source.frames.empty() + !source.key.empty() + FlagGiven(fraction.c_str()) > 1) {
      return absl::InvalidArgumentError(absl::StrCat("--", source.set, "_frames, --", source.set, "_key and --",
                                                     fraction, " each choose the ", source.set,
                                                     " set: give one of them"));
    }
    if (!source.frames.empty()) {
      ASSIGN_OR_RETURN(*source.examples, listed(source.frames));
    }
    if (!source.key.empty()) {
      const size_t colon = source.key.find(':');
      if (colon == std::string::npos || colon == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", source.set, "_key=", source.key, ": expected KEY:GLOB, as in config_type:test*"));
      }
      ASSIGN_OR_RETURN(*source.mask, mask(source.key.substr(0, colon), source.key.substr(colon + 1)));
    }
  }
  const bool draws_validation = FLAGS_validation_frames.empty() && FLAGS_validation_key.empty();
  const bool draws_test = FLAGS_test_frames.empty() && FLAGS_test_key.empty();
  if (!(draws_validation && options.validation_fraction > 0) && !(draws_test && options.test_fraction > 0)) {
    RETURN_IF_ERROR(RefuseFlags("where neither the validation nor the test set is drawn", {"split_seed"}));
  }
  return options;
}

}  // namespace rutile
