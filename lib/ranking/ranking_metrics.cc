#include "lib/ranking/ranking_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

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
  RankSums tail_among, head_among;
};

bool HasRanks(const RankSums& sums) { return sums.count + sums.outside > 0; }

void AppendRows(absl::string_view grouping, absl::string_view group, const Directions& sums,
                std::vector<RankingRow>* rows) {
  const auto append = [&](absl::string_view direction, const RankSums& of, const RankSums& among) {
    rows->push_back({std::string(grouping), std::string(group), std::string(direction), of, among});
  };
  if (sums.tail.count > 0 && sums.head.count > 0) {
    RankSums both = sums.tail, among;
    both.Add(sums.head);
    // Ranks of one side among candidates say nothing about both.
    if (HasRanks(sums.tail_among) && HasRanks(sums.head_among)) {
      among = sums.tail_among;
      among.Add(sums.head_among);
    }
    append("both", both, among);
  }
  if (sums.tail.count > 0) append("tail", sums.tail, sums.tail_among);
  if (sums.head.count > 0) append("head", sums.head, sums.head_among);
}

void CheckSizes(absl::Span<const Triple> triples, const TripleRanks& ranks) {
  for (const std::vector<RankValues>* of : {&ranks.tail, &ranks.head, &ranks.tail_among, &ranks.head_among}) {
    CHECK(of->empty() || of->size() == triples.size()) << of->size() << " vs. " << triples.size();
  }
}

void AddTail(const TripleRanks& ranks, size_t i, absl::Span<const int64_t> hits_at, Directions* to) {
  if (!ranks.tail.empty()) to->tail.Add(ranks.tail[i], hits_at);
  if (!ranks.tail_among.empty()) to->tail_among.Add(ranks.tail_among[i], hits_at);
}

void AddHead(const TripleRanks& ranks, size_t i, absl::Span<const int64_t> hits_at, Directions* to) {
  if (!ranks.head.empty()) to->head.Add(ranks.head[i], hits_at);
  if (!ranks.head_among.empty()) to->head_among.Add(ranks.head_among[i], hits_at);
}

// Returns 1 + 1/2 + ... + 1/n, n >= 1, to 1e-15 of it: from 100 on by the series of Euler and Maclaurin.
double HarmonicNumber(double n) {
  if (n >= 100) {
    constexpr double kEuler = 0.57721566490153286061;
    return std::log(n) + kEuler + 1 / (2 * n) - 1 / (12 * n * n) + 1 / (120 * n * n * n * n);
  }
  double sum = 0;
  for (double i = n; i >= 1; --i) sum += 1 / i;
  return sum;
}

// Returns (value - chance) / (best - chance), or NaN where chance is as good as the best.
double Adjusted(double value, double chance, double best) {
  return chance == best ? std::numeric_limits<double>::quiet_NaN() : (value - chance) / (best - chance);
}

// prefix: of the names of columns.
void AppendMeansHeader(absl::string_view prefix, absl::Span<const int64_t> hits_at, std::string* tsv) {
  absl::StrAppend(tsv, "\t", prefix, "mr\t", prefix, "mrr");
  for (const int64_t k : hits_at) absl::StrAppend(tsv, "\t", prefix, "hits@", k);
  for (const char* name : {"mrr_optimistic", "mrr_pessimistic", "adjusted_mr", "adjusted_mr_index", "adjusted_mrr"}) {
    absl::StrAppend(tsv, "\t", prefix, name);
  }
  for (const int64_t k : hits_at) absl::StrAppend(tsv, "\t", prefix, "adjusted_hits@", k);
}

int64_t NumMeans(absl::Span<const int64_t> hits_at) { return 7 + 2 * static_cast<int64_t>(hits_at.size()); }

// Appends the columns of AppendMeansHeader. s: of one rank or more.
void AppendMeans(const RankSums& s, absl::Span<const int64_t> hits_at, std::string* tsv) {
  absl::StrAppendFormat(tsv, "\t%.3f\t%.6f", s.mean_rank(), s.mrr());
  for (size_t i = 0; i < hits_at.size(); ++i) absl::StrAppendFormat(tsv, "\t%.6f", s.hits_share(static_cast<int>(i)));
  absl::StrAppendFormat(tsv, "\t%.6f\t%.6f\t%.6f", s.mrr_optimistic(), s.mrr_pessimistic(), s.adjusted_mean_rank());
  std::vector<double> adjusted = {s.adjusted_mean_rank_index(), s.adjusted_mrr()};
  for (size_t i = 0; i < hits_at.size(); ++i) adjusted.push_back(s.adjusted_hits_share(static_cast<int>(i)));
  for (const double value : adjusted) {
    *tsv += '\t';
    if (!std::isnan(value)) absl::StrAppendFormat(tsv, "%.6f", value);
  }
}

void AppendAmongHeader(absl::Span<const int64_t> hits_at, std::string* tsv) {
  absl::StrAppend(tsv, "\tamong_count\tamong_outside\tamong_candidates");
  AppendMeansHeader("among_", hits_at, tsv);
}

void AppendAmong(const RankSums& s, absl::Span<const int64_t> hits_at, std::string* tsv) {
  const int64_t num_means = 1 + NumMeans(hits_at);
  if (!HasRanks(s)) {
    tsv->append(num_means + 2, '\t');
    return;
  }
  absl::StrAppend(tsv, "\t", s.count, "\t", s.outside);
  if (s.count == 0) {
    tsv->append(num_means, '\t');
    return;
  }
  absl::StrAppendFormat(tsv, "\t%.1f", s.mean_candidates());
  AppendMeans(s, hits_at, tsv);
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
  expected_hits.resize(hits_at.size());
  if (values.outside) {
    ++outside;
    return;
  }
  ++count;
  rank += values.realistic;
  expected += values.expected;
  reciprocal += 1 / values.realistic;
  reciprocal_optimistic += 1 / values.optimistic;
  reciprocal_pessimistic += 1 / values.pessimistic;
  // A random order gives a target each of the ranks 1 to n with the same probability.
  const double n = std::max(1.0, std::round(2 * values.expected - 1));
  expected_reciprocal += HarmonicNumber(n) / n;
  for (size_t i = 0; i < hits_at.size(); ++i) {
    const double k = static_cast<double>(hits_at[i]);
    hits[i] += values.realistic <= k ? 1 : 0;
    expected_hits[i] += std::min(k, n) / n;
  }
  nan += values.nan ? 1 : 0;
  tied += values.optimistic < values.pessimistic ? 1 : 0;
}

void RankSums::Add(const RankSums& other) {
  hits.resize(std::max(hits.size(), other.hits.size()));
  expected_hits.resize(hits.size());
  count += other.count;
  rank += other.rank;
  expected += other.expected;
  reciprocal += other.reciprocal;
  reciprocal_optimistic += other.reciprocal_optimistic;
  reciprocal_pessimistic += other.reciprocal_pessimistic;
  expected_reciprocal += other.expected_reciprocal;
  for (size_t i = 0; i < other.hits.size(); ++i) {
    hits[i] += other.hits[i];
    expected_hits[i] += other.expected_hits[i];
  }
  nan += other.nan;
  outside += other.outside;
  tied += other.tied;
}

double RankSums::adjusted_mean_rank_index() const { return Adjusted(rank, expected, static_cast<double>(count)); }

double RankSums::adjusted_mrr() const { return Adjusted(reciprocal, expected_reciprocal, static_cast<double>(count)); }

double RankSums::adjusted_hits_share(int i) const {
  return Adjusted(static_cast<double>(hits[i]), expected_hits[i], static_cast<double>(count));
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
  CheckSizes(triples, ranks);
  Directions all;
  std::vector<Directions> category(kNumCategories), relation(groups.relations.size());
  for (size_t i = 0; i < triples.size(); ++i) {
    const int32_t r = triples[i].relation;
    const auto add = [&](Directions* to) {
      AddTail(ranks, i, hits_at, to);
      AddHead(ranks, i, hits_at, to);
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

std::vector<int64_t> EntityFrequencies(absl::Span<const Triple> triples, int64_t num_entities) {
  std::vector<int64_t> frequency(num_entities);
  for (const Triple& triple : triples) {
    ++frequency[triple.head];
    if (triple.tail != triple.head) ++frequency[triple.tail];
  }
  return frequency;
}

int FrequencyGroup(int64_t frequency) {
  CHECK_GE(frequency, 0);
  int group = 0;
  for (; frequency > 0; frequency /= 2) ++group;
  return group;
}

std::string FrequencyGroupName(int group) {
  if (group < 2) return absl::StrCat(group);
  return absl::StrCat(int64_t{1} << (group - 1), "-", (int64_t{1} << group) - 1);
}

std::vector<RankingRow> ComputeFrequencyRows(absl::Span<const Triple> triples, const TripleRanks& ranks,
                                             absl::Span<const int64_t> hits_at, absl::Span<const int64_t> frequency) {
  const ProfileScope scope(Stage::kMetrics);
  CheckSizes(triples, ranks);
  std::map<int, Directions> groups;
  for (size_t i = 0; i < triples.size(); ++i) {
    AddTail(ranks, i, hits_at, &groups[FrequencyGroup(frequency[triples[i].tail])]);
    AddHead(ranks, i, hits_at, &groups[FrequencyGroup(frequency[triples[i].head])]);
  }
  std::vector<RankingRow> rows;
  for (const auto& [group, sums] : groups) AppendRows("frequency", FrequencyGroupName(group), sums, &rows);
  return rows;
}

std::string RankingRowsToTsv(absl::Span<const RankingRow> rows, absl::Span<const int64_t> hits_at) {
  std::string tsv = "grouping\tgroup\tdirection\tcount";
  AppendMeansHeader("", hits_at, &tsv);
  tsv += "\tnan";
  const bool among = std::any_of(rows.begin(), rows.end(), [](const RankingRow& row) { return HasRanks(row.among); });
  if (among) AppendAmongHeader(hits_at, &tsv);
  tsv += '\n';
  for (const RankingRow& row : rows) {
    absl::StrAppend(&tsv, row.grouping, "\t", TsvCell(row.group), "\t", row.direction, "\t", row.sums.count);
    AppendMeans(row.sums, hits_at, &tsv);
    absl::StrAppend(&tsv, "\t", row.sums.nan);
    if (among) AppendAmong(row.among, hits_at, &tsv);
    tsv += '\n';
  }
  return tsv;
}

}  // namespace rutile
