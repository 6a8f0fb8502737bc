// What of a graph is ranked, against whom, and what a rank is.

#ifndef RUTILE_LIB_RANKING_RANK_OPTIONS_H_
#define RUTILE_LIB_RANKING_RANK_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"

namespace rutile {

enum class GraphSplit { kTrain, kValid, kTest };

// Whose triples are left out. kAll is what is compared in papers; the others reproduce numbers of others.
enum class RankingFilter { kTrain, kTrainValid, kAll };

// kAuto: both where the model has inverse relations, else tails alone. kBoth of a model without inverses scores all
// heads for every relation, which takes as many hidden vectors as there are entities, for each.
enum class RankingDirection { kAuto, kTail, kBoth };

// What ranks mean. kStandard is right; the others are wrong, for comparison with numbers that were made so.
//   kTiepin    TiePin's train_pytorch.py: tails alone, test triples are not left out (filter train+valid), a target is
//              behind all that score as high, and one whose score is NaN has rank 0 (MRR becomes inf).
//   kOriginal  the place in the order sorted by fp32 probability, where known tails have probability 0 (Dettmers'
//              evaluation.py; its sort leaves open who of equals is first: here the lower id), NaN before all.
enum class RankingConvention { kStandard, kTiepin, kOriginal };

absl::string_view GraphSplitName(GraphSplit split);                     // "train", "valid", "test"
absl::string_view RankingFilterName(RankingFilter filter);              // "train", "train+valid", "all"
absl::string_view RankingDirectionName(RankingDirection direction);     // "auto", "tail", "both"
absl::string_view RankingConventionName(RankingConvention convention);  // "standard", "tiepin", "original"
absl::StatusOr<GraphSplit> ParseGraphSplit(absl::string_view name);     // INVALID_ARGUMENT: what there is
absl::StatusOr<RankingFilter> ParseRankingFilter(absl::string_view name);
absl::StatusOr<RankingDirection> ParseRankingDirection(absl::string_view name);
absl::StatusOr<RankingConvention> ParseRankingConvention(absl::string_view name);

absl::Span<const Triple> SplitTriples(const KnowledgeGraph& graph, GraphSplit split);

struct RankTriplesOptions {
  GraphSplit split = GraphSplit::kTest;
  RankingFilter filter = RankingFilter::kAll;
  RankingDirection direction = RankingDirection::kAuto;
  RankingConvention convention = RankingConvention::kStandard;
  // Only these triples of the split, ascending; nothing: all.
  std::optional<std::vector<int64_t>> triples;
  int num_threads = 1;
  std::function<void(int64_t triples)> on_progress;  // may be empty; adds up to the triples times directions
};

// Of triples that are dealt out in num_shards parts, those of the shard-th (from 1), ascending: like numbers of them,
// and what a relation's share has in common (its queries, hidden vectors of all heads) mostly in one part. All parts
// have each triple once.
std::vector<int64_t> RankShard(absl::Span<const Triple> triples, int shard, int num_shards);

// INVALID_ARGUMENT: kTiepin with another filter or direction than its own, kOriginal with another filter or with heads
// of a model without inverses.
absl::Status CheckRankTriplesOptions(const RankTriplesOptions& options, bool model_has_inverses);

// "--ranking_convention=tiepin: ..." for people, what is wrong with these numbers; "" for kStandard.
std::string ConventionNote(RankingConvention convention);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANK_OPTIONS_H_
