#include "tools/evaluate/shards.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/shards.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/part_set.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/parse_shard.h"
#include "tools/evaluate/common_flags.h"

DEFINE_string(shard, "1/1",
              "i/n: only the i-th of n parts, to a file in --output_dir. Evaluating all of these files gives what one "
              "run gives.");

namespace rutile {
namespace {

bool IsOfKind(const std::string& path, absl::string_view name) {
  if (!LooksLikeTensorFile(path)) return false;
  const absl::StatusOr<TensorFile> file = LookIntoTensorFile(path);
  if (!file.ok()) return false;  // the code that reads it later reports the error
  const absl::StatusOr<FileKind> kind = GetFileKind(*file);
  return kind.ok() && kind->name == name;
}

}  // namespace

std::string EvaluateShard::Path(absl::string_view output_dir, absl::string_view stem) const {
  const std::string path = absl::StrCat(output_dir, "/", stem, ".safetensors");
  return is_part() ? ShardName(path, shard, num_shards) : path;
}

void EvaluateShard::Describe(Metadata* metadata) const {
  if (is_part()) (*metadata)["shard"] = PartText(shard, num_shards);
}

absl::StatusOr<EvaluateShard> ShardFromFlags() {
  EvaluateShard shard;
  RETURN_IF_ERROR(ParseShard(FLAGS_shard, &shard.shard, &shard.num_shards));
  if (shard.is_part() && FLAGS_output_dir.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shard=", FLAGS_shard, " writes a part, to be evaluated with the others: give --output_dir"));
  }
  return shard;
}

absl::StatusOr<bool> AreResults(absl::Span<const std::string> paths, absl::string_view kind) {
  const std::string *result = nullptr, *other = nullptr;
  for (const std::string& path : paths) (IsOfKind(path, kind) ? result : other) = &path;
  if (result == nullptr || other == nullptr) return result != nullptr;
  return absl::InvalidArgumentError(
      absl::StrCat(*other, ": does not go with ", *result, ", of kind ", kind, ": name results alone, or data alone"));
}

}  // namespace rutile
