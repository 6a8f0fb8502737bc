// Says which files make a knowledge graph, how they are read, and what is done with what is odd in them.

#ifndef RUTILE_LIB_GRAPH_TEXT_BUILD_GRAPH_OPTIONS_H_
#define RUTILE_LIB_GRAPH_TEXT_BUILD_GRAPH_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/graph/split_graph.h"
#include "lib/graph/text/finding.h"
#include "lib/graph/text/formats/table_layout.h"

namespace rutile {

// What the fields of a table of triples are.
enum class TripleContent { kAuto, kNames, kIds };

// Input files, and how to handle what is odd in them.
//
//   BuildGraphOptions options;
//   options.train = {"train.txt"};
//   options.test = {"test.txt"};
//   ASSIGN_OR_RETURN(const BuiltGraph built, BuildGraph(options));
//   LOG(INFO) << built.graph.num_entities() << " entities, " << built.report.splits[2].leaked.count << " leaked";
struct BuildGraphOptions {
  std::vector<std::string> train, valid, test;  // files of triples (lib/graph/text/formats/triple_reader.h)
  std::vector<std::string> negatives;           // likewise of triples that are known to be false
  // Files of ids (lib/graph/text/formats/id_file.h). If "", ids are given in the order in which names first appear in
  // train, valid, test (head before tail within a line), or, with sort_names, in the order of the names' bytes.
  std::string entity_to_id, relation_to_id;
  bool sort_names = false;
  std::string node_name_dict;  // labels (names for people) by id; needs entity_to_id
  std::string nodes;           // file of KGX nodes with labels and types
  std::string entity_types;    // table of types (type_file.h), in addition to those of nodes
  std::string edge_map;        // "": relations of KGX edges are numbered in order of appearance
  bool inverse_relations = true;
  TableOptions table;  // how tables are read
  // Qualifiers of KGX edges that tell relations apart; nullopt for all that edges have. Refused beside edge_map.
  std::optional<std::vector<std::string>> qualifiers;
  // What tables of triples hold. By default they hold ids if a file gives ids, all fields are numbers, and none of the
  // first is a name in that file.
  TripleContent content = TripleContent::kAuto;
  GraphSplitOptions split;  // shares of the training triples that become validation and test triples

  Handling malformed = Handling::kRefuse;  // lines that are no triples; kRefuse or kDrop
  Handling unknown_names =
      Handling::kRefuse;                  // names that are not in the files of ids or the edge map; kRefuse or kDrop
  Handling duplicates = Handling::kDrop;  // repetitions within a split; kRefuse or kDrop
  Handling leaked = Handling::kDrop;      // triples of valid or test that an earlier split has, too
  Handling negated = Handling::kDrop;     // statements that are denied; kKeep makes relations of their own of
                                          // them; those of `negatives` are the triples that they deny
  Handling literals = Handling::kKeep;    // triples of N-Triples whose tail is a text, a number or a date
  // Triples of valid or test that training gives away reversed or under another name (reverse_leaks.h).
  Handling reversed = Handling::kKeep;
  Handling unseen = Handling::kKeep;  // triples of valid or test with an entity or relation that no training triple has
  int64_t max_names = std::numeric_limits<int32_t>::max();  // largest number of names of each kind; lower in tests
  std::function<void(int64_t lines)> on_progress;           // called with the number of newly read lines; may be empty
};

// Checks options. INVALID_ARGUMENT naming the option: no training file, a handling that the option does not have,
// node_name_dict without entity_to_id or beside nodes, sort_names where both vocabularies are given, ids where none are
// given, a share of a split that a file gives, columns that are no three.
absl::Status CheckBuildGraphOptions(const BuildGraphOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_BUILD_GRAPH_OPTIONS_H_
