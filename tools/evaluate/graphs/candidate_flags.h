// The flags of evaluate that name candidates, the entities that targets are also ranked among, and the table of types.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_CANDIDATE_FLAGS_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_CANDIDATE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/ranking/candidates.h"

namespace rutile {

// True if --list_types is given.
bool ListsTypes();

// Returns the files that flags name as lists of candidates.
std::vector<std::string> CandidateFiles(const EntityTypes& types);

// Returns the types of the triples or, where they have none, those of the model. Warns if they differ. names: those of
// the model.
const EntityTypes& ChooseTypes(const KnowledgeGraph& graph, const KnowledgeGraph& names);

// Which sides are ranked or asked for.
struct CandidateSides {
  bool head = true, tail = true;
};

// Returns the candidates of `relations` on these sides, or nullopt if no flag asks for any. INVALID_ARGUMENT: a text
// that is neither a type nor a file, or both; a file with a name that the graph lacks; no types; a flag for a side that
// is not there; a side without a candidate.
absl::StatusOr<std::optional<Candidates>> CandidatesFromFlags(const KnowledgeGraph& graph, const EntityTypes& types,
                                                              absl::Span<const int32_t> relations,
                                                              const CandidateSides& sides);

// Returns a table of all types with the number of their entities, and of the two sides of each relation with the number
// of entities that are there in training, and their types.
std::string TypesTable(const KnowledgeGraph& graph, const EntityTypes& types);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_CANDIDATE_FLAGS_H_
