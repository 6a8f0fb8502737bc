// Options of tracin that do not depend on the domain, made from flags; each flag without effect is refused.

#ifndef RUTILE_TOOLS_TRACIN_TRACIN_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_TRACIN_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/influence/tracin_options.h"
#include "lib/task/precision.h"

namespace rutile {

enum class TracinMode {
  kTests,        // influence of training examples on tests
  kSingle,       // the same for tests chosen by number
  kSelf,         // influence of training examples on themselves
  kLeaveOneOut,  // errors of training structures as if each had been left out
  kCurvature,    // the curvature of the loss, to a file
  kMerge         // no computation: merges files of shards, or prints a file as a table
};

// What gradients are multiplied by before their products are formed.
enum class Precondition { kNone, kAdam, kGaussNewton, kEkFac };
// INVALID_ARGUMENT for another --precondition.
absl::StatusOr<Precondition> PreconditionFromFlag();

// What a checkpoint's products are multiplied by.
enum class CheckpointRates { kAuto, kInterval, kCheckpoint };

// The options of a run.
struct TracinFlags {
  TracinMode mode = TracinMode::kTests;
  std::vector<std::string> train, test;  // files, expanded
  std::string model;                     // "": next to the checkpoints
  // Test numbers, from 0, for kSingle; empty otherwise.
  std::vector<int64_t> test_indices;
  int64_t max_tests = 0;  // only the first max_tests tests; 0: all
  TracInOptions options;  // except parts and test_weight
  bool aggregate = false;
  std::string test_weights;  // file, or ""
  TrainSampling sampling;
  std::string stratify_by;  // "": no strata
  int shard = 1, num_shards = 1;
  int num_processes = 1;      // number of processes to start, each for a shard
  std::string part;           // in a process started for a shard: the only file to write
  bool adam = false;          // precondition gradients with Adam's state
  bool gauss_newton = false;  // or with the inverse of the loss's Gauss-Newton matrix
  bool unrolled = false;      // derivatives through the steps of the run
  bool ek_fac = false;        // with gauss_newton: the matrix in blocks, by EK-FAC
  CheckpointRates checkpoint_rates = CheckpointRates::kAuto;
  std::string merged_quantity;             // with kMerge of structures: what the scores are of, by their files
  std::optional<double> learning_rate;     // replaces the checkpoints' rates
  Precision precision = Precision::kAuto;  // or kFp32, kFp64, kBf16
  uint64_t seed = 0;
  int64_t verify = 0;
  bool resume = false, strict = false, progress = true;

  // "--precondition=gauss-newton" or "--precondition=ek-fac", for messages about either.
  std::string CurvatureFlag() const;
  bool has_tests() const { return mode == TracinMode::kTests || mode == TracinMode::kSingle; }
};

// Reads the flags. INVALID_ARGUMENT naming the flag, its value and what would fit.
absl::StatusOr<TracinFlags> TracinFlagsFromFlags();

// Prints a warning, or with --strict returns INVALID_ARGUMENT.
absl::Status WarnOrRefuse(const TracinFlags& flags, const std::string& what);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_TRACIN_FLAGS_H_
