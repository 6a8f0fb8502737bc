#include "lib/influence/files/influence_file.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/influence/files/influence_tensors.h"
#include "lib/influence/files/merge_influence.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

std::vector<MetadataRule> Rules(std::vector<MetadataRule> own) {
  std::vector<MetadataRule> rules = InfluenceDescriptionRules();
  rules.insert(rules.end(), own.begin(), own.end());
  return rules;
}

absl::Status In(absl::string_view path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<std::vector<std::string>> ReadParts(const TensorFile& file) {
  const nlohmann::json json = nlohmann::json::parse(file.metadata.at("parts"), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> parts;
  if (json.is_array()) {
    for (const nlohmann::json& part : json) {
      if (part.is_string()) parts.push_back(part.get<std::string>());
    }
  }
  if (parts.empty() || parts.size() != json.size()) {
    return absl::InvalidArgumentError("metadata \"parts\": expected a JSON list of strings, at least one");
  }
  return parts;
}

absl::StatusOr<InfluenceFile> Decode(const TensorFile& file) {
  InfluenceFile result;
  ASSIGN_OR_RETURN(std::vector<std::string> parts, ReadParts(file));
  ASSIGN_OR_RETURN(result.influence, InfluenceFromTensors(file.tensors, "", std::move(parts)));
  ASSIGN_OR_RETURN(result.description, DescriptionFromMetadata(file.metadata));
  if (result.description.test_names.size() != result.influence.tests.size()) {
    return absl::InvalidArgumentError(absl::StrCat("metadata \"test_names\": ", result.description.test_names.size(),
                                                   " names for ", result.influence.tests.size(), " tests"));
  }
  result.path = file.path;
  return result;
}

}  // namespace

const Schema& InfluenceSchema() {
  static const Schema& schema = *new Schema{
      "influence/1",
      "Which training examples a model owes its predictions to, made by `tracin`. T tests, N training examples gone "
      "through, L listed, P parts of the parameters; examples are numbered as in their file, from 0 on. Where k are "
      "listed for each test, `train` and `score` can be taken as [T, k].",
      {
          {"tests", {DType::kI64}, {"T"}, true, "test; −1: the weighted sum of tests"},
          {"offset", {DType::kI64}, {"T+1"}, true, "what is listed for test t is [offset[t], offset[t + 1])"},
          {"train", {DType::kI64}, {"L"}, true, "training example, in the order of the ranking"},
          {"score", {DType::kF64}, {"L"}, true, "sum over checkpoints of rate × product of gradients, normalized"},
          {"part_score", {DType::kF64}, {"L", "P"}, false, "what each part adds to the score"},
          {"train_order", {DType::kI64}, {"N"}, true, "the training examples gone through"},
          {"train_self", {DType::kF64}, {"N"}, false, "self-influence: sum of rate × |gradient|², of `train_order`"},
          {"train_self_part", {DType::kF64}, {"N", "P"}, false, "what each part adds to it"},
          {"test_self", {DType::kF64}, {"T"}, false, "self-influence of the tests"},
          {"test_self_part", {DType::kF64}, {"T", "P"}, false, "what each part adds to it"},
      },
      Rules({{"parts", true, "JSON list of the parts' names"}})};
  return schema;
}

const Schema& PartialInfluenceSchema() {
  static const Schema& schema =
      *new Schema{"influence-partial/1",
                  "How far `tracin` came before it was cut off: it goes on from here. Tensors as in `influence/1` "
                  "under `done.` for "
                  "passes over the training examples that are done, and under `open.` for lists that are not final.",
                  {
                      {"place", {DType::kI64}, {"2"}, true, "passes done, training examples done of the next"},
                  },
                  Rules({{"fingerprint", true, "SHA-256 of what decides the result and the order of work"}})};
  return schema;
}

absl::Status WriteInfluence(absl::string_view path, const Influence& influence, const InfluenceDescription& description,
                            const Metadata& provenance) {
  CHECK_EQ(description.test_names.size(), influence.tests.size());
  CHECK_EQ(description.checkpoints.size(), description.rates.size());
  CHECK_EQ(description.checkpoints.size(), description.checkpoint_sha256.size());
  NamedTensors tensors;
  InfluenceToTensors(influence, "", &tensors);
  Metadata metadata = DescriptionToMetadata(description);
  metadata["kind"] = InfluenceSchema().kind;
  metadata["parts"] = nlohmann::json(influence.part_names).dump();
  metadata.insert(provenance.begin(), provenance.end());
  return WriteTensorFile(path, metadata, tensors);
}

absl::StatusOr<InfluenceFile> ReadInfluence(absl::string_view path) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  RETURN_IF_ERROR(CheckSchema(InfluenceSchema(), file).status());
  absl::StatusOr<InfluenceFile> result = Decode(file);
  if (!result.ok()) return In(file.path, result.status());
  return result;
}

absl::StatusOr<InfluenceFile> MergeInfluenceFiles(absl::Span<const InfluenceFile> files) {
  if (files.empty()) return absl::InvalidArgumentError("no files of influence to merge");
  const InfluenceFile& first = files[0];
  const int num_shards = first.description.num_shards;
  std::vector<const InfluenceFile*> shards(num_shards);
  for (const InfluenceFile& file : files) {
    if (const std::string difference = DescriptionDifference(first.description, file.description, false);
        !difference.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(first.path, " and ", file.path, " are not of one computation; they differ in ", difference));
    }
    if (file.description.num_shards != num_shards) {
      return absl::InvalidArgumentError(absl::StrCat(first.path, " is one of ", num_shards, " shards, ", file.path,
                                                     " one of ", file.description.num_shards));
    }
    const InfluenceFile*& shard = shards[file.description.shard - 1];
    if (shard != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(shard->path, " and ", file.path, " are both shard ", file.description.shard));
    }
    shard = &file;
  }
  std::vector<const Influence*> parts;
  for (int i = 0; i < num_shards; ++i) {
    if (shards[i] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard ", i + 1, " of ", num_shards, " is missing beside ", first.path));
    }
    parts.push_back(&shards[i]->influence);
  }
  InfluenceFile merged;
  merged.description = first.description;
  merged.description.shard = merged.description.num_shards = 1;
  absl::StatusOr<Influence> influence = MergeInfluence(parts, first.description.ranking, first.description.top_k);
  if (!influence.ok()) return In(first.path, influence.status());
  merged.influence = *std::move(influence);
  return merged;
}

absl::Status WritePartialInfluence(absl::string_view path, const InfluenceState& state,
                                   const InfluenceDescription& description, const Metadata& provenance) {
  Metadata metadata = DescriptionToMetadata(description);
  metadata["kind"] = PartialInfluenceSchema().kind;
  metadata["fingerprint"] = state.fingerprint;
  metadata.insert(provenance.begin(), provenance.end());
  return WriteTensorFile(path, metadata, state.tensors);
}

absl::StatusOr<InfluenceState> ReadPartialInfluence(absl::string_view path, const InfluenceDescription& description) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  RETURN_IF_ERROR(CheckSchema(PartialInfluenceSchema(), file).status());
  absl::StatusOr<InfluenceDescription> found = DescriptionFromMetadata(file.metadata);
  if (!found.ok()) return In(file.path, found.status());
  if (const std::string difference = DescriptionDifference(*found, description, true); !difference.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": was left by another computation, which differs in ",
                                                   difference, "; remove it to begin anew"));
  }
  InfluenceState state;
  state.fingerprint = file.metadata.at("fingerprint");
  state.tensors = file.tensors;
  return state;
}

}  // namespace rutile
