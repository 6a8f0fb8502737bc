// What scores of influence are scores of: what a file says besides its numbers.

#ifndef RUTILE_LIB_INFLUENCE_INFLUENCE_DESCRIPTION_H_
#define RUTILE_LIB_INFLUENCE_INFLUENCE_DESCRIPTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/influence/tracin_options.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Shards of one computation agree in all but the shard.
struct InfluenceDescription {
  std::string model;                     // "ConvE", "atomistic": of the checkpoints
  std::string train_quantity = "loss";   // what is differentiated for training examples
  std::string test_quantity = "loss";    // and for tests: "loss", "energy", "force of atom 3 along x"
  std::vector<std::string> checkpoints;  // names, in order
  std::vector<std::string> checkpoint_sha256;
  std::vector<double> rates;            // one for each checkpoint
  std::string train_sha256;             // of what the training examples were read from, names included
  std::string test_sha256;              // of the tests likewise
  std::vector<std::string> test_names;  // [T] one for each of Influence::tests
  InfluenceNormalization normalization = InfluenceNormalization::kNone;
  InfluenceRanking ranking = InfluenceRanking::kHighest;
  int64_t top_k = 0;  // as asked for; 0: all
  int shard = 1;      // of the training examples, 1 .. num_shards
  int num_shards = 1;
  // Whatever else decides the scores (preconditioner, precision, parameters, sampling), by name of the flag.
  std::map<std::string, std::string> settings;
};

// The keys of the description, for schemas.
const std::vector<MetadataRule>& InfluenceDescriptionRules();

// Text that is not UTF-8 is replaced. CHECK-fails on a rate that is not finite.
Metadata DescriptionToMetadata(const InfluenceDescription& description);

// INVALID_ARGUMENT naming the key. Keys of a file that passed its schema are there; others are ignored.
absl::StatusOr<InfluenceDescription> DescriptionFromMetadata(const Metadata& metadata);

// The first key in which two differ, with both values where they are short ("top_k: 5 and 10"); "" where they are
// alike. Not with_shard: "shard" and "num_shards" are not looked at.
std::string DescriptionDifference(const InfluenceDescription& a, const InfluenceDescription& b, bool with_shard);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_INFLUENCE_DESCRIPTION_H_
