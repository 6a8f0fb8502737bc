#include "tools/common/flags/distinct_inputs.h"

#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace rutile {

absl::Status CheckDistinctFiles(absl::Span<const std::string> inputs, absl::string_view why) {
  std::map<std::pair<dev_t, ino_t>, const std::string*> seen;
  for (const std::string& input : inputs) {
    struct stat info;
    if (input == "-" || ::stat(input.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const auto [there, is_new] = seen.emplace(std::make_pair(info.st_dev, info.st_ino), &input);
    if (is_new) continue;
    const std::string& first = *there->second;
    return absl::InvalidArgumentError(absl::StrCat(
        first == input ? absl::StrCat(first, " is given twice") : absl::StrCat(first, " and ", input, " are one file"),
        ": ", why, "; give it once"));
  }
  return absl::OkStatus();
}

std::string SameContents(const Metadata& metadata, absl::Span<const std::string> inputs) {
  const auto found = metadata.find("inputs");
  if (found == metadata.end()) return "";
  const auto hashes = nlohmann::json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  if (!hashes.is_object()) return "";
  std::map<std::string, const std::string*> seen;
  std::string first;
  int copies = 0;
  for (const std::string& input : inputs) {
    const std::string hash = hashes.value(input, "");
    if (hash.empty()) continue;
    const auto [there, is_new] = seen.emplace(hash, &input);
    if (is_new) continue;
    if (++copies == 1) first = absl::StrCat(*there->second, " and ", input, " have the same content");
  }
  if (copies == 0) return "";
  return absl::StrCat(first, copies > 1 ? absl::StrCat(", and ", copies - 1, " more files that of another") : "", ": ",
                      kTrainedAndValidated, "; leave one of them out");
}

}  // namespace rutile
