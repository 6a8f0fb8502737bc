// Files of kind influence/1, and influence-partial/1 for what a run cut off has done so far.
//
// What they hold is declared in InfluenceSchema() and PartialInfluenceSchema() and printed in docs/formats.md.

#ifndef RUTILE_LIB_INFLUENCE_INFLUENCE_FILE_H_
#define RUTILE_LIB_INFLUENCE_INFLUENCE_FILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/influence/tracin.h"
#include "lib/influence/tracin_options.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& InfluenceSchema();
const Schema& PartialInfluenceSchema();

// What the scores are scores of. Shards of one computation agree in all but the shard.
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
  InfluenceNormalisation normalisation = InfluenceNormalisation::kNone;
  InfluenceRanking ranking = InfluenceRanking::kHighest;
  int64_t top_k = 0;  // as asked for; 0: all
  int shard = 1;      // of the training examples, 1 .. num_shards
  int num_shards = 1;
  // Whatever else decides the scores (preconditioner, precision, parameters, sampling), by name of the flag.
  std::map<std::string, std::string> settings;
};

struct InfluenceFile {
  Influence influence;
  InfluenceDescription description;
  std::string path;  // where it was read, for messages
};

// Atomic. `provenance` joins the metadata. CHECK-fails where names do not fit the tests.
absl::Status WriteInfluence(absl::string_view path, const Influence& influence, const InfluenceDescription& description,
                            const Metadata& provenance);

// INVALID_ARGUMENT naming the file and the tensor or key that breaks a rule.
absl::StatusOr<InfluenceFile> ReadInfluence(absl::string_view path);

// The shards of one computation as one file. INVALID_ARGUMENT naming two files and what they differ in (tests,
// checkpoints, options ...), a shard that is missing or there twice.
absl::StatusOr<InfluenceFile> MergeInfluenceFiles(absl::Span<const InfluenceFile> files);

// The state of a computation that goes on later; atomic. `description`: of the file that it will become.
absl::Status WritePartialInfluence(absl::string_view path, const InfluenceState& state,
                                   const InfluenceDescription& description, const Metadata& provenance);

// INVALID_ARGUMENT when the file was left by a computation with another description, naming what differs.
absl::StatusOr<InfluenceState> ReadPartialInfluence(absl::string_view path, const InfluenceDescription& description);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_INFLUENCE_FILE_H_
