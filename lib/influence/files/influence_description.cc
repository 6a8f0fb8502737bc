#include "lib/influence/files/influence_description.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

using Json = nlohmann::json;
constexpr size_t kShort = 100;  // characters of a value that a message quotes

// Names come from files: bytes that are not UTF-8 are replaced, since JSON cannot hold them.
std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

absl::Status KeyError(absl::string_view key, absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("metadata \"", key, "\": ", value.substr(0, kShort), ", expected ", expected));
}

// Reads a JSON value of type T (a list of strings or of numbers, an object of strings).
template <typename T>
absl::Status ReadJson(const Metadata& metadata, absl::string_view key, absl::string_view expected, T* value) {
  const std::string& text = metadata.at(std::string(key));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return KeyError(key, text, expected);
  try {
    *value = json.get<T>();
  } catch (const Json::exception&) {
    return KeyError(key, text, expected);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status ReadInteger(const Metadata& metadata, absl::string_view key, int64_t lowest, T* value) {
  const std::string& text = metadata.at(std::string(key));
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < lowest || number > (int64_t{1} << 30)) {
    return KeyError(key, text, absl::StrCat("an integer of at least ", lowest));
  }
  *value = static_cast<T>(number);
  return absl::OkStatus();
}

}  // namespace

const std::vector<MetadataRule>& InfluenceDescriptionRules() {
  static const std::vector<MetadataRule>& rules = *new std::vector<MetadataRule>{
      {"model", true, "of the checkpoints: `ConvE`, `atomistic` ..."},
      {"train_quantity", true, "what is differentiated for training examples: `loss`"},
      {"test_quantity", true, "what is differentiated for tests: `loss`, or another quantity"},
      {"checkpoints", true, "JSON list of their names, in the order of the sum"},
      {"checkpoint_sha256", true, "JSON list, one for each"},
      {"rates", true, "JSON list, one for each: what its products are multiplied by"},
      {"train_sha256", true, "of what the training examples were read from"},
      {"test_sha256", true, "of what the tests were read from"},
      {"test_names", true, "JSON list, one for each test"},
      {"normalisation", true, "`none`, `cosine` or `train_norm`: what each checkpoint's products are divided by"},
      {"ranking", true, "`highest`, `lowest`, `absolute` or `both`: which training examples are listed"},
      {"top_k", true, "how many are listed for each test (for each side with `both`); 0: all"},
      {"shard", true, "which part of the training examples was gone through, from 1 on"},
      {"num_shards", true, "of how many parts"},
      {"settings", true, "JSON object: whatever else decides the scores, by the flag's name"},
  };
  return rules;
}

Metadata DescriptionToMetadata(const InfluenceDescription& description) {
  for (const double rate : description.rates) CHECK(std::isfinite(rate)) << rate;
  return {
      {"model", description.model},
      {"train_quantity", description.train_quantity},
      {"test_quantity", description.test_quantity},
      {"checkpoints", Dump(description.checkpoints)},
      {"checkpoint_sha256", Dump(description.checkpoint_sha256)},
      {"rates", Dump(description.rates)},
      {"train_sha256", description.train_sha256},
      {"test_sha256", description.test_sha256},
      {"test_names", Dump(description.test_names)},
      {"normalisation", std::string(InfluenceNormalizationName(description.normalization))},
      {"ranking", std::string(InfluenceRankingName(description.ranking))},
      {"top_k", absl::StrCat(description.top_k)},
      {"shard", absl::StrCat(description.shard)},
      {"num_shards", absl::StrCat(description.num_shards)},
      {"settings", Dump(description.settings)},
  };
}

absl::StatusOr<InfluenceDescription> DescriptionFromMetadata(const Metadata& metadata) {
  InfluenceDescription description;
  description.model = metadata.at("model");
  description.train_quantity = metadata.at("train_quantity");
  description.test_quantity = metadata.at("test_quantity");
  constexpr absl::string_view kStrings = "a JSON list of strings";
  RETURN_IF_ERROR(ReadJson(metadata, "checkpoints", kStrings, &description.checkpoints));
  RETURN_IF_ERROR(ReadJson(metadata, "checkpoint_sha256", kStrings, &description.checkpoint_sha256));
  RETURN_IF_ERROR(ReadJson(metadata, "rates", "a JSON list of numbers", &description.rates));
  const size_t num_checkpoints = description.checkpoints.size();
  if (description.rates.size() != num_checkpoints) {
    return KeyError("rates", metadata.at("rates"), absl::StrCat(num_checkpoints, " of them, one for each checkpoint"));
  }
  if (description.checkpoint_sha256.size() != num_checkpoints) {
    return KeyError("checkpoint_sha256", metadata.at("checkpoint_sha256"),
                    absl::StrCat(num_checkpoints, " of them, one for each checkpoint"));
  }
  description.train_sha256 = metadata.at("train_sha256");
  description.test_sha256 = metadata.at("test_sha256");
  RETURN_IF_ERROR(ReadJson(metadata, "test_names", kStrings, &description.test_names));
  ASSIGN_OR_RETURN(description.normalization, ParseInfluenceNormalization(metadata.at("normalisation")));
  ASSIGN_OR_RETURN(description.ranking, ParseInfluenceRanking(metadata.at("ranking")));
  RETURN_IF_ERROR(ReadInteger(metadata, "top_k", 0, &description.top_k));
  RETURN_IF_ERROR(ReadInteger(metadata, "shard", 1, &description.shard));
  RETURN_IF_ERROR(ReadInteger(metadata, "num_shards", description.shard, &description.num_shards));
  RETURN_IF_ERROR(ReadJson(metadata, "settings", "a JSON object of strings", &description.settings));
  return description;
}

std::string DescriptionDifference(const InfluenceDescription& a, const InfluenceDescription& b, bool with_shard) {
  const Metadata left = DescriptionToMetadata(a), right = DescriptionToMetadata(b);
  for (const MetadataRule& rule : InfluenceDescriptionRules()) {
    if (!with_shard && (rule.key == "shard" || rule.key == "num_shards")) continue;
    const std::string &x = left.at(rule.key), &y = right.at(rule.key);
    if (x == y) continue;
    if (x.size() > kShort || y.size() > kShort) return rule.key;
    return absl::StrCat(rule.key, ": ", x, " and ", y);
  }
  return "";
}

std::string QuestionSha256(const InfluenceDescription& description) {
  Sha256 sha256;
  for (const auto& [key, value] : DescriptionToMetadata(description)) {
    if (key == "checkpoints" || key == "test_names" || key == "shard" || key == "num_shards") continue;
    sha256.Update(absl::StrCat(key, " ", value, "\n"));
  }
  return sha256.HexDigest();
}

}  // namespace rutile
