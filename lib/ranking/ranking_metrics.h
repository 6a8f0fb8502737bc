// Ranks of triples summed up as people quote them: mean rank, mean reciprocal rank, Hits@k.

#ifndef RUTILE_LIB_RANKING_RANKING_METRICS_H_
#define RUTILE_LIB_RANKING_RANKING_METRICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/triple.h"

namespace rutile {

// The rank of one target. With ties: before all that score as high, in their middle (half ranks), after them.
struct RankValues {
  double optimistic = 0, realistic = 0, pessimistic = 0;
  double expected = 0;  // realistic rank in a random order
  bool nan = false;     // the target's score was NaN
};

// [triples] each; empty: that direction was not ranked.
struct TripleRanks {
  std::vector<RankValues> tail, head;
};

// Sums over ranks. MR, MRR and Hits@k are of realistic ranks; a hit is a rank <= k.
struct RankSums {
  int64_t count = 0;
  double rank = 0, expected = 0;
  double reciprocal = 0, reciprocal_optimistic = 0, reciprocal_pessimistic = 0;
  std::vector<int64_t> hits;  // as hits_at
  int64_t nan = 0;

  void Add(const RankValues& values, absl::Span<const int64_t> hits_at);
  // The same hits_at.
  void Add(const RankSums& other);
  double mean_rank() const { return rank / static_cast<double>(count); }
  double mrr() const { return reciprocal / static_cast<double>(count); }
  double mrr_optimistic() const { return reciprocal_optimistic / static_cast<double>(count); }
  double mrr_pessimistic() const { return reciprocal_pessimistic / static_cast<double>(count); }
  double hits_share(int i) const { return static_cast<double>(hits[i]) / static_cast<double>(count); }
  // Mean rank over that of a random order: 1 is no better than chance (Berrendorf et al., arXiv:2002.06914).
  double adjusted_mean_rank() const { return rank / expected; }
};

// How many tails a head has in training on average, and how many heads a tail, "N" from 1.5 on (Bordes et al., NeurIPS
// 2013). "1-N": a head has several tails.
enum class RelationCategory { kOneToOne, kOneToMany, kManyToOne, kManyToMany, kUntrained };
absl::string_view RelationCategoryName(RelationCategory category);  // "1-1", "1-N", "N-1", "N-N", "untrained"

// [num_relations]; triples are distinct.
std::vector<RelationCategory> RelationCategories(absl::Span<const Triple> train, int64_t num_relations);

struct RankingRow {
  std::string grouping;   // "all", "category" or "relation"
  std::string group;      // "" for all; "1-N"; the relation's name
  std::string direction;  // "both", "tail" (of queries for a tail) or "head"
  RankSums sums;
};

struct RankingGroups {
  std::vector<RelationCategory> categories;  // [relations]; empty: no rows for them
  std::vector<std::string> relations;        // names; empty: no rows for them
};

// Rows of all triples first ("both", then "tail" and "head"; where one direction alone was ranked, only that), then the
// same of each category and each relation that has triples, in the order of ids.
std::vector<RankingRow> ComputeRankingRows(absl::Span<const Triple> triples, const TripleRanks& ranks,
                                           absl::Span<const int64_t> hits_at, const RankingGroups& groups);

// A header row, then a row for each.
std::string RankingRowsToTsv(absl::Span<const RankingRow> rows, absl::Span<const int64_t> hits_at);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANKING_METRICS_H_
