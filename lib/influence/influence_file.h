// Files of kind influence/1, and influence-partial/1 for what a run cut off has done so far.
//
// What they hold is declared in InfluenceSchema() and PartialInfluenceSchema() and printed in docs/formats.md.

#ifndef RUTILE_LIB_INFLUENCE_INFLUENCE_FILE_H_
#define RUTILE_LIB_INFLUENCE_INFLUENCE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/influence/influence_description.h"
#include "lib/influence/tracin.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& InfluenceSchema();
const Schema& PartialInfluenceSchema();

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

// INVALID_ARGUMENT when the file was left by a computation with another description, naming what differs; DATA_LOSS and
// so on when it is damaged.
absl::StatusOr<InfluenceState> ReadPartialInfluence(absl::string_view path, const InfluenceDescription& description);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_INFLUENCE_FILE_H_
