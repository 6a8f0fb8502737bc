#include "tools/common/flags/data_sha256.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "lib/file/sha256.h"

namespace rutile {

std::string DataSha256(const Metadata& metadata, absl::Span<const std::string> inputs) {
  const auto hashes = nlohmann::json::parse(metadata.at("inputs"), nullptr, /*allow_exceptions=*/false);
  std::string all;
  for (const std::string& input : inputs) {
    const std::string hash = hashes.is_object() ? hashes.value(input, "") : "";
    if (hash.empty()) return "";
    absl::StrAppend(&all, hash, "\n");
  }
  return Sha256Hex(all);
}

}  // namespace rutile
