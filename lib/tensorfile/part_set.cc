#include "lib/tensorfile/part_set.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr int kMostShards = 99999;  // largest number of shards that --shard accepts

struct Part {
  int shard = 1, num_shards = 1;
};

std::string Value(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

absl::StatusOr<Part> PartOf(const TensorFile& file) {
  const std::string text = Value(file, "shard");
  Part part;
  if (text.empty()) return part;
  const std::vector<absl::string_view> numbers = absl::StrSplit(text, '/');
  if (numbers.size() == 2 && absl::SimpleAtoi(numbers[0], &part.shard) &&
      absl::SimpleAtoi(numbers[1], &part.num_shards) && part.shard >= 1 && part.shard <= part.num_shards &&
      part.num_shards <= kMostShards) {
    return part;
  }
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": its metadata has \"shard\" \"", text,
                                                 "\", expected i/n with 1 <= i <= n, as in 3/16"));
}

// Returns the hashes of the inputs, sorted; paths may differ on another machine.
std::vector<std::string> InputHashes(const TensorFile& file) {
  const auto json = nlohmann::json::parse(Value(file, "inputs"), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> hashes;
  if (json.is_object()) {
    for (const auto& item : json.items()) {
      if (item.value().is_string()) hashes.push_back(item.value().get<std::string>());
    }
  }
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

absl::Status CheckSame(const TensorFile& first, const TensorFile& file, absl::Span<const std::string> same) {
  for (const std::string& key : same) {
    if (Value(first, key) == Value(file, key)) continue;
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": has ", key, " \"", Value(file, key), "\", but ",
                                                   first.path, " has \"", Value(first, key),
                                                   "\": they are not parts of one result"));
  }
  if (InputHashes(first) == InputHashes(file)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": was made from another model or other data than ",
                                                 first.path, ": they are not parts of one result"));
}

}  // namespace

std::string PartText(int shard, int num_shards) { return absl::StrCat(shard, "/", num_shards); }

absl::StatusOr<std::vector<size_t>> OrderParts(absl::Span<const TensorFile> files, absl::Span<const std::string> same) {
  if (files.empty()) return absl::InvalidArgumentError("there are no parts");
  ASSIGN_OR_RETURN(const Part first, PartOf(files[0]));
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> order(first.num_shards, kNone);
  for (size_t f = 0; f < files.size(); ++f) {
    ASSIGN_OR_RETURN(const Part part, PartOf(files[f]));
    if (files.size() > 1 && part.num_shards == 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(files[f].path, ": is a whole result, not a part of one: name it alone"));
    }
    if (part.num_shards != first.num_shards) {
      return absl::InvalidArgumentError(absl::StrCat(files[f].path, ": is shard ", Value(files[f], "shard"), ", but ",
                                                     files[0].path, " is ", Value(files[0], "shard"),
                                                     ": they are not parts of one result"));
    }
    size_t& place = order[part.shard - 1];
    if (place != kNone) {
      return absl::InvalidArgumentError(
          absl::StrCat(files[f].path, ": is shard ", Value(files[f], "shard"), ", and so is ", files[place].path));
    }
    place = f;
    RETURN_IF_ERROR(CheckSame(files[0], files[f], same));
  }
  const auto missing = std::find(order.begin(), order.end(), kNone);
  if (missing == order.end()) return order;
  const int64_t more = std::count(order.begin(), order.end(), kNone) - 1;
  return absl::InvalidArgumentError(
      absl::StrCat("shard ", missing - order.begin() + 1, "/", order.size(), " of ", files[0].path,
                   more > 0 ? absl::StrCat(" and ", more, " more are") : " is", " missing: name all parts"));
}

absl::Status CheckMadeFrom(const TensorFile& file, absl::string_view what, const std::string& path) {
  const absl::StatusOr<std::string> hash_of_file = Sha256HexOfFile(path);
  if (!hash_of_file.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("whether ", file.path, " was made from the ", what,
                                                   " cannot be seen: ", hash_of_file.status().message()));
  }
  const std::string& hash = *hash_of_file;
  const std::vector<std::string> inputs = InputHashes(file);
  if (std::binary_search(inputs.begin(), inputs.end(), hash)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": was not made from the ", what, " ", path, " (SHA-256 ",
                                                 hash.substr(0, 16), "...), but from another"));
}

}  // namespace rutile
