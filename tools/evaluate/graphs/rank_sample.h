// The flag that ranks a sample of the triples.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_RANK_SAMPLE_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_RANK_SAMPLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"
#include "lib/ranking/rank_options.h"
#include "tools/evaluate/shards.h"

namespace rutile {

// INVALID_ARGUMENT: a number below 0, or a part of an evaluation.
absl::Status CheckRankSample(const EvaluateShard& shard);

// Returns the triples of --rank_sample; nullopt: all are ranked.
std::optional<std::vector<int64_t>> RankSampleFromFlag(int64_t num_triples);

// Returns the triples that these options rank: those of the sample, or all of the split.
std::vector<Triple> RankedTriples(const KnowledgeGraph& graph, const RankTriplesOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_RANK_SAMPLE_H_
