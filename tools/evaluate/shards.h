// evaluate in parts: which part this is, and how parts are told from data.

#ifndef RUTILE_TOOLS_EVALUATE_SHARDS_H_
#define RUTILE_TOOLS_EVALUATE_SHARDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

struct EvaluateShard {
  int shard = 1, num_shards = 1;

  bool is_part() const { return num_shards > 1; }
  // OUTPUT_DIR/STEM.safetensors, or -0000i-of-0000n of it for a part.
  std::string Path(absl::string_view output_dir, absl::string_view stem) const;
  // Adds the key "shard" for a part.
  void Describe(Metadata* metadata) const;
};

// From --shard. INVALID_ARGUMENT: another text than i/n, or a part without --output_dir.
absl::StatusOr<EvaluateShard> ShardFromFlags();

// Whether the files are of this kind ("predictions"), made by evaluate. INVALID_ARGUMENT when only some are.
absl::StatusOr<bool> AreResults(absl::Span<const std::string> paths, absl::string_view kind);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_SHARDS_H_
