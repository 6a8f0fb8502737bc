#include "tools/tracin/graphs/kge_data.h"

#include <gflags/gflags.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/graph/text/edge_map.h"
#include "lib/graph/text/formats/id_file.h"
#include "lib/graph/text/named_triples.h"
#include "lib/graph/triple_weights.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/model/kge_file.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(test_split, "test", "Triples: the split that a .safetensors file in --test gives: test, valid or train.");
DEFINE_bool(
    inverse_examples, false,
    "Triples: each training triple is also an example as (tail, inverse relation, head), with a row of its own.");
DEFINE_string(test_direction, "tail",
              "Triples: tail: a test asks for the tail of (head, relation); head: for the head, through the inverse "
              "relation.");
DEFINE_string(edge_map, "", "Triples: edge_map.json, for names of relations, and to read KGX edges.");
DEFINE_string(node_name_dict, "", "Triples: names of entities for people, by id (name TAB id).");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

absl::StatusOr<std::vector<Triple>> SplitOf(const KnowledgeGraph& graph, const std::string& path) {
  const std::vector<Triple>* triples = nullptr;
  if (FLAGS_test_split == "test") triples = &graph.test;
  if (FLAGS_test_split == "valid") triples = &graph.valid;
  if (FLAGS_test_split == "train") triples = &graph.train;
  if (triples == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--test_split=", FLAGS_test_split, ": expected test, valid or train"));
  }
  if (triples->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no ", FLAGS_test_split, " triples in it"));
  }
  return *triples;
}

absl::Status ReadTrain(absl::Span<const std::string> paths, const std::optional<TrainedKge>& model,
                       const std::string& model_path, EdgeMap* edges, KgeData* data) {
  if (LooksLikeTensorFile(paths[0])) {
    if (paths.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--train: ", paths[1], " beside ", paths[0], ": one file of triples, or files of text"));
    }
    ASSIGN_OR_RETURN(data->graph, ReadTriples(paths[0]));
    data->triples_sha256 = TriplesSha256(data->graph);
    data->weights_sha256 = WeightsSha256(data->graph);
    if (!model.has_value()) return absl::OkStatus();
    if (const absl::Status status = CheckSameVocabulary(*model, data->graph); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(paths[0], ": ", status.message()));
    }
    return absl::OkStatus();
  }
  if (!model.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(paths[0],
                     ": text names entities, and only a model file says which ids they have: give --model, or "
                     "triples.safetensors"));
  }
  data->graph = model->names;
  for (const std::string& path : paths) {
    absl::StatusOr<std::vector<Triple>> triples = ReadNamedTriples(path, data->graph, edges);
    if (!triples.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(triples.status().message(), " (names are those of ", model_path, ")"));
    }
    data->graph.train.insert(data->graph.train.end(), triples->begin(), triples->end());
  }
  return absl::OkStatus();
}

absl::Status ReadTests(absl::Span<const std::string> paths, EdgeMap* edges, KgeData* data) {
  bool has_file = false;
  for (const std::string& path : paths) {
    std::vector<Triple> triples;
    if (LooksLikeTensorFile(path)) {
      has_file = true;
      ASSIGN_OR_RETURN(const KnowledgeGraph graph, ReadTriples(path));
      // Compared as a model's names would be: labels of relations, too.
      TrainedKge named;
      named.names = data->graph;
      named.names.inverse_relations = graph.inverse_relations;
      if (const absl::Status status = CheckSameVocabulary(named, graph); !status.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": has other names, or in another order, than --train: ", status.message()));
      }
      ASSIGN_OR_RETURN(triples, SplitOf(graph, path));
    } else {
      ASSIGN_OR_RETURN(triples, ReadNamedTriples(path, data->graph, edges));
    }
    data->tests.insert(data->tests.end(), triples.begin(), triples.end());
  }
  return has_file ? absl::OkStatus() : RefuseFlags("without a file of kind kg.triples/1 in --test", {"test_split"});
}

// INVALID_ARGUMENT if a flag would rename what the data have labels of.
absl::Status CheckLabel(const char* flag, const std::string& path, const std::string& name, const std::string& has,
                        const std::string& label) {
  if (has.empty() || label.empty() || has == label || has == name) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", path, " calls ", JsonQuote(name), " ",
                                                 JsonQuote(label), ", but the data have the label ", JsonQuote(has),
                                                 ": leave it out, or give the one that the data were made with"));
}

// INVALID_ARGUMENT if featurize numbered the entities itself, which no file of names by id can know.
absl::Status CheckIdsWereGiven(const std::string& train) {
  if (!LooksLikeTensorFile(train)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(train));
  const auto found = look.metadata.find("entity_ids");
  if (found == look.metadata.end() || found->second == "given") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--node_name_dict=", FLAGS_node_name_dict, ": has names by id, and ", train,
      " has ids by the order of its entities: featurize --entity_to_id gives them the ids that the names go by"));
}

absl::Status SetLabels(const std::string& train, const EdgeMap& edges, KgeData* data) {
  KnowledgeGraph& graph = data->graph;
  if (!FLAGS_node_name_dict.empty()) {
    RETURN_IF_ERROR(CheckIdsWereGiven(train));
    ASSIGN_OR_RETURN(IdFile file, ReadLabelFile(FLAGS_node_name_dict, graph.num_entities()));
    for (size_t e = 0; e < graph.entity_labels.size(); ++e) {
      RETURN_IF_ERROR(
          CheckLabel("node_name_dict", FLAGS_node_name_dict, graph.entities[e], graph.entity_labels[e], file.names[e]));
    }
    graph.entity_labels = std::move(file.names);
    graph.entity_labels.resize(graph.entities.size());
    for (size_t e = 0; e < graph.entities.size(); ++e) {
      if (graph.entity_labels[e].empty()) graph.entity_labels[e] = graph.entities[e];
    }
  }
  if (!FLAGS_edge_map.empty()) {
    const auto labels = edges.Labels();
    const std::vector<std::string> had = std::move(graph.relation_labels);
    graph.relation_labels = had.empty() ? graph.relations : had;
    for (size_t r = 0; r < graph.relations.size(); ++r) {
      const auto found = labels.find(graph.relations[r]);
      if (found == labels.end()) continue;
      if (!had.empty()) {
        RETURN_IF_ERROR(CheckLabel("edge_map", FLAGS_edge_map, graph.relations[r], had[r], found->second));
      }
      graph.relation_labels[r] = found->second;
    }
  }
  data->has_entity_labels = !graph.entity_labels.empty();
  data->has_relation_labels = !graph.relation_labels.empty();
  return absl::OkStatus();
}

// Returns (t, R + r, h) for (h, r, t).
Triple Inverse(const Triple& triple, int64_t num_relations) {
  return {triple.tail, static_cast<int32_t>(triple.relation + num_relations), triple.head};
}

// Appends triples to the examples, and their inverses if requested.
void AddExamples(const TripleList& list, KgeData* data) {
  const std::vector<Triple>& triples = data->graph.*list.triples;
  const bool is_false = list.triples == &KnowledgeGraph::negatives, weighted = HasWeightsOrNegatives(data->graph);
  for (const bool inverse : {false, true}) {
    if (inverse && !FLAGS_inverse_examples) continue;
    for (size_t i = 0; i < triples.size(); ++i) {
      data->train.push_back(inverse ? Inverse(triples[i], data->graph.num_relations()) : triples[i]);
      if (weighted) data->weights.push_back(WeightOf(data->graph.*list.triple_weights, i));
      if (!data->graph.negatives.empty()) data->is_false.push_back(is_false ? 1 : 0);
    }
  }
}

absl::Status SetExamples(KgeData* data) {
  const int64_t num_relations = data->graph.num_relations();
  const bool heads = FLAGS_test_direction == "head";
  if (!heads && FLAGS_test_direction != "tail") {
    return absl::InvalidArgumentError(
        absl::StrCat("--test_direction=", FLAGS_test_direction, ": expected tail or head"));
  }
  if ((heads || FLAGS_inverse_examples) && !data->graph.inverse_relations) {
    return absl::InvalidArgumentError(absl::StrCat(heads ? "--test_direction=head" : "--inverse_examples",
                                                   ": the model has no inverse relations, and learned tails alone"));
  }
  for (const TripleList& list : kTripleLists) {
    if (list.triples == &KnowledgeGraph::train || list.triples == &KnowledgeGraph::negatives) AddExamples(list, data);
  }
  if (heads) {
    for (Triple& triple : data->tests) triple = Inverse(triple, num_relations);
  }
  return absl::OkStatus();
}

// Returns "biolink:affects" for "biolink:affects (object_aspect activity)", the form of labels made by edge maps.
std::string WithoutQualifiers(const std::string& label) {
  const size_t open = label.find(" (");
  return open == std::string::npos || !absl::EndsWith(label, ")") ? label : label.substr(0, open);
}

}  // namespace

Triple KgeData::Plain(const Triple& example) const {
  if (!IsInverse(example)) return example;
  return {example.tail, static_cast<int32_t>(example.relation - graph.num_relations()), example.head};
}

NamedTriple KgeData::Named(const Triple& example) const {
  const Triple triple = Plain(example);
  NamedTriple named;
  named.inverse = IsInverse(example);
  const int32_t ids[] = {triple.head, triple.relation, triple.tail};
  for (int i = 0; i < 3; ++i) {
    const bool relation = i == 1;
    const std::vector<std::string>& labels = relation ? graph.relation_labels : graph.entity_labels;
    named.ids[i] = ids[i];
    named.names[i] = (relation ? graph.relations : graph.entities)[ids[i]];
    named.people_names[i] = labels.empty() ? named.names[i] : labels[ids[i]];
    if (relation) named.people_names[i] = WithoutQualifiers(named.people_names[i]);
    if (relation && named.inverse) named.people_names[i] = absl::StrCat("inverse of ", named.people_names[i]);
  }
  return named;
}

std::vector<std::string> KgeData::Columns() const {
  std::vector<std::string> columns = {"head", "relation", "tail"};
  if (has_entity_labels || has_relation_labels) {
    columns.insert(columns.end(), {"head_label", "relation_label", "tail_label"});
  }
  return columns;
}

std::vector<std::string> KgeData::Cells(const Triple& example) const {
  const std::string inverse = IsInverse(example) ? "inverse of " : "";
  const int32_t relation = static_cast<int32_t>(example.relation - (IsInverse(example) ? graph.num_relations() : 0));
  std::vector<std::string> cells = {graph.entities[example.head], absl::StrCat(inverse, graph.relations[relation]),
                                    graph.entities[example.tail]};
  if (has_entity_labels || has_relation_labels) {
    cells.push_back((has_entity_labels ? graph.entity_labels : graph.entities)[example.head]);
    cells.push_back(absl::StrCat(inverse, (has_relation_labels ? graph.relation_labels : graph.relations)[relation]));
    cells.push_back((has_entity_labels ? graph.entity_labels : graph.entities)[example.tail]);
  }
  return cells;
}

std::vector<std::string> KgeData::TrainColumns() const {
  std::vector<std::string> columns = Columns();
  if (!is_false.empty()) columns.push_back("known_false");
  return columns;
}

std::vector<std::string> KgeData::TrainCells(int64_t example) const {
  std::vector<std::string> cells = Cells(train[example]);
  if (!is_false.empty()) cells.push_back(IsFalse(example) ? "true" : "false");
  return cells;
}

std::string TripleExamplesSha256(const KnowledgeGraph& graph, absl::Span<const Triple> triples) {
  Sha256 hash;
  hash.Update(VocabularySha256(graph));
  for (const Triple& t : triples) hash.Update(absl::StrCat(t.head, " ", t.relation, " ", t.tail, "\n"));
  return hash.HexDigest();
}

std::string TrainExamplesSha256(const KgeData& data) {
  const std::string triples = TripleExamplesSha256(data.graph, data.train);
  if (data.weights.empty()) return triples;
  Sha256 hash;
  hash.Update(triples);
  for (const double weight : data.weights) hash.Update(absl::StrFormat(" %.17g", weight));
  for (const uint8_t is_false : data.is_false) hash.Update(is_false != 0 ? "-" : "+");
  return hash.HexDigest();
}

absl::StatusOr<KgeData> ReadKgeData(absl::Span<const std::string> train, absl::Span<const std::string> test,
                                    const std::optional<TrainedKge>& model, const std::string& model_path) {
  EdgeMap edges;
  if (!FLAGS_edge_map.empty()) {
    ASSIGN_OR_RETURN(edges, EdgeMap::Read(FLAGS_edge_map));
  }
  KgeData data;
  RETURN_IF_ERROR(ReadTrain(train, model, model_path, &edges, &data));
  if (model.has_value()) {
    const auto learned = model->metadata.find("train_sha256");
    if (learned != model->metadata.end()) data.learned_sha256 = learned->second;
  }
  RETURN_IF_ERROR(SetLabels(train[0], edges, &data));
  RETURN_IF_ERROR(ReadTests(test, &edges, &data));
  RETURN_IF_ERROR(SetExamples(&data));
  return data;
}

}  // namespace rutile
