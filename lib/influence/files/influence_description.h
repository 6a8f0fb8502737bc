// Describes what scores of influence belong to: the metadata of influence files.

#ifndef RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_DESCRIPTION_H_
#define RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_DESCRIPTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/influence/tracin_options.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The models, data and options of a computation. Shards of one computation agree in all but the shard.
struct InfluenceDescription {
  std::string model;                     // model of the checkpoints: "ConvE", "atomistic"
  std::string train_quantity = "loss";   // what is differentiated for training examples
  std::string test_quantity = "loss";    // and for tests: "loss", "energy", "force of atom 3 along x"
  std::vector<std::string> checkpoints;  // names, in order
  std::vector<std::string> checkpoint_sha256;
  std::vector<double> rates;            // one for each checkpoint
  std::string train_sha256;             // hash of the training examples' source, including names
  std::string test_sha256;              // hash of the tests' source
  std::vector<std::string> test_names;  // [T] one for each of Influence::tests
  InfluenceNormalization normalization = InfluenceNormalization::kNone;
  InfluenceRanking ranking = InfluenceRanking::kHighest;
  int64_t top_k = 0;  // requested number; 0: all
  int shard = 1;      // shard of the training examples, 1 .. num_shards
  int num_shards = 1;
  // Other settings that the scores depend on (preconditioner, precision, parameters, sampling), by name of the flag.
  std::map<std::string, std::string> settings;
};

// Returns the rules for the description's keys, for schemas.
const std::vector<MetadataRule>& InfluenceDescriptionRules();

// Writes the description as metadata. Text that is not UTF-8 is replaced. CHECK-fails on a rate that is not finite.
Metadata DescriptionToMetadata(const InfluenceDescription& description);

// Reads the description from the metadata of a file that has passed its schema, so that all keys exist; other keys are
// ignored. INVALID_ARGUMENT naming the key.
absl::StatusOr<InfluenceDescription> DescriptionFromMetadata(const Metadata& metadata);

// Returns the first key in which two descriptions differ, with both values if they are short ("top_k: 5 and 10"); "" if
// they agree. Without with_shard, "shard" and "num_shards" are not compared.
std::string DescriptionDifference(const InfluenceDescription& a, const InfluenceDescription& b, bool with_shard);

// Returns the hash of what the scores of any one test depend on: all but the names of
// tests and of checkpoint files, and the shard.
std::string QuestionSha256(const InfluenceDescription& description);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_DESCRIPTION_H_
