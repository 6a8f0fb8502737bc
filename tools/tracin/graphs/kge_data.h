// The training and test triples of a tracin run, with their names.

#ifndef RUTILE_TOOLS_TRACIN_GRAPHS_KGE_DATA_H_
#define RUTILE_TOOLS_TRACIN_GRAPHS_KGE_DATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"
#include "lib/kge/model/kge_file.h"
#include "tools/tracin/influence_domain.h"

namespace rutile {

// The triples of a run and their names.
struct KgeData {
  KnowledgeGraph graph;  // names, and the training triples
  // Examples: the training triples, then their inverses if requested, then the known-false triples likewise.
  std::vector<Triple> train;
  std::vector<double> weights;    // of the examples; empty: all 1
  std::vector<uint8_t> is_false;  // 1 for known-false triples; empty: none is
  std::vector<Triple> tests;      // examples: inverses if heads are predicted
  std::string triples_sha256;     // TriplesSha256 of the whole graph; "": training triples are only a part, from text
  std::string weights_sha256;     // WeightsSha256 of the whole graph; "" from text
  std::string learned_sha256;     // TripleSetSha256 of what the model learned from; "": no model, or one of before
  bool has_entity_labels = false, has_relation_labels = false;

  // Returns the triple behind an example: (h, r, t) for the inverse (t, R + r, h).
  Triple Plain(const Triple& example) const;
  bool IsFalse(int64_t train) const { return !is_false.empty() && is_false[train] != 0; }
  bool IsInverse(const Triple& example) const { return example.relation >= graph.num_relations(); }
  NamedTriple Named(const Triple& example) const;
  // Returns the columns head, relation, tail, and their labels if there are any; the relation of an inverse is "inverse
  // of r".
  std::vector<std::string> Columns() const;
  std::vector<std::string> Cells(const Triple& example) const;
  // Return the columns of training examples, which have known_false, too, if some are.
  std::vector<std::string> TrainColumns() const;
  std::vector<std::string> TrainCells(int64_t example) const;
};

// Hashes triples in their order, and the names; of training examples also the weights and which are false.
std::string TripleExamplesSha256(const KnowledgeGraph& graph, absl::Span<const Triple> triples);
std::string TrainExamplesSha256(const KgeData& data);

// Reads the files of --train and --test and applies their flags. model: provides names if the training triples have
// none.
absl::StatusOr<KgeData> ReadKgeData(absl::Span<const std::string> train, absl::Span<const std::string> test,
                                    const std::optional<TrainedKge>& model, const std::string& model_path);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_GRAPHS_KGE_DATA_H_
