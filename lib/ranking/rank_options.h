// Options of link prediction: split, filter, direction and tie convention.

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
#include "lib/ranking/candidates.h"
#include "lib/ranking/gpu/counting_device.h"

namespace rutile {

// Whose triples are ranked.
enum class GraphSplit { kTrain, kValid, kTest };

// Splits whose triples are left out of the comparison. Papers compare results of kAll; the others reproduce other
// published numbers.
enum class RankingFilter { kTrain, kTrainValid, kAll };

// Whether tails, or tails and heads are ranked. kAuto ranks both if the model has inverse relations, otherwise only
// tails. kBoth of a model without inverses scores all heads for every relation, which takes one hidden vector per
// entity and relation.
enum class RankingDirection { kAuto, kTail, kBoth };

// How ties and NaN count. kStandard is correct; the others are wrong, and allow a comparison with numbers made in that
// way.
//   kTiepin    TiePin's train_pytorch.py: ranks only tails, does not leave out test triples (filter train+valid),
//              puts a target behind all entities with its score, and gives a NaN score rank 0 (MRR becomes inf).
//   kOriginal  Dettmers' evaluation.py: the position in the order sorted by fp32 probability, where known tails have
//              probability 0. Its sort leaves the order of equals open; here the lower id is first. NaN is before all.
enum class RankingConvention { kStandard, kTiepin, kOriginal };

absl::string_view GraphSplitName(GraphSplit split);                     // "train", "valid", "test"
absl::string_view RankingFilterName(RankingFilter filter);              // "train", "train+valid", "all"
absl::string_view RankingDirectionName(RankingDirection direction);     // "auto", "tail", "both"
absl::string_view RankingConventionName(RankingConvention convention);  // "standard", "tiepin", "original"
absl::StatusOr<GraphSplit> ParseGraphSplit(absl::string_view name);     // INVALID_ARGUMENT: what there is
absl::StatusOr<RankingFilter> ParseRankingFilter(absl::string_view name);
absl::StatusOr<RankingDirection> ParseRankingDirection(absl::string_view name);
absl::StatusOr<RankingConvention> ParseRankingConvention(absl::string_view name);

// Returns the triples of a split.
absl::Span<const Triple> SplitTriples(const KnowledgeGraph& graph, GraphSplit split);

// Options of RankTriples.
struct RankTriplesOptions {
  GraphSplit split = GraphSplit::kTest;
  RankingFilter filter = RankingFilter::kAll;
  RankingDirection direction = RankingDirection::kAuto;
  RankingConvention convention = RankingConvention::kStandard;
  // Ranks only these triples of the split, ascending; nullopt ranks all.
  std::optional<std::vector<int64_t>> triples;
  int num_threads = 1;
  // Counts scores in place of the CPU, which still computes hidden vectors; null: the CPU counts. Must live during the
  // call.
  CountingDevice* device = nullptr;
  // Also ranks targets among these, for the relations that the split has; null: among all entities only. Must live
  // during the call.
  const Candidates* candidates = nullptr;
  std::function<void(int64_t triples)> on_progress;  // may be empty; adds up to the triples times directions
};

// Returns the triples of part `shard` (from 1) of num_shards, ascending. Parts are of about equal size, and triples of
// a relation, which share work (queries, hidden vectors of all heads), are mostly in one part. Each triple is in
// exactly one part.
std::vector<int64_t> RankShard(absl::Span<const Triple> triples, int shard, int num_shards);

// Returns whether heads are ranked, beside tails.
bool RanksHeads(const RankTriplesOptions& options, bool model_has_inverses);

// Checks options. INVALID_ARGUMENT: kTiepin with another filter or direction than its own, kOriginal with another
// filter, with heads of a model without inverses, or with a device, which does not sort; candidates with one of these
// conventions, with a device, which counts among all, or of heads, which are not ranked.
absl::Status CheckRankTriplesOptions(const RankTriplesOptions& options, bool model_has_inverses);

// Returns a sentence for people on what is wrong with these numbers ("--ranking_convention=tiepin: ..."); "" for
// kStandard.
std::string ConventionNote(RankingConvention convention);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANK_OPTIONS_H_
