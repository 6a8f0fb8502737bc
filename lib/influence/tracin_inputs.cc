#include "lib/influence/tracin_inputs.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// Returns INVALID_ARGUMENT unless numbers are below `limit` and distinct.
absl::Status CheckExamples(absl::string_view what, absl::Span<const int64_t> examples, int64_t limit) {
  std::vector<bool> seen(limit);
  for (const int64_t example : examples) {
    if (example < 0 || example >= limit) {
      return absl::InvalidArgumentError(absl::StrCat(what, " ", example, ", expected 0 to ", limit - 1));
    }
    if (seen[example]) return absl::InvalidArgumentError(absl::StrCat(what, " ", example, " is there twice"));
    seen[example] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckRates(absl::Span<const double> rates, size_t num_checkpoints) {
  if (rates.size() != num_checkpoints) {
    return absl::InvalidArgumentError(
        absl::StrCat("rates: ", rates.size(), ", expected one for each of ", num_checkpoints, " checkpoints"));
  }
  bool any = false;
  for (const double rate : rates) {
    if (!std::isfinite(rate) || rate < 0) {
      return absl::InvalidArgumentError(absl::StrCat("rates: ", rate, ", expected a finite number of 0 or more"));
    }
    any = any || rate > 0;
  }
  if (!any) return absl::InvalidArgumentError("rates: all are 0, and so would be all scores");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckInfluenceInputs(const InfluenceInputs& inputs, const TracInOptions& options) {
  RETURN_IF_ERROR(CheckTracInOptions(options));
  if (inputs.checkpoints.empty()) return absl::InvalidArgumentError("checkpoints: none");
  RETURN_IF_ERROR(CheckRates(inputs.rates, inputs.checkpoints.size()));
  const int64_t num_train = inputs.checkpoints[0]->num_train(), num_tests = inputs.checkpoints[0]->num_tests();
  for (const GradientProducts* products : inputs.checkpoints) {
    CHECK_EQ(products->num_train(), num_train);
    CHECK_EQ(products->num_tests(), num_tests);
  }
  if (num_train > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(num_train, " training examples, expected less than 2^31"));
  }
  RETURN_IF_ERROR(CheckExamples("train: training example", inputs.train, num_train));
  if (options.test_weight.empty()) {
    RETURN_IF_ERROR(CheckExamples("tests: test", inputs.tests, num_tests));
    if (inputs.tests.empty() && (options.scores || options.test_self)) {
      return absl::InvalidArgumentError("tests: none, but scores on tests are asked for");
    }
    return absl::OkStatus();
  }
  if (static_cast<int64_t>(options.test_weight.size()) != num_tests) {
    return absl::InvalidArgumentError(
        absl::StrCat("test_weight: ", options.test_weight.size(), " numbers for ", num_tests, " tests"));
  }
  if (inputs.allowed) {
    return absl::InvalidArgumentError("test_weight: does not go with a choice of training examples for each test");
  }
  return absl::OkStatus();
}

}  // namespace rutile
