#include "lib/graph/neighborhood.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/triple_weights.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Gives wanted entities the ids 0, 1, ... in their old order, and copies their names. Others get -1.
std::vector<int32_t> Renumber(const std::vector<bool>& wanted, const std::vector<std::string>& names,
                              const std::vector<std::string>& labels, std::vector<std::string>* new_names,
                              std::vector<std::string>* new_labels) {
  std::vector<int32_t> new_id(names.size(), -1);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!wanted[i]) continue;
    new_id[i] = static_cast<int32_t>(new_names->size());
    new_names->push_back(names[i]);
    if (!labels.empty()) new_labels->push_back(labels[i]);
  }
  return new_id;
}

}  // namespace

EntityNeighbors::EntityNeighbors(const KnowledgeGraph& graph) : begin_(graph.entities.size() + 1, 0) {
  for (const Triple& triple : graph.train) {
    ++begin_[triple.head + 1];
    ++begin_[triple.tail + 1];
  }
  for (size_t e = 1; e < begin_.size(); ++e) begin_[e] += begin_[e - 1];
  neighbor_.resize(begin_.back());
  std::vector<int64_t> next(begin_.begin(), begin_.end() - 1);
  for (const Triple& triple : graph.train) {
    neighbor_[next[triple.head]++] = triple.tail;
    neighbor_[next[triple.tail]++] = triple.head;
  }
}

std::vector<bool> EntityNeighbors::Within(absl::Span<const int32_t> entities, int hops,
                                          std::vector<int64_t>* by_hop) const {
  std::vector<bool> reached(begin_.size() - 1, false);
  std::vector<int32_t> front;
  for (const int32_t entity : entities) {
    CHECK(entity >= 0 && entity < static_cast<int64_t>(reached.size())) << entity;
    if (reached[entity]) continue;
    reached[entity] = true;
    front.push_back(entity);
  }
  if (by_hop != nullptr) *by_hop = {static_cast<int64_t>(front.size())};
  for (int hop = 1; hop <= hops; ++hop) {
    std::vector<int32_t> next;
    for (const int32_t entity : front) {
      for (int64_t i = begin_[entity]; i < begin_[entity + 1]; ++i) {
        if (reached[neighbor_[i]]) continue;
        reached[neighbor_[i]] = true;
        next.push_back(neighbor_[i]);
      }
    }
    front = std::move(next);
    if (by_hop != nullptr) by_hop->push_back(static_cast<int64_t>(front.size()));
  }
  return reached;
}

absl::StatusOr<Neighborhood> CutNeighborhood(const KnowledgeGraph& graph, absl::Span<const int32_t> entities,
                                             int hops) {
  const ProfileScope scope(Stage::kGraph);
  if (hops < 0) return absl::InvalidArgumentError(absl::StrCat("hops is ", hops, ", expected 0 or more"));
  if (entities.empty()) return absl::InvalidArgumentError("no entity to start from");
  Neighborhood result;
  const std::vector<bool> reached = EntityNeighbors(graph).Within(entities, hops, &result.entities_by_hop);

  std::vector<bool> used(graph.relations.size(), false);
  for (const TripleList& list : kTripleLists) {
    const std::vector<Triple>& from = graph.*list.triples;
    const std::vector<double>& weights = graph.*list.triple_weights;
    for (size_t i = 0; i < from.size(); ++i) {
      const Triple& triple = from[i];
      if (!reached[triple.head] || !reached[triple.tail]) continue;
      used[triple.relation] = true;
      (result.graph.*list.triples).push_back(triple);
      if (!weights.empty()) (result.graph.*list.triple_weights).push_back(weights[i]);
    }
  }
  if (result.graph.train.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no training triple joins the ",
                                                   std::count(reached.begin(), reached.end(), true),
                                                   " entities within ", hops, " hops; expected at least one"));
  }
  result.graph.inverse_relations = graph.inverse_relations;
  const std::vector<int32_t> entity =
      Renumber(reached, graph.entities, graph.entity_labels, &result.graph.entities, &result.graph.entity_labels);
  result.graph.entity_types = RenumberEntityTypes(graph.entity_types, entity, result.graph.num_entities());
  const std::vector<int32_t> relation =
      Renumber(used, graph.relations, graph.relation_labels, &result.graph.relations, &result.graph.relation_labels);
  for (const TripleList& list : kTripleLists) {
    for (Triple& triple : result.graph.*list.triples) {
      triple = {entity[triple.head], relation[triple.relation], entity[triple.tail]};
    }
  }
  return result;
}

absl::StatusOr<std::vector<int32_t>> ReadEntities(absl::string_view path, const KnowledgeGraph& graph) {
  absl::flat_hash_map<absl::string_view, int32_t> ids;
  ids.reserve(graph.entities.size());
  for (size_t i = 0; i < graph.entities.size(); ++i) ids.emplace(graph.entities[i], static_cast<int32_t>(i));
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  std::vector<int32_t> entities;
  std::vector<bool> named(graph.entities.size(), false);
  for (absl::string_view line; lines.Next(&line);) {
    const auto found = ids.find(line);
    if (found == ids.end()) {
      // Names may begin as comments do, so a line is a comment only if no entity has this name.
      if (absl::StripAsciiWhitespace(line).empty() || line[0] == '#') continue;
      return absl::InvalidArgumentError(
          absl::StrCat(lines.path(), ":", lines.line_number(), ": the graph has no entity ", JsonQuote(line)));
    }
    if (!named[found->second]) entities.push_back(found->second);
    named[found->second] = true;
  }
  RETURN_IF_ERROR(lines.status());
  if (entities.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(lines.path(), ": names no entity, expected one in a line"));
  }
  return entities;
}

}  // namespace rutile
