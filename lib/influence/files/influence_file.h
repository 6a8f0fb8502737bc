// Reads and writes files of kind influence/1, and of kind influence-partial/1 for an interrupted computation.
// InfluenceSchema() and PartialInfluenceSchema() declare their contents, which docs/formats.md prints.

#ifndef RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_FILE_H_
#define RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/influence/files/influence_description.h"
#include "lib/influence/tracin.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& InfluenceSchema();
const Schema& PartialInfluenceSchema();

// The content of a file of kind influence/1.
struct InfluenceFile {
  Influence influence;
  InfluenceDescription description;
  std::string path;  // path that it was read from, for messages
};

// Writes a file atomically. `provenance` is added to the metadata. CHECK-fails if the number of test names is not that
// of tests.
absl::Status WriteInfluence(absl::string_view path, const Influence& influence, const InfluenceDescription& description,
                            const Metadata& provenance);

// Reads a file. INVALID_ARGUMENT naming the file and the tensor or key that breaks a rule.
absl::StatusOr<InfluenceFile> ReadInfluence(absl::string_view path);

// Merges the shards of one computation. INVALID_ARGUMENT naming two files and what they differ in (tests, checkpoints,
// options ...), or a shard that is missing or occurs twice.
absl::StatusOr<InfluenceFile> MergeInfluenceFiles(absl::Span<const InfluenceFile> files);

// Writes the state of an interrupted computation atomically. `description` is that of the final file.
absl::Status WritePartialInfluence(absl::string_view path, const InfluenceState& state,
                                   const InfluenceDescription& description, const Metadata& provenance);

// Reads the state of an interrupted computation. INVALID_ARGUMENT if that had another description, naming the
// difference; DATA_LOSS and others if the file is damaged.
absl::StatusOr<InfluenceState> ReadPartialInfluence(absl::string_view path, const InfluenceDescription& description);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_FILES_INFLUENCE_FILE_H_
