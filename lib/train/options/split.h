// Splits examples into a training, a validation and a test set.
//
// Example:
//   SplitOptions options;
//   options.seed = 7;
//   options.validation_fraction = 0.1;
//   options.test_examples = {3, 14, 15};
//   ASSIGN_OR_RETURN(const Split split, SplitExamples(task.num_examples(), options));

#ifndef RUTILE_LIB_TRAIN_OPTIONS_SPLIT_H_
#define RUTILE_LIB_TRAIN_OPTIONS_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace rutile {

// Three sets of example indices: disjoint, sorted, and together 0 .. n-1.
struct Split {
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
  std::vector<int64_t> test;
  // The whole validation set, where `validation` is a sample of it. A run that goes on may have another sample, but not
  // another set. Empty: `validation` is the whole.
  std::vector<int64_t> whole_validation = {};
};

// How to split. Examples named explicitly go where they are named. From the rest, in an order fixed by the seed, first
// the test set and then the validation set are drawn, and the remainder trains. No examples are drawn for a set that is
// named explicitly.
struct SplitOptions {
  uint64_t seed = 0;
  // Shares of the examples that no set below names, rounded to the nearest number; a share above 0 draws at least one.
  double validation_fraction = 0.1;
  double test_fraction = 0;
  std::optional<int64_t> shares_of;  // shares of so many instead, as earlier versions drew
  // Indices of examples, from 0.
  std::optional<std::vector<int64_t>> validation_examples;
  std::optional<std::vector<int64_t>> test_examples;
  // [n], or empty: true puts an example into this set (for a key of the data that matches, like config_type=test*).
  std::vector<bool> validation_mask;
  std::vector<bool> test_mask;
};

// Splits n examples. INVALID_ARGUMENT: a fraction outside [0, 1), an index outside 0 .. n-1, an example in two sets or
// twice in one, a mask of another length, or no example left to train on.
absl::StatusOr<Split> SplitExamples(int64_t num_examples, const SplitOptions& options);

// Splits n examples of which those of `kept` (disjoint, within 0 .. n-1) stay in their sets. The others are drawn as by
// SplitExamples, until the test and the validation set have their shares; the remainder trains. Where examples
// of a set are named, they are the set: they leave their sets of `kept`, and the set's other examples train. Nothing
// may be masked. INVALID_ARGUMENT: as SplitExamples.
absl::StatusOr<Split> ExtendSplit(int64_t num_examples, const Split& kept, const SplitOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_SPLIT_H_
