#include "lib/graph/text/graph_names.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "lib/base/status_macros.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/text/formats/id_file.h"

namespace rutile {
namespace {

constexpr size_t kShownNames = 5;

}  // namespace

absl::Status GraphNames::ReadFrom(const std::string& path, std::vector<std::string>* formats) {
  ASSIGN_OR_RETURN(const IdFile file, ReadIdFile(path));
  for (const std::string& name : file.names) vocabulary_.Add(name);
  fixed_ = true;
  formats->push_back(file.Describe(path));
  return absl::OkStatus();
}

void GraphNames::MarkTrained(int32_t id) {
  if (id >= static_cast<int64_t>(trained_.size())) trained_.resize(std::max<int64_t>(id + 1, vocabulary_.size()));
  trained_[id] = true;
}

void GraphNames::MarkUnseen(absl::string_view name) {
  if (unseen_.emplace(name).second && unseen_names_.size() < kShownNames) unseen_names_.emplace_back(name);
}

void SortGraphNames(bool entities, bool relations, KnowledgeGraph* graph) {
  const auto sort = [](std::vector<std::string>* names, std::vector<std::string>* labels) {
    std::vector<int32_t> order(names->size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return (*names)[a] < (*names)[b]; });
    std::vector<int32_t> new_id(names->size());
    std::vector<std::string> sorted_names(names->size()), sorted_labels(labels->size());
    for (size_t i = 0; i < order.size(); ++i) {
      new_id[order[i]] = static_cast<int32_t>(i);
      sorted_names[i] = std::move((*names)[order[i]]);
      if (!labels->empty()) sorted_labels[i] = std::move((*labels)[order[i]]);
    }
    names->swap(sorted_names);
    labels->swap(sorted_labels);
    return new_id;
  };
  std::vector<int32_t> entity, relation;
  if (entities) {
    entity = sort(&graph->entities, &graph->entity_labels);
    graph->entity_types = RenumberEntityTypes(graph->entity_types, entity, graph->num_entities());
  }
  if (relations) relation = sort(&graph->relations, &graph->relation_labels);
  for (std::vector<Triple>* split : {&graph->train, &graph->valid, &graph->test, &graph->negatives}) {
    for (Triple& triple : *split) {
      if (!entity.empty()) triple.head = entity[triple.head];
      if (!entity.empty()) triple.tail = entity[triple.tail];
      if (!relation.empty()) triple.relation = relation[triple.relation];
    }
  }
}

}  // namespace rutile
