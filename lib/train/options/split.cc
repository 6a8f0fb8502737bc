#include "lib/train/options/split.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

enum Part : char { kTrain, kValidation, kTest };
constexpr absl::string_view kPartNames[] = {"training", "validation", "test"};

absl::Status Assign(int64_t example, Part part, std::vector<Part>* parts) {
  const auto n = static_cast<int64_t>(parts->size());
  if (example < 0 || example >= n) {
    return absl::InvalidArgumentError(absl::StrCat("split: ", kPartNames[part], " example ", example,
                                                   " does not exist; there are ", n, ", counted from 0"));
  }
  Part& current = (*parts)[example];
  if (current == part) {
    return absl::InvalidArgumentError(
        absl::StrCat("split: example ", example, " is named twice for the ", kPartNames[part], " set"));
  }
  if (current != kTrain) {
    return absl::InvalidArgumentError(absl::StrCat("split: example ", example, " is named for the ",
                                                   kPartNames[current], " set and for the ", kPartNames[part], " set"));
  }
  current = part;
  return absl::OkStatus();
}

absl::Status AssignNamed(const std::optional<std::vector<int64_t>>& examples, const std::vector<bool>& mask, Part part,
                         std::vector<Part>* parts) {
  if (!mask.empty() && mask.size() != parts->size()) {
    return absl::InvalidArgumentError(absl::StrCat("split: the key of the ", kPartNames[part],
                                                   " set was looked up for ", mask.size(), " examples, expected ",
                                                   parts->size()));
  }
  if (examples.has_value()) {
    for (const int64_t example : *examples) RETURN_IF_ERROR(Assign(example, part, parts));
  }
  for (size_t i = 0; i < mask.size(); ++i) {
    // An example may be named by index and by key alike, for the same set.
    if (mask[i] && (*parts)[i] != part) RETURN_IF_ERROR(Assign(i, part, parts));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> NumDrawn(double fraction, int64_t n, absl::string_view option) {
  if (!(fraction >= 0 && fraction < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(option, " is ", fraction, ", expected 0 <= fraction < 1"));
  }
  if (fraction == 0) return 0;
  return std::max<int64_t>(1, std::llround(fraction * static_cast<double>(n)));
}

// Draws so many examples of those that are in no set, in an order fixed by the seed, for the test and the validation
// set. is_open: [n] whether an example may be drawn.
absl::StatusOr<Split> Draw(int64_t num_test, int64_t num_validation, uint64_t seed, const std::vector<bool>& is_open,
                           std::vector<Part> parts) {
  const auto num_examples = static_cast<int64_t>(parts.size());
  for (const int64_t example : RandomPermutation(num_examples, RandomStream(seed, "split"))) {
    if (!is_open[example]) continue;
    if (num_test > 0) {
      parts[example] = kTest;
      --num_test;
    } else if (num_validation > 0) {
      parts[example] = kValidation;
      --num_validation;
    }
  }

  Split split;
  for (int64_t i = 0; i < num_examples; ++i) {
    (parts[i] == kTrain ? split.train : parts[i] == kValidation ? split.validation : split.test).push_back(i);
  }
  if (split.train.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("split: no example of ", num_examples, " is left to train on (",
                                                   split.validation.size(), " validate, ", split.test.size(),
                                                   " test); lower the fractions or name fewer"));
  }
  return split;
}

}  // namespace

absl::StatusOr<Split> SplitExamples(int64_t num_examples, const SplitOptions& options) {
  std::vector<Part> parts(num_examples, kTrain);
  RETURN_IF_ERROR(AssignNamed(options.test_examples, options.test_mask, kTest, &parts));
  RETURN_IF_ERROR(AssignNamed(options.validation_examples, options.validation_mask, kValidation, &parts));

  std::vector<bool> is_open(num_examples);
  for (int64_t i = 0; i < num_examples; ++i) is_open[i] = parts[i] == kTrain;
  const int64_t all = options.shares_of.value_or(std::count(is_open.begin(), is_open.end(), true));
  ASSIGN_OR_RETURN(int64_t num_test, NumDrawn(options.test_fraction, all, "test_fraction"));
  ASSIGN_OR_RETURN(int64_t num_validation, NumDrawn(options.validation_fraction, all, "validation_fraction"));
  if (options.test_examples.has_value() || !options.test_mask.empty()) num_test = 0;
  if (options.validation_examples.has_value() || !options.validation_mask.empty()) num_validation = 0;
  return Draw(num_test, num_validation, options.seed, is_open, std::move(parts));
}

absl::StatusOr<Split> ExtendSplit(int64_t num_examples, const Split& kept, const SplitOptions& options) {
  std::vector<Part> parts(num_examples, kTrain);
  RETURN_IF_ERROR(AssignNamed(options.test_examples, {}, kTest, &parts));
  RETURN_IF_ERROR(AssignNamed(options.validation_examples, {}, kValidation, &parts));
  std::vector<bool> is_open(num_examples);
  for (int64_t i = 0; i < num_examples; ++i) is_open[i] = parts[i] == kTrain;
  const int64_t all = options.shares_of.value_or(std::count(is_open.begin(), is_open.end(), true));
  const bool names_validation = options.validation_examples.has_value(), names_test = options.test_examples.has_value();
  int64_t kept_validation = 0, kept_test = 0;
  for (const int64_t example : kept.train) is_open[example] = false;
  for (const int64_t example : kept.validation) {
    if (is_open[example] && !names_validation) parts[example] = kValidation, ++kept_validation;
    is_open[example] = false;
  }
  for (const int64_t example : kept.test) {
    if (is_open[example] && !names_test) parts[example] = kTest, ++kept_test;
    is_open[example] = false;
  }
  ASSIGN_OR_RETURN(const int64_t num_test, NumDrawn(options.test_fraction, all, "test_fraction"));
  ASSIGN_OR_RETURN(const int64_t num_validation, NumDrawn(options.validation_fraction, all, "validation_fraction"));
  return Draw(names_test ? 0 : std::max<int64_t>(0, num_test - kept_test),
              names_validation ? 0 : std::max<int64_t>(0, num_validation - kept_validation), options.seed, is_open,
              std::move(parts));
}

}  // namespace rutile
