// Files of kind kg.ranks/1: where the triples of a split rank, of all of them or of a part.

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

const Schema& RanksSchema();

// ranks: of options.triples, or of all triples of the split (CHECK-fails when sizes disagree). metadata: see
// lib/tensorfile/provenance.h, the model among the inputs, and "shard" for a part; the kind's own keys are added.
absl::Status WriteRanks(absl::string_view path, const KnowledgeGraph& graph, const RankTriplesOptions& options,
                        const TripleRanks& ranks, const Metadata& metadata);

struct StoredRanks {
  RankTriplesOptions options;  // split, filter, direction and convention
  TripleRanks ranks;           // of all triples of the split
};

// paths: all parts of one set in any order, or one that is whole; the ranks to the bit. model: the file that made them.
// NOT_FOUND, or INVALID_ARGUMENT: the errors of OrderParts and CheckMadeFrom, ranks of other triples than the graph's,
// a triple that no part has, or two; else naming file, tensor and rule.
absl::StatusOr<StoredRanks> ReadRanks(absl::Span<const std::string> paths, const KnowledgeGraph& graph,
                                      const std::string& model);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANKS_FILE_H_
