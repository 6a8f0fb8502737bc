// Which examples train, which validate, and which are kept for the test.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_SPLIT_H_
#define RUTILE_LIB_TRAIN_OPTIONS_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Disjoint, sorted, and together 0 .. n-1.
struct Split {
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
  std::vector<int64_t> test;
};

// What is named explicitly goes where it is named. From the rest, in an order that the seed fixes, first the test set
// and then the validation set are drawn; what is left trains. A set named explicitly is not drawn as well.
struct SplitOptions {
  uint64_t seed = 0;
  // Shares of all n examples, rounded to the nearest number; above 0 draws at least one.
  double validation_fraction = 0.1;
  double test_fraction = 0;
  // Examples by index, 0-based (ReadIndexFile).
  std::optional<std::vector<int64_t>> validation_examples;
  std::optional<std::vector<int64_t>> test_examples;
  // [n], or empty: true marks an example as of that set (a key of the data that matches: config_type=test*).
  std::vector<bool> validation_mask;
  std::vector<bool> test_mask;
};

// INVALID_ARGUMENT: a fraction outside [0, 1), an index outside 0 .. n-1, an example in two sets or twice in one, a
// mask of another length, nothing left to train on.
absl::StatusOr<Split> SplitExamples(int64_t num_examples, const SplitOptions& options);

// Indices from a text file: whole numbers between white space; # starts a comment that ends with the line. "-" is
// standard input. INVALID_ARGUMENT naming path and line.
absl::StatusOr<std::vector<int64_t>> ReadIndexFile(absl::string_view path);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_SPLIT_H_
