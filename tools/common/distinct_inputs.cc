#include "tools/common/distinct_inputs.h"

#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

absl::Status Twice(const std::string& first, const std::string& second, absl::string_view what,
                   absl::string_view remedy) {
  return absl::InvalidArgumentError(absl::StrCat(
      first == second ? absl::StrCat(first, " is given twice") : absl::StrCat(first, " and ", second, " ", what),
      ": what is trained on would also be validated; ", remedy));
}

}  // namespace

absl::Status CheckDistinctFiles(absl::Span<const std::string> inputs) {
  std::map<std::pair<dev_t, ino_t>, const std::string*> seen;
  for (const std::string& input : inputs) {
    struct stat info;
    if (input == "-" || ::stat(input.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const auto [there, is_new] = seen.emplace(std::make_pair(info.st_dev, info.st_ino), &input);
    if (!is_new) return Twice(*there->second, input, "are one file", "give it once");
  }
  return absl::OkStatus();
}

absl::Status CheckDistinctContents(const Metadata& metadata, absl::Span<const std::string> inputs) {
  const auto found = metadata.find("inputs");
  if (found == metadata.end()) return absl::OkStatus();
  const auto hashes = nlohmann::json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  if (!hashes.is_object()) return absl::OkStatus();
  std::map<std::string, const std::string*> seen;
  for (const std::string& input : inputs) {
    const std::string hash = hashes.value(input, "");
    if (hash.empty()) continue;
    const auto [there, is_new] = seen.emplace(hash, &input);
    if (!is_new) return Twice(*there->second, input, "have the same content", "leave one of them out");
  }
  return absl::OkStatus();
}

}  // namespace rutile
