// Reads and writes files of kind kg.ranks/1: ranks of the triples of a split, or of a part of them.

#ifndef RUTILE_LIB_RANKING_RANKS_FILE_H_
#define RUTILE_LIB_RANKING_RANKS_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/ranking/rank_options.h"
#include "lib/ranking/ranking_metrics.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The tensors and metadata of the file.
const Schema& RanksSchema();

// Writes ranks of options.triples, which are a sample (SampleOfTriples) unless metadata has "shard", or of all triples
// of the split (CHECK-fails if sizes disagree). metadata: see
// lib/tensorfile/provenance.h, with the model among the inputs, and "shard" for a part; the keys of this kind are
// added.
absl::Status WriteRanks(absl::string_view path, const KnowledgeGraph& graph, const RankTriplesOptions& options,
                        const TripleRanks& ranks, const Metadata& metadata);

// Ranks as read.
struct StoredRanks {
  RankTriplesOptions options;  // only split, filter, direction, convention and, for a sample, triples are set
  TripleRanks ranks;           // ranks of all triples of the split, or of options.triples
};

// Reads ranks, which are returned bit for bit. paths: all parts of one set in any order, or a complete file. models:
// the model files that made them together, each once. NOT_FOUND, or INVALID_ARGUMENT: the errors of OrderParts and
// CheckMadeFrom, ranks of triples other than the graph's, a triple that no part or two parts have; otherwise naming
// file, tensor and rule.
absl::StatusOr<StoredRanks> ReadRanks(absl::Span<const std::string> paths, const KnowledgeGraph& graph,
                                      absl::Span<const std::string> models);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANKS_FILE_H_
