// Builds a knowledge graph from files in the formats of the field, and reports everything odd in them.

#ifndef RUTILE_LIB_GRAPH_TEXT_BUILD_GRAPH_H_
#define RUTILE_LIB_GRAPH_TEXT_BUILD_GRAPH_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/reverse_leaks.h"
#include "lib/graph/split_graph.h"
#include "lib/graph/text/build_graph_options.h"
#include "lib/graph/text/edge_map.h"
#include "lib/graph/text/finding.h"

namespace rutile {

// Findings in one split.
struct SplitReport {
  int64_t triples = 0;  // number of triples in the graph
  Finding malformed, negated, literals, unknown, duplicates, leaked, unseen;
  LeakReport reversed;  // of valid and test; relations as in the graph
};

// Findings in all inputs.
struct BuildGraphReport {
  std::array<SplitReport, 3> splits;                 // train, valid, test
  SplitReport negatives;                             // of the known-false triples
  std::vector<std::string> formats;                  // recognized formats of files that could have several
  int64_t num_tables = 0;                            // files to which TableOptions apply
  int64_t num_edge_files = 0;                        // files of KGX edges
  int64_t num_negatable_files = 0;                   // files that can deny statements
  int64_t num_n_triples_files = 0;                   // files of N-Triples
  std::vector<std::string> doubts;                   // what may be read wrong: a first line, the order of columns
  std::map<std::string, Finding> unused_qualifiers;  // by field: qualifiers that tell no relations apart
  GraphSplitResult split;                            // what options.split moved
  int64_t unseen_entities = 0;                       // distinct entities of valid and test that no training triple has
  int64_t unseen_relations = 0;                      // likewise
  std::vector<std::string> unseen_relation_names;    // examples
  int64_t unused_entities = 0;                       // entities with an id but without a triple
  int64_t unused_relations = 0;                      // likewise
  int64_t unlabeled = 0;                             // entities without a label, if others have one
  Finding malformed_nodes;
  Finding malformed_types, unknown_types;  // lines of options.entity_types: no types; of names that the graph lacks
  int64_t untyped = 0;                     // entities without a type, if others have one
  std::vector<std::string> untyped_names;  // examples
};

// A graph and how it was built.
struct BuiltGraph {
  KnowledgeGraph graph;
  BuildGraphReport report;
  EdgeMap edge_map;  // as given, or grown from KGX edges; empty without these
};

// Reads the files and builds the graph. Errors name file and line: input that is refused, ids out of range (always), a
// wrong count, a split without triples, more names than ids, a first line that is a header (table_evidence.h), columns
// in another order; with weights, a triple that comes twice with different ones; a known-false triple that is in a
// split.
absl::StatusOr<BuiltGraph> BuildGraph(const BuildGraphOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_BUILD_GRAPH_H_
