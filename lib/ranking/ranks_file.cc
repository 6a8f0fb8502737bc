#include "lib/ranking/ranks_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/graph/triple.h"
#include "lib/graph/triple_sample.h"
#include "lib/graph/triples_file.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/part_set.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

struct Number {
  const char* name;
  double RankValues::*value;
};
constexpr Number kNumbers[] = {{"rank", &RankValues::realistic},
                               {"optimistic", &RankValues::optimistic},
                               {"pessimistic", &RankValues::pessimistic},
                               {"expected", &RankValues::expected}};

std::string Name(const char* direction, const char* what) { return absl::StrCat(direction, "_", what); }

// Names of the ranks among candidates.
constexpr char kTailAmong[] = "tail_among", kHeadAmong[] = "head_among", kOutside[] = "outside";

void SetRanks(const char* direction, const std::vector<RankValues>& ranks, NamedTensors* tensors) {
  const int64_t size = static_cast<int64_t>(ranks.size());
  for (const Number& number : kNumbers) {
    Tensor tensor = Tensor::Zeros(DType::kF64, {size});
    const absl::Span<double> values = tensor.mutable_values<double>();
    for (int64_t i = 0; i < size; ++i) values[i] = ranks[i].*number.value;
    tensors->Set(Name(direction, number.name), std::move(tensor));
  }
  Tensor nan = Tensor::Zeros(DType::kBool, {size});
  const absl::Span<bool> values = nan.mutable_values<bool>();
  for (int64_t i = 0; i < size; ++i) values[i] = ranks[i].nan;
  tensors->Set(Name(direction, "nan"), std::move(nan));
}

void SetRanksAmong(const char* direction, const std::vector<RankValues>& ranks, NamedTensors* tensors) {
  if (ranks.empty()) return;
  SetRanks(direction, ranks, tensors);
  Tensor outside = Tensor::Zeros(DType::kBool, {static_cast<int64_t>(ranks.size())});
  const absl::Span<bool> values = outside.mutable_values<bool>();
  for (size_t i = 0; i < ranks.size(); ++i) values[i] = ranks[i].outside;
  tensors->Set(Name(direction, kOutside), std::move(outside));
}

void GetRanks(const TensorFile& file, const char* direction, absl::Span<const int64_t> triples,
              std::vector<RankValues>* ranks) {
  for (const Number& number : kNumbers) {
    const absl::Span<const double> values = file.tensors.At(Name(direction, number.name)).values<double>();
    for (size_t i = 0; i < triples.size(); ++i) (*ranks)[triples[i]].*number.value = values[i];
  }
  const absl::Span<const bool> nan = file.tensors.At(Name(direction, "nan")).values<bool>();
  for (size_t i = 0; i < triples.size(); ++i) (*ranks)[triples[i]].nan = nan[i];
}

void GetOutside(const TensorFile& file, const char* direction, absl::Span<const int64_t> triples,
                std::vector<RankValues>* ranks) {
  const absl::Span<const bool> outside = file.tensors.At(Name(direction, kOutside)).values<bool>();
  for (size_t i = 0; i < triples.size(); ++i) (*ranks)[triples[i]].outside = outside[i];
}

// Checks that a direction is complete or absent; true if it is present.
absl::StatusOr<bool> HasDirection(const TensorFile& file, const char* direction) {
  const bool has = file.tensors.Has(Name(direction, "nan"));
  for (const Number& number : kNumbers) {
    const std::string name = Name(direction, number.name);
    if (file.tensors.Has(name) == has) continue;
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensors \"", name, "\" and \"", Name(direction, "nan"),
                                                   "\" are there together or not at all"));
  }
  return has;
}

// Does this for the ranks among candidates.
absl::StatusOr<bool> HasAmong(const TensorFile& file, const char* direction) {
  ASSIGN_OR_RETURN(const bool has, HasDirection(file, direction));
  const std::string name = Name(direction, kOutside);
  if (file.tensors.Has(name) == has) return has;
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensors \"", name, "\" and \"", Name(direction, "nan"),
                                                 "\" are there together or not at all"));
}

absl::StatusOr<RankTriplesOptions> OptionsOf(const TensorFile& file) {
  RankTriplesOptions options;
  ASSIGN_OR_RETURN(options.split, ParseGraphSplit(file.metadata.at("split")));
  ASSIGN_OR_RETURN(options.filter, ParseRankingFilter(file.metadata.at("filter")));
  ASSIGN_OR_RETURN(options.direction, ParseRankingDirection(file.metadata.at("direction")));
  ASSIGN_OR_RETURN(options.convention, ParseRankingConvention(file.metadata.at("ranking_convention")));
  return options;
}

absl::Status AddPart(const TensorFile& file, std::vector<uint8_t>* seen, StoredRanks* stored) {
  const absl::Span<const int64_t> triples = file.tensors.At("triple").values<int64_t>();
  for (const int64_t i : triples) {
    if (i < 0 || i >= static_cast<int64_t>(seen->size()) || (*seen)[i]++ != 0) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"triple\": ", i, " is no triple of the ",
                                                     GraphSplitName(stored->options.split), " split, or ranked twice"));
    }
  }
  ASSIGN_OR_RETURN(const bool heads, HasDirection(file, "head"));
  if (heads == stored->ranks.head.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": heads are ranked in some of the parts only"));
  }
  GetRanks(file, "tail", triples, &stored->ranks.tail);
  if (heads) GetRanks(file, "head", triples, &stored->ranks.head);
  for (const auto& [direction, among] :
       {std::pair<const char*, std::vector<RankValues>*>(kTailAmong, &stored->ranks.tail_among),
        {kHeadAmong, &stored->ranks.head_among}}) {
    ASSIGN_OR_RETURN(const bool has, HasAmong(file, direction));
    if (has == among->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": ranks among candidates are in some of the parts only"));
    }
    if (!has) continue;
    GetRanks(file, direction, triples, among);
    GetOutside(file, direction, triples, among);
  }
  return absl::OkStatus();
}

// Leaves the ranks of a file's triples alone, which must be the sample of so many of the split's `size` triples.
absl::Status KeepSample(const TensorFile& file, const std::string& count, size_t size, StoredRanks* stored) {
  const absl::Span<const int64_t> triples = file.tensors.At("triple").values<int64_t>();
  std::vector<int64_t> ranked(triples.begin(), triples.end());
  if (count != absl::StrCat(ranked.size()) ||
      ranked != SampleOfTriples(static_cast<int64_t>(size), static_cast<int64_t>(ranked.size()))) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"triple\": ", ranked.size(),
                                                   " triples that are not the sample of ", count,
                                                   " that metadata \"sample\" names"));
  }
  TripleRanks& all = stored->ranks;
  for (std::vector<RankValues>* const ranks : {&all.tail, &all.head, &all.tail_among, &all.head_among}) {
    if (ranks->empty()) continue;
    std::vector<RankValues> kept;
    for (const int64_t i : ranked) kept.push_back((*ranks)[i]);
    *ranks = std::move(kept);
  }
  stored->options.triples = std::move(ranked);
  return absl::OkStatus();
}

std::vector<TensorRule> RankRules(const char* direction, bool required) {
  const bool is_among = absl::EndsWith(direction, "_among");
  const std::string of =
      absl::StrCat("of the ", absl::StripSuffix(direction, "_among"), is_among ? " among candidates" : "");
  return {
      {Name(direction, "rank"), {DType::kF64}, {"T"}, required, absl::StrCat("rank ", of, ": in the middle of a tie")},
      {Name(direction, "optimistic"), {DType::kF64}, {"T"}, required, "before all that score as high"},
      {Name(direction, "pessimistic"), {DType::kF64}, {"T"}, required, "behind them"},
      {Name(direction, "expected"), {DType::kF64}, {"T"}, required, "rank in a random order"},
      {Name(direction, "nan"), {DType::kBool}, {"T"}, required, "whether the target's score was NaN"},
  };
}

Schema* MakeSchema() {
  auto* schema =
      new Schema{"kg.ranks/1",
                 "Where the triples of a split rank among all entities; made by `evaluate --output_dir`. T triples.",
                 {{"triple", {DType::kI64}, {"T"}, true, "number of the triple in its split, ascending"}},
                 {
                     {"split", true, "whose triples: train, valid or test"},
                     {"filter", true, "known triples that were left out: train, train+valid or all"},
                     {"direction", true, "as asked for: auto, tail or both"},
                     {"ranking_convention", true, "standard; tiepin or original, which are wrong"},
                     {"triples_sha256", true, "of the triples: ranks of others are refused"},
                     {"candidates", false, "what targets are also ranked among, in words (`--candidates`)"},
                     {"models", false, "number of models that scored together, if there are several"},
                     {"candidates_sha256", false, "of these sets of entities: parts with other ones are refused"},
                     {"sample", false, "number of triples, where a sample of the split is ranked (`--rank_sample`)"},
                     {"shard", false, "\"i/n\": the i-th of n parts"},
                 }};
  for (const bool tail : {true, false}) {
    for (TensorRule& rule : RankRules(tail ? "tail" : "head", tail)) schema->tensors.push_back(std::move(rule));
  }
  for (const char* direction : {kTailAmong, kHeadAmong}) {
    for (TensorRule& rule : RankRules(direction, false)) schema->tensors.push_back(std::move(rule));
    schema->tensors.push_back({Name(direction, kOutside),
                               {DType::kBool},
                               {"T"},
                               false,
                               "whether the target is no candidate: metrics leave it out"});
  }
  return schema;
}

}  // namespace

const Schema& RanksSchema() {
  static const Schema& schema = *MakeSchema();
  return schema;
}

absl::Status WriteRanks(absl::string_view path, const KnowledgeGraph& graph, const RankTriplesOptions& options,
                        const TripleRanks& ranks, const Metadata& metadata) {
  const ProfileScope scope(Stage::kWrite);
  std::vector<int64_t> triples(SplitTriples(graph, options.split).size());
  std::iota(triples.begin(), triples.end(), int64_t{0});
  if (options.triples.has_value()) triples = *options.triples;
  const bool is_sample = options.triples.has_value() && metadata.find("shard") == metadata.end();
  CHECK_EQ(ranks.tail.size(), triples.size());
  CHECK(ranks.head.empty() || ranks.head.size() == triples.size());
  NamedTensors tensors;
  tensors.Set("triple", Tensor::Of(triples));
  SetRanks("tail", ranks.tail, &tensors);
  if (!ranks.head.empty()) SetRanks("head", ranks.head, &tensors);
  SetRanksAmong(kTailAmong, ranks.tail_among, &tensors);
  SetRanksAmong(kHeadAmong, ranks.head_among, &tensors);
  Metadata all = metadata;
  all["kind"] = RanksSchema().kind;
  all["split"] = std::string(GraphSplitName(options.split));
  all["filter"] = std::string(RankingFilterName(options.filter));
  all["direction"] = std::string(RankingDirectionName(options.direction));
  all["ranking_convention"] = std::string(RankingConventionName(options.convention));
  all["triples_sha256"] = TriplesSha256(graph);
  if (is_sample) all["sample"] = absl::StrCat(triples.size());
  if (!ranks.candidates.empty()) {
    all["candidates"] = ranks.candidates;
    all["candidates_sha256"] = ranks.candidates_sha256;
  }
  return WriteTensorFile(path, all, tensors);
}

absl::StatusOr<StoredRanks> ReadRanks(absl::Span<const std::string> paths, const KnowledgeGraph& graph,
                                      absl::Span<const std::string> models) {
  const ProfileScope scope(Stage::kRead);
  std::vector<TensorFile> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(TensorFile file, ReadTensorFile(path));
    RETURN_IF_ERROR(CheckSchema(RanksSchema(), file).status());
    files.push_back(std::move(file));
  }
  RETURN_IF_ERROR(OrderParts(files, {"kind", "split", "filter", "direction", "ranking_convention", "models",
                                     "candidates", "candidates_sha256", "triples_sha256", "sample"})
                      .status());
  const TensorFile& first = files[0];
  if (first.metadata.at("triples_sha256") != TriplesSha256(graph)) {
    return absl::InvalidArgumentError(absl::StrCat(first.path, ": has ranks of other triples than these"));
  }
  for (const std::string& model : models) RETURN_IF_ERROR(CheckMadeFrom(first, "model", model));
  const auto of = first.metadata.find("models");
  const std::string num_models = of == first.metadata.end() ? "1" : of->second;
  if (num_models != absl::StrCat(models.size())) {
    return absl::InvalidArgumentError(absl::StrCat(first.path, ": has the ranks of ", num_models,
                                                   " models together, and ", models.size(), " were given"));
  }
  StoredRanks stored;
  absl::StatusOr<RankTriplesOptions> options = OptionsOf(first);
  if (!options.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(first.path, ": metadata: ", options.status().message()));
  }
  stored.options = *std::move(options);
  const size_t size = SplitTriples(graph, stored.options.split).size();
  ASSIGN_OR_RETURN(const bool heads, HasDirection(first, "head"));
  stored.ranks.tail.resize(size);
  if (heads) stored.ranks.head.resize(size);
  ASSIGN_OR_RETURN(const bool tails_among, HasAmong(first, kTailAmong));
  ASSIGN_OR_RETURN(const bool heads_among, HasAmong(first, kHeadAmong));
  if (tails_among) stored.ranks.tail_among.resize(size);
  if (heads_among) stored.ranks.head_among.resize(size);
  if (tails_among || heads_among) {
    for (const auto& [key, value] : {std::pair<const char*, std::string*>("candidates", &stored.ranks.candidates),
                                     {"candidates_sha256", &stored.ranks.candidates_sha256}}) {
      const auto found = first.metadata.find(key);
      if (found == first.metadata.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(first.path, ": has ranks among candidates, but no metadata \"", key, "\""));
      }
      *value = found->second;
    }
  }
  std::vector<uint8_t> seen(size);
  const auto sample = first.metadata.find("sample");
  if (sample != first.metadata.end()) {
    for (const TensorFile& file : files) RETURN_IF_ERROR(AddPart(file, &seen, &stored));
    RETURN_IF_ERROR(KeepSample(first, sample->second, size, &stored));
    return stored;
  }
  for (const TensorFile& file : files) RETURN_IF_ERROR(AddPart(file, &seen, &stored));
  for (size_t i = 0; i < size; ++i) {
    if (seen[i] != 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(first.path, ": triple ", i, " of ", size,
                                                   " is ranked in no part; ranks of a sample say so, unless an older ",
                                                   "version wrote them: rank again"));
  }
  return stored;
}

}  // namespace rutile
