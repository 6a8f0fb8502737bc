// Reads and writes files of kind subsets/1: a plan of subsets of a run's training examples (subset_plan.h).
//
// Examples are known by their content, whatever their order in the data: structures by the lines of a run's
// train_frames.txt, which have hashes, and triples by their names.

#ifndef RUTILE_LIB_INFLUENCE_FILES_SUBSETS_FILE_H_
#define RUTILE_LIB_INFLUENCE_FILES_SUBSETS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& SubsetsSchema();

// What the lines of a plan are.
inline constexpr char kStructureExamples[] = "structures";  // "12  # b.extxyz#3 4f2a91c07be1"
inline constexpr char kTripleExamples[] = "triples";        // names of head, relation and tail with tabs between

struct SubsetPlan {
  std::string examples;            // kStructureExamples or kTripleExamples
  std::vector<std::string> lines;  // [n]
  int64_t num_subsets = 0;         // M
  std::vector<uint8_t> kept;       // [M, n], 1 for examples that a subset keeps
  double share = 0;                // what was asked for
  uint64_t seed = 0;
  std::string stratify_by;  // "": not stratified
  std::string path;         // that it was read from, for messages

  int64_t num_examples() const { return static_cast<int64_t>(lines.size()); }
  absl::Span<const uint8_t> subset(int64_t m) const {
    return absl::MakeConstSpan(kept).subspan(m * num_examples(), num_examples());
  }
};

// Returns the hash of what decides the trainings: the lines and what is kept. Models record it.
std::string SubsetsSha256(const SubsetPlan& plan);

// Writes a plan atomically. `provenance` is added to the metadata.
absl::Status WriteSubsets(absl::string_view path, const SubsetPlan& plan, const Metadata& provenance);

// Reads a plan. INVALID_ARGUMENT naming the file and the tensor or key that breaks a rule.
absl::StatusOr<SubsetPlan> ReadSubsets(absl::string_view path);

// A subset as users name it, "subsets.safetensors:17".
struct SubsetName {
  std::string path;
  int64_t number = 0;  // from 0
};

// INVALID_ARGUMENT: no file and number with a colon between.
absl::StatusOr<SubsetName> ParseSubsetName(absl::string_view text);

// Metadata of models that were trained on a subset, by which their outcomes are found again.
inline constexpr char kSubsetKey[] = "subset";                 // number, from 0
inline constexpr char kSubsetsSha256Key[] = "subsets_sha256";  // SubsetsSha256
inline constexpr char kSubsetSeedKey[] = "subset_seed";        // --seed of the training

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_FILES_SUBSETS_FILE_H_
