// What is asked of tracin, whatever the domain: from flags to options, with each flag that would have no effect
// refused.

#ifndef RUTILE_TOOLS_TRACIN_TRACIN_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_TRACIN_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/influence/tracin_options.h"

namespace rutile {

enum class TracinMode {
  kTests,   // of training examples on tests
  kSingle,  // the same, of tests chosen by number
  kSelf,    // of training examples on themselves
  kMerge    // nothing is computed: files of shards become one, or a file a table
};

enum class TracinPrecision { kAuto, kFp32, kFp64, kBf16 };

struct TracinFlags {
  TracinMode mode = TracinMode::kTests;
  std::vector<std::string> train, test;  // files, expanded
  std::string model;                     // "": next to the checkpoints
  // Of kSingle, else empty; numbers of tests from 0.
  std::vector<int64_t> test_indices;
  int64_t max_tests = 0;  // the first so many; 0: all
  TracInOptions options;  // but for parts and test_weight
  bool aggregate = false;
  std::string test_weights;  // file, or ""
  TrainSampling sampling;
  std::string stratify_by;  // "": not
  int shard = 1, num_shards = 1;
  int num_processes = 1;                // to start, each for a shard
  std::string part;                     // of a process that was started so: its shard goes there, and nowhere else
  bool adam = false;                    // precondition
  std::optional<double> learning_rate;  // in place of the checkpoints'
  TracinPrecision precision = TracinPrecision::kAuto;
  uint64_t seed = 0;
  int64_t verify = 0;
  bool resume = false, strict = false, progress = true;

  bool has_tests() const { return mode == TracinMode::kTests || mode == TracinMode::kSingle; }
};

// INVALID_ARGUMENT naming the flag, its value and what would fit.
absl::StatusOr<TracinFlags> TracinFlagsFromFlags();

// A warning, or with --strict INVALID_ARGUMENT.
absl::Status WarnOrRefuse(const TracinFlags& flags, const std::string& what);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_TRACIN_FLAGS_H_
