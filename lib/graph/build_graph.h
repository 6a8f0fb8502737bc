// From files as people have them to a knowledge graph, with a count of all that was odd.

#ifndef RUTILE_LIB_GRAPH_BUILD_GRAPH_H_
#define RUTILE_LIB_GRAPH_BUILD_GRAPH_H_

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/graph/edge_map.h"
#include "lib/graph/finding.h"
#include "lib/graph/knowledge_graph.h"

namespace rutile {

struct BuildGraphOptions {
  std::vector<std::string> train, valid, test;  // files of triples (lib/graph/triple_reader.h)
  // Files of ids (lib/graph/id_file.h); "": ids are given in the order of names' first appearance in train, valid,
  // test, in a line head before tail; or, with sort_names, in the order of the names' bytes.
  std::string entity_to_id, relation_to_id;
  bool sort_names = false;
  std::string node_name_dict;  // names for people by id; needs entity_to_id
  std::string nodes;           // the same from KGX
  std::string edge_map;        // "": relations of KGX edges are numbered as they come
  bool inverse_relations = true;

  Handling malformed = Handling::kRefuse;      // lines; kRefuse or kDrop
  Handling unknown_names = Handling::kRefuse;  // not in the files of ids, or the edge map; kRefuse or kDrop
  Handling duplicates = Handling::kDrop;       // within a split, the later ones; kRefuse or kDrop
  Handling leaked = Handling::kDrop;           // of valid or test that an earlier split has, too
  Handling unseen = Handling::kKeep;           // of valid or test, whose entity or relation no training triple has
  int64_t max_names = std::numeric_limits<int32_t>::max();  // of each kind; lower in tests
  std::function<void(int64_t lines)> on_progress;           // so many more are read; may be empty
};

// INVALID_ARGUMENT naming the option: no training file, a handling that the option does not have, node_name_dict
// without entity_to_id or beside nodes, sort_names where both vocabularies are given.
absl::Status CheckBuildGraphOptions(const BuildGraphOptions& options);

struct SplitReport {
  int64_t triples = 0;  // that are in the graph
  Finding malformed, unknown, duplicates, leaked, unseen;
};

struct BuildGraphReport {
  std::array<SplitReport, 3> splits;               // train, valid, test
  std::vector<std::string> formats;                // what files were recognized as, where there was a choice
  int64_t unseen_entities = 0;                     // different ones of valid and test that are in no training triple
  int64_t unseen_relations = 0;                    // likewise
  std::vector<std::string> unseen_relation_names;  // some of them
  int64_t unused_entities = 0;                     // have ids, but no triple
  int64_t unused_relations = 0;                    // likewise
  int64_t unlabeled = 0;                           // entities without a name for people, where others have one
  Finding malformed_nodes;
};

struct BuiltGraph {
  KnowledgeGraph graph;
  BuildGraphReport report;
  EdgeMap edge_map;  // as given, or as grown from KGX edges; empty without these
};

// Errors name file and line: what is refused, ids out of range (always), a count that is wrong, a split that has no
// triples left, more names than ids.
absl::StatusOr<BuiltGraph> BuildGraph(const BuildGraphOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_BUILD_GRAPH_H_
