#include "lib/file/shards.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

constexpr size_t kDigits = 5;
constexpr absl::string_view kOf = "-of-";

// Returns the position of a path's extension, or the path's end if there is none.
size_t ExtensionOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == absl::string_view::npos ? 0 : slash + 1;
  const size_t dot = path.rfind('.');
  return dot == absl::string_view::npos || dot <= name ? path.size() : dot;
}

// Removes "TEXT00012" from the end of `from`; false if it does not end so.
bool ConsumeNumber(absl::string_view text, absl::string_view* from, int* number) {
  size_t begin = from->size();
  while (begin > 0 && absl::ascii_isdigit((*from)[begin - 1])) --begin;
  if (from->size() - begin < kDigits || !absl::SimpleAtoi(from->substr(begin), number)) return false;
  if (begin < text.size() || from->substr(begin - text.size(), text.size()) != text) return false;
  from->remove_suffix(from->size() - (begin - text.size()));
  return true;
}

// The shards of one set that are among the inputs.
struct Set {
  std::map<int, std::set<int>> shards;  // by number of shards in the set
  std::set<std::string> named;
  bool found = false;
};

absl::Status CheckSet(const std::string& name, const Set& set) {
  const auto& [num_shards, shards] = *set.shards.begin();
  if (set.shards.size() > 1) {
    const auto& [other_number, others] = *std::next(set.shards.begin());
    return absl::InvalidArgumentError(absl::StrCat(
        ShardName(name, *shards.begin(), num_shards), " and ", ShardName(name, *others.begin(), other_number),
        " are both given, shards of two sets with one name: remove the set that is left from an earlier run"));
  }
  if (static_cast<int>(shards.size()) == num_shards) return absl::OkStatus();
  int missing = 1;
  while (shards.count(missing) > 0) ++missing;
  const int more = num_shards - static_cast<int>(shards.size()) - 1;
  return absl::InvalidArgumentError(absl::StrCat(
      ShardName(name, missing, num_shards), more > 0 ? absl::StrCat(" and ", more, " more shards are") : " is",
      " missing, expected all ", num_shards, ": make the rest, or write in list:FILE which ones to use"));
}

}  // namespace

std::string ShardName(absl::string_view path, int shard, int num_shards) {
  CHECK(shard >= 1 && shard <= num_shards) << "shard " << shard << " of " << num_shards;
  if (path == "-") return "-";
  const size_t dot = ExtensionOf(path);
  return absl::StrFormat("%s-%05d%s%05d%s", path.substr(0, dot), shard, kOf, num_shards, path.substr(dot));
}

std::optional<Shard> ParseShardName(absl::string_view path) {
  const size_t dot = ExtensionOf(path);
  absl::string_view rest = path.substr(0, dot);
  Shard shard;
  if (!ConsumeNumber(kOf, &rest, &shard.num_shards) || !ConsumeNumber("-", &rest, &shard.shard)) return std::nullopt;
  if (shard.shard < 1 || shard.shard > shard.num_shards) return std::nullopt;
  shard.set = absl::StrCat(rest, path.substr(dot));
  // If the digits differ from those that ShardName writes, the name is not one of ours.
  if (ShardName(shard.set, shard.shard, shard.num_shards) != path) return std::nullopt;
  return shard;
}

absl::Status CheckShards(absl::Span<const InputFile> files) {
  std::map<std::string, Set> sets;
  for (const InputFile& file : files) {
    const std::optional<Shard> shard = ParseShardName(file.path);
    if (!shard.has_value()) continue;
    Set& set = sets[shard->set];
    set.shards[shard->num_shards].insert(shard->shard);
    if (file.origin == InputOrigin::kNamed) set.named.insert(file.path);
    if (file.origin == InputOrigin::kFound) set.found = true;
  }
  for (const auto& [name, set] : sets) {
    if (set.found || set.named.size() > 1) RETURN_IF_ERROR(CheckSet(name, set));
  }
  return absl::OkStatus();
}

}  // namespace rutile
