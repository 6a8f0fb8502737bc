#include "lib/kge/new_entities/grown_graph.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/triple.h"
#include "lib/graph/triple_weights.h"
#include "lib/graph/triples_file.h"
#include "lib/graph/vocabulary.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_of_doubles.h"

namespace rutile {
namespace {

// Returns the new id of each of `names`, which are those of `to` in any order; the last `optional` of `to` may be
// missing.
absl::StatusOr<std::vector<int32_t>> MatchNames(absl::string_view what, const std::vector<std::string>& names,
                                                const std::vector<std::string>& to, size_t optional,
                                                const std::string& new_path) {
  Vocabulary vocabulary;
  for (const std::string& name : to) vocabulary.Add(name);
  std::vector<int32_t> ids;
  std::vector<bool> is_there(to.size());
  for (const std::string& name : names) {
    ids.push_back(vocabulary.Find(name));
    if (ids.back() == Vocabulary::kUnknown) {
      return absl::InvalidArgumentError(
          absl::StrCat("the ", what, " ", JsonQuote(name), " is not in the model",
                       what == "entity" ? absl::StrCat(", and ", new_path, " has no triple of it") : ""));
    }
    is_there[ids.back()] = true;
  }
  for (size_t id = 0; id + optional < to.size(); ++id) {
    if (is_there[id]) continue;
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " ", JsonQuote(to[id]),
                                                   " of the model is not there, expected the triples that the "
                                                   "model learned from, perhaps with those of new entities"));
  }
  return ids;
}

std::vector<std::string> LabelsOf(const std::vector<std::string>& labels, const std::vector<int32_t>& ids,
                                  const std::vector<std::string>& names) {
  if (labels.empty()) return {};
  std::vector<std::string> result = names;
  for (size_t i = 0; i < ids.size(); ++i) result[ids[i]] = labels[i];
  return result;
}

std::vector<Triple> KnownPart(const std::vector<Triple>& triples, int64_t num_known) {
  std::vector<Triple> part;
  std::copy_if(triples.begin(), triples.end(), std::back_inserter(part),
               [&](const Triple& t) { return t.head < num_known && t.tail < num_known; });
  return part;
}

// Returns the part of the graph's lists, and of their weights, that has known entities alone.
KnowledgeGraph KnownLists(const KnowledgeGraph& graph, int64_t num_known) {
  KnowledgeGraph part;
  for (const TripleList& list : kTripleLists) {
    const std::vector<Triple>& triples = graph.*list.triples;
    const std::vector<double>& weights = graph.*list.triple_weights;
    for (size_t i = 0; i < triples.size(); ++i) {
      if (triples[i].head >= num_known || triples[i].tail >= num_known) continue;
      (part.*list.triples).push_back(triples[i]);
      if (!weights.empty()) (part.*list.triple_weights).push_back(weights[i]);
    }
  }
  return part;
}

// Carries the hashes of splits and weights, which say what the model learned from, over to the names of the grown
// graph.
void UpdateHashes(const KnowledgeGraph& names, const NewTriples& added, const KnowledgeGraph& grown,
                  Metadata* metadata) {
  const int64_t num_known = names.num_entities();
  const auto update = [&](const char* key, const std::vector<Triple>& now, const std::vector<Triple>& then) {
    const auto found = metadata->find(key);
    if (found == metadata->end() || found->second != TripleSetSha256(names, KnownPart(now, num_known))) return;
    found->second = TripleSetSha256(grown, then);
  };
  std::vector<Triple> train = KnownPart(grown.train, num_known);
  train.insert(train.end(), added.triples.begin(), added.triples.end());
  update("train_sha256", grown.train, train);
  update("valid_sha256", grown.valid, KnownPart(grown.valid, num_known));
  update("test_sha256", grown.test, KnownPart(grown.test, num_known));
  update("calibration_triples", grown.valid, KnownPart(grown.valid, num_known));
  // The hash of weights is of whole lists in their order, as the file of the grown graph has them.
  const auto weights = metadata->find("weights_sha256");
  if (weights != metadata->end() && weights->second == WeightsSha256(KnownLists(grown, num_known))) {
    weights->second = WeightsSha256(grown);
  }
}

}  // namespace

absl::StatusOr<KnowledgeGraph> GrowGraph(const KnowledgeGraph& names, const KnowledgeGraph& graph,
                                         const NewTriples& added) {
  if (names.inverse_relations != graph.inverse_relations) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model was trained ", names.inverse_relations ? "with" : "without",
                     " inverse relations, the triples were made ", graph.inverse_relations ? "with" : "without",
                     " them: featurize --inverse_relations"));
  }
  KnowledgeGraph grown;
  grown.inverse_relations = graph.inverse_relations;
  grown.entities = names.entities;
  grown.entities.insert(grown.entities.end(), added.names.begin(), added.names.end());
  grown.relations = names.relations;
  ASSIGN_OR_RETURN(const std::vector<int32_t> entity,
                   MatchNames("entity", graph.entities, grown.entities, added.names.size(), added.path));
  ASSIGN_OR_RETURN(const std::vector<int32_t> relation,
                   MatchNames("relation", graph.relations, grown.relations, 0, added.path));
  grown.entity_labels = LabelsOf(graph.entity_labels, entity, grown.entities);
  grown.relation_labels = LabelsOf(graph.relation_labels, relation, grown.relations);
  grown.entity_types = RenumberEntityTypes(graph.entity_types, entity, grown.num_entities());
  for (const TripleList& list : kTripleLists) {
    for (const Triple& t : graph.*list.triples) {
      (grown.*list.triples).push_back({entity[t.head], relation[t.relation], entity[t.tail]});
    }
    grown.*list.triple_weights = graph.*list.triple_weights;
  }
  // No file gives new triples weights: they count as the others do on average.
  const std::vector<double>& weights = graph.train_weights;
  const double mean_weight =
      weights.empty() ? 1 : std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  const absl::flat_hash_set<Triple> trained(grown.train.begin(), grown.train.end());
  const absl::flat_hash_set<Triple> false_ones(grown.negatives.begin(), grown.negatives.end());
  absl::flat_hash_set<Triple> held_out(grown.valid.begin(), grown.valid.end());
  held_out.insert(grown.test.begin(), grown.test.end());
  for (const Triple& t : added.triples) {
    if (held_out.contains(t)) {
      return absl::InvalidArgumentError(
          absl::StrCat(JsonQuote(grown.entities[t.head]), " ", JsonQuote(grown.relations[t.relation]), " ",
                       JsonQuote(grown.entities[t.tail]),
                       " is also a validation or test triple, whose rank would then say nothing: "
                       "take it out of ",
                       added.path, " or out of the split"));
    }
    if (trained.contains(t)) continue;
    if (false_ones.contains(t)) {
      return absl::InvalidArgumentError(
          absl::StrCat(JsonQuote(grown.entities[t.head]), " ", JsonQuote(grown.relations[t.relation]), " ",
                       JsonQuote(grown.entities[t.tail]), " is known to be false in the graph: take it out of ",
                       added.path, " or out of the negatives"));
    }
    grown.train.push_back(t);
    if (!grown.train_weights.empty()) grown.train_weights.push_back(mean_weight);
  }
  return grown;
}

int64_t NumNewEntities(const Metadata& metadata) {
  const auto found = metadata.find(kNewEntitiesKey);
  int64_t number = 0;
  return found != metadata.end() && absl::SimpleAtoi(found->second, &number) && number > 0 ? number : 0;
}

TrainedKge GrowModel(const TrainedKge& model, const NewTriples& added, const KnowledgeGraph& grown,
                     const std::vector<std::vector<double>>& rows) {
  CHECK_EQ(rows.size(), added.names.size());
  const int64_t num_known = model.shape.num_entities, dim = model.shape.dim();
  TrainedKge result = model;
  KnowledgeGraph& names = result.names;
  names.entities.insert(names.entities.end(), added.names.begin(), added.names.end());
  if (!names.entity_labels.empty()) {
    const std::vector<std::string>& labels = grown.entity_labels.empty() ? grown.entities : grown.entity_labels;
    names.entity_labels.insert(names.entity_labels.end(), labels.begin() + num_known, labels.end());
  }
  // Types are those of the graph if both agree on the entities that the model knows.
  std::vector<int32_t> known(grown.entities.size(), -1), all(num_known);
  for (int64_t e = 0; e < num_known; ++e) known[e] = all[e] = static_cast<int32_t>(e);
  const bool same = RenumberEntityTypes(grown.entity_types, known, num_known) == model.names.entity_types;
  names.entity_types =
      same ? grown.entity_types : RenumberEntityTypes(model.names.entity_types, all, names.num_entities());
  UpdateHashes(model.names, added, grown, &result.metadata);

  result.shape.num_entities = names.num_entities();
  const std::vector<double> source = model.parameters.ToDoubles();
  std::vector<double> values;
  values.reserve(result.shape.offsets().size);
  for (const ParameterSlice& slice : model.shape.Slices()) {
    const auto begin = source.begin() + slice.offset;
    values.insert(values.end(), begin, begin + slice.num_elements());
    for (const std::vector<double>& row : rows) {
      if (slice.name == "entity.weight") values.insert(values.end(), row.begin(), row.begin() + dim);
      if (slice.name == "entity.bias") values.push_back(row.at(dim));
    }
  }
  result.parameters = TensorOfDoubles(model.parameters.dtype(), values);
  CHECK_EQ(result.parameters.num_elements(), result.shape.offsets().size);
  return result;
}

}  // namespace rutile
