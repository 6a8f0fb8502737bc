#include "lib/ranking/ranking_metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/tsv_cell.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kManyFrom = 1.5;
constexpr int kNumCategories = 5;

// Sums of tail and head; "both" is the sum of the two.
struct Directions {
  RankSums tail, head;
};

void AppendRows(absl::string_view grouping, absl::string_view group, const Directions& sums,
                std::vector<RankingRow>* rows) {
  const auto append = [&](absl::string_view direction, const RankSums& of) {
    rows->push_back({std::string(grouping), std::string(group), std::string(direction), of});
  };
  if (sums.tail.count > 0 && sums.head.count > 0) {
    RankSums both = sums.tail;
    both.Add(sums.head);
    append("both", both);
  }
  if (sums.tail.count > 0) append("tail", sums.tail);
  if (sums.head.count > 0) append("head", sums.head);
}

// Counts the different (key, relation) of each relation.
std::vector<int64_t> CountKeys(absl::Span<const Triple> train, int64_t num_relations, int32_t Triple::*key) {
  std::vector<uint64_t> pairs;
  pairs.reserve(train.size());
  for (const Triple& triple : train) {
    pairs.push_back((static_cast<uint64_t>(triple.relation) << 32) | static_cast<uint32_t>(triple.*key));
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::vector<int64_t> count(num_relations);
  for (const uint64_t pair : pairs) ++count[pair >> 32];
  return count;
}

}  // namespace

void RankSums::Add(const RankValues& values, absl::Span<const int64_t> hits_at) {
  hits.resize(hits_at.size());
  ++count;
  rank += values.realistic;
  expected += values.expected;
  reciprocal += 1 / values.realistic;
  reciprocal_optimistic += 1 / values.optimistic;
  reciprocal_pessimistic += 1 / values.pessimistic;
  for (size_t i = 0; i < hits_at.size(); ++i) hits[i] += values.realistic <= static_cast<double>(hits_at[i]) ? 1 : 0;
  nan += values.nan ? 1 : 0;
}

void RankSums::Add(const RankSums& other) {
  hits.resize(std::max(hits.size(), other.hits.size()));
  count += other.count;
  rank += other.rank;
  expected += other.expected;
  reciprocal += other.reciprocal;
  reciprocal_optimistic += other.reciprocal_optimistic;
  reciprocal_pessimistic += other.reciprocal_pessimistic;
  for (size_t i = 0; i < other.hits.size(); ++i) hits[i] += other.hits[i];
  nan += other.nan;
}

absl::string_view RelationCategoryName(RelationCategory category) {
  switch (category) {
    case RelationCategory::kOneToOne:
      return "1-1";
    case RelationCategory::kOneToMany:
      return "1-N";
    case RelationCategory::kManyToOne:
      return "N-1";
    case RelationCategory::kManyToMany:
      return "N-N";
    case RelationCategory::kUntrained:
      return "untrained";
  }
  LOG(FATAL) << "no such category";
}

std::vector<RelationCategory> RelationCategories(absl::Span<const Triple> train, int64_t num_relations) {
  std::vector<int64_t> triples(num_relations);
  for (const Triple& triple : train) ++triples[triple.relation];
  const std::vector<int64_t> heads = CountKeys(train, num_relations, &Triple::head);
  const std::vector<int64_t> tails = CountKeys(train, num_relations, &Triple::tail);
  std::vector<RelationCategory> categories(num_relations, RelationCategory::kUntrained);
  for (int64_t r = 0; r < num_relations; ++r) {
    if (triples[r] == 0) continue;
    const double count = static_cast<double>(triples[r]);
    const bool many_tails = count / static_cast<double>(heads[r]) >= kManyFrom;
    const bool many_heads = count / static_cast<double>(tails[r]) >= kManyFrom;
    categories[r] = many_tails ? (many_heads ? RelationCategory::kManyToMany : RelationCategory::kOneToMany)
                               : (many_heads ? RelationCategory::kManyToOne : RelationCategory::kOneToOne);
  }
  return categories;
}

std::vector<RankingRow> ComputeRankingRows(absl::Span<const Triple> triples, const TripleRanks& ranks,
                                           absl::Span<const int64_t> hits_at, const RankingGroups& groups) {
  const ProfileScope scope(Stage::kMetrics);
  CHECK(ranks.tail.empty() || ranks.tail.size() == triples.size()) << ranks.tail.size() << " vs. " << triples.size();
  CHECK(ranks.head.empty() || ranks.head.size() == triples.size()) << ranks.head.size() << " vs. " << triples.size();
  Directions all;
  std::vector<Directions> category(kNumCategories), relation(groups.relations.size());
  for (size_t i = 0; i < triples.size(); ++i) {
    const int32_t r = triples[i].relation;
    const auto add = [&](Directions* to) {
      if (!ranks.tail.empty()) to->tail.Add(ranks.tail[i], hits_at);
      if (!ranks.head.empty()) to->head.Add(ranks.head[i], hits_at);
    };
    add(&all);
    if (!groups.categories.empty()) add(&category[static_cast<size_t>(groups.categories[r])]);
    if (!groups.relations.empty()) add(&relation[r]);
  }
  std::vector<RankingRow> rows;
  AppendRows("all", "", all, &rows);
  for (int c = 0; c < kNumCategories; ++c) {
    AppendRows("category", RelationCategoryName(static_cast<RelationCategory>(c)), category[c], &rows);
  }
  for (size_t r = 0; r < relation.size(); ++r) AppendRows("relation", groups.relations[r], relation[r], &rows);
  return rows;
}

std::string RankingRowsToTsv(absl::Span<const RankingRow> rows, absl::Span<const int64_t> hits_at) {
  std::string tsv = "grouping\tgroup\tdirection\tcount\tmr\tmrr";
  for (const int64_t k : hits_at) absl::StrAppend(&tsv, "\thits@", k);
  absl::StrAppend(&tsv, "\tmrr_optimistic\tmrr_pessimistic\tadjusted_mr\tnan\n");
  for (const RankingRow& row : rows) {
    const RankSums& s = row.sums;
    absl::StrAppendFormat(&tsv, "%s\t%s\t%s\t%d\t%.3f\t%.6f", row.grouping, TsvCell(row.group), row.direction, s.count,
                          s.mean_rank(), s.mrr());
    for (size_t i = 0; i < hits_at.size(); ++i)
      absl::StrAppendFormat(&tsv, "\t%.6f", s.hits_share(static_cast<int>(i)));
    absl::StrAppendFormat(&tsv, "\t%.6f\t%.6f\t%.6f\t%d\n", s.mrr_optimistic(), s.mrr_pessimistic(),
                          s.adjusted_mean_rank(), s.nan);
  }
  return tsv;
}

}  // namespace rutile
