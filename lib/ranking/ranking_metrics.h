// Sums up ranks of triples as mean rank, mean reciprocal rank and Hits@k.

#ifndef RUTILE_LIB_RANKING_RANKING_METRICS_H_
#define RUTILE_LIB_RANKING_RANKING_METRICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/triple.h"

namespace rutile {

// The rank of one target. With ties, it is before all entities of equal score (optimistic), in their middle (realistic;
// half ranks), or after them (pessimistic).
struct RankValues {
  double optimistic = 0, realistic = 0, pessimistic = 0;
  double expected = 0;  // realistic rank in a random order
  bool nan = false;     // the target's score was NaN
  // Of a rank among candidates: the target is none of them. Metrics leave it out, because a place among drugs says
  // nothing of what is no drug.
  bool outside = false;
};

// Ranks of triples, [triples] per direction; empty if the direction was not ranked.
struct TripleRanks {
  std::vector<RankValues> tail, head;
  // Among the candidates of that side (candidates.h); empty if the direction was not ranked, or has none.
  std::vector<RankValues> tail_among, head_among;
  std::string candidates;         // what they are, for people: Candidates::description(); "" if there are none
  std::string candidates_sha256;  // Candidates::sha256()
};

// Sums over ranks. MR, MRR and Hits@k use realistic ranks; a hit is a rank <= k.
struct RankSums {
  int64_t count = 0;
  double rank = 0, expected = 0;
  double reciprocal = 0, reciprocal_optimistic = 0, reciprocal_pessimistic = 0;
  std::vector<int64_t> hits;  // one for each element of hits_at
  // What the sums of 1 / rank and of hits are on average over random orders.
  double expected_reciprocal = 0;
  std::vector<double> expected_hits;
  int64_t nan = 0;
  int64_t outside = 0;  // ranks that are left out: they are not in `count` or the other sums
  int64_t tied = 0;     // targets with others of equal score

  void Add(const RankValues& values, absl::Span<const int64_t> hits_at);
  // Adds sums that were made with the same hits_at.
  void Add(const RankSums& other);
  double mean_rank() const { return rank / static_cast<double>(count); }
  double mrr() const { return reciprocal / static_cast<double>(count); }
  double mrr_optimistic() const { return reciprocal_optimistic / static_cast<double>(count); }
  double mrr_pessimistic() const { return reciprocal_pessimistic / static_cast<double>(count); }
  double hits_share(int i) const { return static_cast<double>(hits[i]) / static_cast<double>(count); }
  // Mean rank divided by that of a random order: 1 is no better than chance (Berrendorf et al., arXiv:2002.06914).
  double adjusted_mean_rank() const { return rank / expected; }
  // Adjusted metrics (m - E) / (best - E), E the mean of m over random orders: 1 is perfect, 0 no better than chance,
  // whatever the number of entities, so that they compare over graphs and candidates. They are of the mean rank (AMRI;
  // Berrendorf et al.), of MRR and of Hits@k (Hoyt et al., arXiv:2203.07544). NaN where every order is perfect.
  double adjusted_mean_rank_index() const;
  double adjusted_mrr() const;
  double adjusted_hits_share(int i) const;
  // Mean number of entities that were compared, the target included: a random order puts it in their middle.
  double mean_candidates() const { return 2 * expected / static_cast<double>(count) - 1; }
};

// Category of a relation by the average numbers of tails per head and of heads per tail in training; "N" is 1.5 or more
// (Bordes et al., NeurIPS 2013). "1-N": a head has several tails.
enum class RelationCategory { kOneToOne, kOneToMany, kManyToOne, kManyToMany, kUntrained };
absl::string_view RelationCategoryName(RelationCategory category);  // "1-1", "1-N", "N-1", "N-N", "untrained"

// Returns the category of each relation, [num_relations]; triples must be distinct.
std::vector<RelationCategory> RelationCategories(absl::Span<const Triple> train, int64_t num_relations);

// Metrics of one group of triples in one direction.
struct RankingRow {
  std::string grouping;   // "all", "category", "relation" or "frequency"
  std::string group;      // "" for all; "1-N"; the relation's name; "4-7"
  std::string direction;  // "both", "tail" (of queries for a tail) or "head"
  RankSums sums;
  RankSums among;  // of ranks among candidates; nothing is counted, and nothing outside, without these
};

// Groups that get rows of their own.
struct RankingGroups {
  std::vector<RelationCategory> categories;  // [relations]; empty: no rows for them
  std::vector<std::string> relations;        // names; empty: no rows for them
};

// Computes rows of all triples ("both", then "tail" and "head"; only one row if one direction was ranked), then such
// rows of each category and each relation that has triples, in the order of ids.
std::vector<RankingRow> ComputeRankingRows(absl::Span<const Triple> triples, const TripleRanks& ranks,
                                           absl::Span<const int64_t> hits_at, const RankingGroups& groups);

// Returns the number of triples that each entity is in, as head or tail: [num_entities]. A triple of an entity with
// itself counts once.
std::vector<int64_t> EntityFrequencies(absl::Span<const Triple> triples, int64_t num_entities);

// Groups of entities by their frequencies: 0, 1, 2-3, 4-7, and so on by powers of two.
int FrequencyGroup(int64_t frequency);      // 0, 1, 2, 3, ...
std::string FrequencyGroupName(int group);  // "0", "1", "2-3", "4-7", ...

// Computes rows of the queries whose answer (the tail of a query for a tail, the head of one for a head) has a
// frequency of each group: "both", "tail" and "head" as above, in ascending order of groups that have any. frequency:
// [entities].
std::vector<RankingRow> ComputeFrequencyRows(absl::Span<const Triple> triples, const TripleRanks& ranks,
                                             absl::Span<const int64_t> hits_at, absl::Span<const int64_t> frequency);

// Returns a table with a header row and a row for each element of `rows`. If any has ranks among candidates, columns
// for them follow the others; they are empty where no rank counts.
std::string RankingRowsToTsv(absl::Span<const RankingRow> rows, absl::Span<const int64_t> hits_at);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANKING_METRICS_H_
