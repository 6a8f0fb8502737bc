// Evaluation in parts: which part to compute, and how to recognize parts among the inputs.

#ifndef RUTILE_TOOLS_EVALUATE_SHARDS_H_
#define RUTILE_TOOLS_EVALUATE_SHARDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// One part of an evaluation.
struct EvaluateShard {
  int shard = 1, num_shards = 1;

  bool is_part() const { return num_shards > 1; }
  // Returns OUTPUT_DIR/STEM.safetensors, or STEM-0000i-of-0000n.safetensors for a part.
  std::string Path(absl::string_view output_dir, absl::string_view stem) const;
  // Adds the key "shard" for a part.
  void Describe(Metadata* metadata) const;
};

// Reads --shard. INVALID_ARGUMENT: a text other than i/n, or a part without --output_dir.
absl::StatusOr<EvaluateShard> ShardFromFlags();

// True if the files are of this kind ("predictions") and made by evaluate. INVALID_ARGUMENT if only some are.
absl::StatusOr<bool> AreResults(absl::Span<const std::string> paths, absl::string_view kind);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_SHARDS_H_
