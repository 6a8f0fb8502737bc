#include "lib/graph/triples_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/name_lines.h"
#include "lib/graph/triple_weights.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

static_assert(sizeof(Triple) == 3 * sizeof(int32_t), "triples are written and read as they lie in memory");

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();

// The lists that every file has; that of known-false triples follows them in kTripleLists.
constexpr absl::Span<const TripleList> kSplits(kTripleLists, 3);

Tensor ToTensor(const std::vector<Triple>& triples) {
  Tensor tensor = Tensor::Zeros(DType::kI32, {static_cast<int64_t>(triples.size()), 3});
  if (!triples.empty()) std::memcpy(tensor.mutable_data(), triples.data(), triples.size() * sizeof(Triple));
  return tensor;
}

std::vector<Triple> FromTensor(const Tensor& tensor) {
  std::vector<Triple> triples(tensor.dim(0));
  if (!triples.empty()) std::memcpy(triples.data(), tensor.data(), triples.size() * sizeof(Triple));
  return triples;
}

absl::Status CheckText(absl::string_view what, absl::string_view text) {
  if (text.find('\n') != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(what, " ", JsonQuote(text), " holds a line end"));
  }
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(what, " ", JsonQuote(text), " is not UTF-8"));
  return absl::OkStatus();
}

absl::Status CheckNames(absl::string_view what, const std::vector<std::string>& names,
                        const std::vector<std::string>& labels, int64_t limit) {
  if (static_cast<int64_t>(names.size()) > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.size(), " names of ", what, "s, but ids are 32-bit integers: at most ", limit));
  }
  absl::flat_hash_set<absl::string_view> known;
  known.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    RETURN_IF_ERROR(CheckText(what, names[i]));
    if (names[i].empty()) return absl::InvalidArgumentError(absl::StrCat(what, " ", i, " has an empty name"));
    if (!known.insert(names[i]).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " ", i, ": the name ", JsonQuote(names[i]), " comes twice, expected each once"));
    }
  }
  if (labels.empty()) return absl::OkStatus();
  if (labels.size() != names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " ", what, " labels for ", names.size(), " names, expected one for each or none"));
  }
  for (const std::string& label : labels) RETURN_IF_ERROR(CheckText(absl::StrCat(what, " label"), label));
  return absl::OkStatus();
}

absl::Status CheckIds(const KnowledgeGraph& graph, const TripleList& split) {
  const int64_t num_entities = graph.num_entities(), num_relations = graph.num_relations();
  int64_t row = 0;
  for (const Triple& triple : graph.*split.triples) {
    const auto error = [&](const char* what, int64_t id, int64_t size) {
      return absl::InvalidArgumentError(
          absl::StrCat(split.name, " triple ", row, ": ", what, " ", id, " is not one of 0 .. ", size - 1));
    };
    if (triple.head < 0 || triple.head >= num_entities) return error("head", triple.head, num_entities);
    if (triple.tail < 0 || triple.tail >= num_entities) return error("tail", triple.tail, num_entities);
    if (triple.relation < 0 || triple.relation >= num_relations) {
      return error("relation", triple.relation, num_relations);
    }
    ++row;
  }
  return absl::OkStatus();
}

// Adds the names, sorted, and returns the rank of each.
std::vector<int32_t> AddSorted(const std::vector<std::string>& names, Sha256* sha256) {
  std::vector<int32_t> order(names.size()), rank(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return names[a] < names[b]; });
  for (size_t r = 0; r < order.size(); ++r) {
    rank[order[r]] = static_cast<int32_t>(r);
    sha256->Update(names[order[r]]);
    sha256->Update("\n");
  }
  return rank;
}

}  // namespace

const Schema& TriplesSchema() {
  static const Schema& schema = *AddEntityTypeRules(new Schema{
      "kg.triples/1",
      "A knowledge graph, made by `featurize`. Triples are rows of ids: head, relation, tail; an id counts the names "
      "from "
      "0. Names are UTF-8 text, a line for each, so that any number of them loads fast; in Python: "
      "`file[\"entity_names\"].tobytes().decode().split(\"\\n\")[:-1]`. A file with weights or known-false triples is "
      "of "
      "kind kg.triples/2, which older programs refuse: they would learn from it as if it had none.",
      {
          {"train", {DType::kI32}, {"T", "3"}, true, "what is learned; at least one"},
          {"valid", {DType::kI32}, {"V", "3"}, true, "what a model is chosen by; may be empty"},
          {"test", {DType::kI32}, {"U", "3"}, true, "what it is judged by; may be empty"},
          {"entity_names", {DType::kU8}, {"EB"}, true, "as in the data, each once, ended by a line feed each"},
          {"relation_names", {DType::kU8}, {"RB"}, true, "likewise"},
          {"negatives", {DType::kI32}, {"F", "3"}, false, "triples that are known to be false; none is in a split"},
          {"train_weights",
           {DType::kF64},
           {"T"},
           false,
           "how much each triple counts in the loss, >= 0; without it, 1"},
          {"valid_weights", {DType::kF64}, {"V"}, false, "likewise"},
          {"test_weights", {DType::kF64}, {"U"}, false, "likewise"},
          {"negative_weights", {DType::kF64}, {"F"}, false, "likewise"},
          {"entity_labels", {DType::kU8}, {"LB"}, false, "names for people, likewise; they may come twice"},
          {"relation_labels", {DType::kU8}, {"MB"}, false, "likewise"},
      },
      {
          {"num_entities", true, "N"},
          {"num_relations", true, "R"},
          {"inverse_relations", true,
           "`true`: models learn R more relations, the inverse of r as R + r, to predict heads; else `false`"},
          {"entity_ids", false,
           "`given` by a file (`--entity_to_id`), or `found`: by the order of appearance or of names"},
          {"split", false,
           "JSON {\"shares\": [train, valid, test], \"seed\": n} if featurize made the splits (`--split`)"},
      }});
  return schema;
}

// Returns the schema of files with weights or known-false triples, which older programs must not read.
const Schema& WeightedSchema() {
  static const Schema& schema = *[] {
    auto* const with = new Schema(TriplesSchema());
    with->kind = "kg.triples/2";
    return with;
  }();
  return schema;
}

absl::Status CheckGraph(const KnowledgeGraph& graph) {
  RETURN_IF_ERROR(CheckNames("entity", graph.entities, graph.entity_labels, kMaxId));
  RETURN_IF_ERROR(
      CheckNames("relation", graph.relations, graph.relation_labels, graph.inverse_relations ? kMaxId / 2 : kMaxId));
  RETURN_IF_ERROR(CheckEntityTypes(graph.entity_types, graph.num_entities()));
  if (graph.train.empty()) return absl::InvalidArgumentError("there is no training triple");
  for (const TripleList& list : kTripleLists) RETURN_IF_ERROR(CheckIds(graph, list));
  return CheckTripleWeights(graph);
}

absl::Status WriteTriples(absl::string_view path, const KnowledgeGraph& graph, const Metadata& metadata) {
  const ProfileScope scope(Stage::kWrite);
  if (absl::Status status = CheckGraph(graph); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not written: ", status.message()));
  }
  Metadata all = metadata;
  all["kind"] = HasWeightsOrNegatives(graph) ? WeightedSchema().kind : TriplesSchema().kind;
  all["num_entities"] = absl::StrCat(graph.num_entities());
  all["num_relations"] = absl::StrCat(graph.num_relations());
  all["inverse_relations"] = graph.inverse_relations ? "true" : "false";
  NamedTensors tensors;
  for (const TripleList& list : kTripleLists) {
    const bool is_split = list.triples != &KnowledgeGraph::negatives;
    if (is_split || !graph.negatives.empty()) tensors.Set(list.name, ToTensor(graph.*list.triples));
    const std::vector<double>& weights = graph.*list.triple_weights;
    if (!weights.empty()) tensors.Set(list.weights, TensorOfDoubles(DType::kF64, weights));
  }
  tensors.Set("entity_names", NamesToTensor(graph.entities));
  tensors.Set("relation_names", NamesToTensor(graph.relations));
  if (!graph.entity_labels.empty()) tensors.Set("entity_labels", NamesToTensor(graph.entity_labels));
  if (!graph.relation_labels.empty()) tensors.Set("relation_labels", NamesToTensor(graph.relation_labels));
  SetEntityTypes(graph.entity_types, &tensors);
  return WriteTensorFile(path, all, tensors);
}

absl::StatusOr<KnowledgeGraph> ReadTriples(absl::string_view path) {
  const ProfileScope scope(Stage::kRead);
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  return DecodeTriples(file);
}

absl::StatusOr<KnowledgeGraph> DecodeTriples(const TensorFile& file) {
  const auto kind = file.metadata.find("kind");
  const bool is_weighted = kind != file.metadata.end() && kind->second == WeightedSchema().kind;
  RETURN_IF_ERROR(CheckSchema(is_weighted ? WeightedSchema() : TriplesSchema(), file).status());
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", what));
  };
  KnowledgeGraph graph;
  const std::string& inverse = file.metadata.at("inverse_relations");
  if (inverse != "true" && inverse != "false") {
    return error(absl::StrCat("metadata \"inverse_relations\" is ", JsonQuote(inverse), ", expected true or false"));
  }
  graph.inverse_relations = inverse == "true";
  ASSIGN_OR_RETURN(graph.entities, NamesFromTensor(file, "entity_names"));
  ASSIGN_OR_RETURN(graph.relations, NamesFromTensor(file, "relation_names"));
  const std::pair<const char*, int64_t> counts[] = {{"num_entities", graph.num_entities()},
                                                    {"num_relations", graph.num_relations()}};
  for (const auto& [key, count] : counts) {
    if (const std::string& text = file.metadata.at(key); text != absl::StrCat(count)) {
      return error(absl::StrCat("metadata \"", key, "\" is ", JsonQuote(text), ", but there are ", count, " names"));
    }
  }
  if (file.tensors.Has("entity_labels")) {
    ASSIGN_OR_RETURN(graph.entity_labels, NamesFromTensor(file, "entity_labels"));
  }
  if (file.tensors.Has("relation_labels")) {
    ASSIGN_OR_RETURN(graph.relation_labels, NamesFromTensor(file, "relation_labels"));
  }
  ASSIGN_OR_RETURN(graph.entity_types, EntityTypesFromFile(file, graph.num_entities()));
  for (const TripleList& list : kTripleLists) {
    if (file.tensors.Has(list.name)) graph.*list.triples = FromTensor(file.tensors.At(list.name));
    if (file.tensors.Has(list.weights)) graph.*list.triple_weights = file.tensors.At(list.weights).ToDoubles();
  }
  if (!is_weighted && HasWeightsOrNegatives(graph)) {
    return error(absl::StrCat("holds weights or known-false triples, which files of kind ", WeightedSchema().kind,
                              " have; make it again"));
  }
  if (absl::Status status = CheckGraph(graph); !status.ok()) return error(status.message());
  return graph;
}

std::string TriplesSha256(const KnowledgeGraph& graph) {
  Sha256 sha256;
  sha256.Update(absl::StrCat("triples\n", graph.num_entities(), " ", graph.num_relations(), " ",
                             graph.inverse_relations ? "inverse" : "plain", "\n"));
  for (const TripleList& split : kSplits) {
    const std::vector<Triple>& triples = graph.*split.triples;
    sha256.Update(absl::StrCat(split.name, " ", triples.size(), "\n"));
    sha256.Update(absl::string_view(reinterpret_cast<const char*>(triples.data()), triples.size() * sizeof(Triple)));
  }
  return sha256.HexDigest();
}

std::string TripleSetSha256(const KnowledgeGraph& names, const std::vector<Triple>& triples) {
  Sha256 sha256;
  sha256.Update(absl::StrCat("triple set\n", names.num_entities(), " ", names.num_relations(), "\n"));
  const std::vector<int32_t> entity = AddSorted(names.entities, &sha256),
                             relation = AddSorted(names.relations, &sha256);
  std::vector<Triple> ranked;
  ranked.reserve(triples.size());
  for (const Triple& t : triples) ranked.push_back({entity[t.head], relation[t.relation], entity[t.tail]});
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  sha256.Update(absl::string_view(reinterpret_cast<const char*>(ranked.data()), ranked.size() * sizeof(Triple)));
  return sha256.HexDigest();
}

}  // namespace rutile
