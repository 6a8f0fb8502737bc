// Types of entities (drug, gene, disease), by name: what they are, and how files of triples and models hold them.
//
// An entity has any number of types, none included. They name the entities that a target is ranked among
// (lib/ranking/candidates.h), and those that false answers are drawn from (train --negatives_by=type).

#ifndef RUTILE_LIB_GRAPH_ENTITY_TYPES_H_
#define RUTILE_LIB_GRAPH_ENTITY_TYPES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/vocabulary.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The types of the entities of a graph.
struct EntityTypes {
  std::vector<std::string> names;  // [K] ascending by bytes, each of some entity; empty if no type is known
  std::vector<int64_t> begin;      // [N + 1], or empty without types
  std::vector<int32_t> type;       // entity e has type[begin[e]] .. type[begin[e + 1] - 1], ascending, each once

  bool empty() const { return names.empty(); }
  // Returns the types of an entity; none if no type is known.
  absl::Span<const int32_t> Of(int32_t entity) const {
    if (empty()) return {};
    return absl::MakeConstSpan(type).subspan(begin[entity], begin[entity + 1] - begin[entity]);
  }
  // Returns the number of a type, or Vocabulary::kUnknown.
  int32_t Find(absl::string_view name) const;
  // Returns the number of entities of each type, [K].
  std::vector<int64_t> Counts() const;

  friend bool operator==(const EntityTypes& a, const EntityTypes& b) {
    return a.names == b.names && a.begin == b.begin && a.type == b.type;
  }
  friend bool operator!=(const EntityTypes& a, const EntityTypes& b) { return !(a == b); }
};

// Collects types in any order; what comes twice counts once.
class EntityTypesBuilder {
 public:
  void Add(int32_t entity, absl::string_view type) { pairs_.emplace_back(entity, names_.Add(type)); }
  // Returns the types of entities 0 .. num_entities - 1; empty if none was added. CHECK-fails on another entity.
  EntityTypes Build(int64_t num_entities) const;

 private:
  Vocabulary names_;
  std::vector<std::pair<int32_t, int32_t>> pairs_;  // (entity, number in names_)
};

// Returns the types of a graph in which entity e has become new_id[e], one of 0 .. num_entities - 1, or has been left
// out, where that is -1.
EntityTypes RenumberEntityTypes(const EntityTypes& types, absl::Span<const int32_t> new_id, int64_t num_entities);

// INVALID_ARGUMENT: members that are not as their comments say; a name that is empty, not UTF-8 or has a line end.
absl::Status CheckEntityTypes(const EntityTypes& types, int64_t num_entities);

// Adds to a schema the tensors that hold types in a file, all of them or none: entity_type_names, entity_type_begin and
// entity_type. Returns the schema.
Schema* AddEntityTypeRules(Schema* schema);
// Adds these tensors to a file; none for empty types.
void SetEntityTypes(const EntityTypes& types, NamedTensors* tensors);
// Returns the types in a file, empty for one without. INVALID_ARGUMENT, naming file and tensor.
absl::StatusOr<EntityTypes> EntityTypesFromFile(const TensorFile& file, int64_t num_entities);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_ENTITY_TYPES_H_
