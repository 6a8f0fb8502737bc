// Builds a knowledge graph from files in the formats of the field, and reports everything odd in them.

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

// Input files, and how to handle what is odd in them.
//
//   BuildGraphOptions options;
//   options.train = {"train.txt"};
//   options.test = {"test.txt"};
//   ASSIGN_OR_RETURN(const BuiltGraph built, BuildGraph(options));
//   LOG(INFO) << built.graph.num_entities() << " entities, " << built.report.splits[2].leaked.count << " leaked";
struct BuildGraphOptions {
  std::vector<std::string> train, valid, test;  // files of triples (lib/graph/triple_reader.h)
  // Files of ids (lib/graph/id_file.h). If "", ids are given in the order in which names first appear in train, valid,
  // test (head before tail within a line), or, with sort_names, in the order of the names' bytes.
  std::string entity_to_id, relation_to_id;
  bool sort_names = false;
  std::string node_name_dict;  // labels (names for people) by id; needs entity_to_id
  std::string nodes;           // file of KGX nodes with labels
  std::string edge_map;        // "": relations of KGX edges are numbered in order of appearance
  bool inverse_relations = true;

  Handling malformed = Handling::kRefuse;  // lines that are no triples; kRefuse or kDrop
  Handling unknown_names =
      Handling::kRefuse;                  // names that are not in the files of ids or the edge map; kRefuse or kDrop
  Handling duplicates = Handling::kDrop;  // repetitions within a split; kRefuse or kDrop
  Handling leaked = Handling::kDrop;      // triples of valid or test that an earlier split has, too
  Handling unseen = Handling::kKeep;  // triples of valid or test with an entity or relation that no training triple has
  int64_t max_names = std::numeric_limits<int32_t>::max();  // largest number of names of each kind; lower in tests
  std::function<void(int64_t lines)> on_progress;           // called with the number of newly read lines; may be empty
};

// Checks options. INVALID_ARGUMENT naming the option: no training file, a handling that the option does not have,
// node_name_dict without entity_to_id or beside nodes, sort_names where both vocabularies are given.
absl::Status CheckBuildGraphOptions(const BuildGraphOptions& options);

// Findings in one split.
struct SplitReport {
  int64_t triples = 0;  // number of triples in the graph
  Finding malformed, unknown, duplicates, leaked, unseen;
};

// Findings in all inputs.
struct BuildGraphReport {
  std::array<SplitReport, 3> splits;               // train, valid, test
  std::vector<std::string> formats;                // recognized formats of files that could have several
  int64_t unseen_entities = 0;                     // distinct entities of valid and test that are in no training triple
  int64_t unseen_relations = 0;                    // likewise
  std::vector<std::string> unseen_relation_names;  // examples
  int64_t unused_entities = 0;                     // entities with an id but without a triple
  int64_t unused_relations = 0;                    // likewise
  int64_t unlabeled = 0;                           // entities without a label, if others have one
  Finding malformed_nodes;
};

// A graph and how it was built.
struct BuiltGraph {
  KnowledgeGraph graph;
  BuildGraphReport report;
  EdgeMap edge_map;  // as given, or grown from KGX edges; empty without these
};

// Reads the files and builds the graph. Errors name file and line: input that is refused, ids out of range (always), a
// wrong count, a split without triples, more names than ids.
absl::StatusOr<BuiltGraph> BuildGraph(const BuildGraphOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_BUILD_GRAPH_H_
