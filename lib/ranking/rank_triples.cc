#include "lib/ranking/rank_triples.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/candidates.h"
#include "lib/ranking/device_rank_counter.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/rank_counts.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/ranking/scores/score_sweep.h"
#include "lib/ranking/sort_position.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Number of queries whose hidden vectors are in memory at a time; with so many, packing the entities is a small part of
// the products.
constexpr int64_t kBlockQueries = 4096;
// Bytes of the hidden vectors that are in memory at a time when all heads are scored.
constexpr int64_t kHeadBytes = 64 << 20;

// One target of the query (first, relation), and the triple whose rank it gives.
struct Asked {
  int32_t first, relation, target;
  int64_t triple;
  bool head;  // the target is the triple's head: goes to TripleRanks::head
};

// Distinct queries of targets that are sorted by (first, relation).
struct QueryBlock {
  std::vector<int32_t> first, relation;  // [Q]
  std::vector<int32_t> target;           // targets of all queries
  std::vector<int64_t> offset = {0};     // [Q + 1]
  absl::Span<const Asked> asked;

  // candidates: may be null. A relation from num_relations on is the inverse of one, and asks for heads.
  std::vector<RankingQuery> Queries(const KnownTails& known, const Candidates* candidates,
                                    int32_t num_relations) const {
    std::vector<RankingQuery> queries;
    for (size_t q = 0; q < first.size(); ++q) {
      queries.push_back({absl::MakeConstSpan(target).subspan(offset[q], offset[q + 1] - offset[q]),
                         known.Tails(first[q], relation[q])});
      if (candidates == nullptr) continue;
      queries.back().among = candidates->Of(relation[q] % num_relations, asked[offset[q]].head);
    }
    return queries;
  }
};

// Takes the next queries, at most max_queries and, if relation >= 0, only those of one relation, and advances `asked`.
QueryBlock TakeQueries(int64_t max_queries, absl::Span<const Asked>* asked) {
  QueryBlock block;
  size_t i = 0;
  for (; i < asked->size(); ++i) {
    const Asked& a = (*asked)[i];
    if (block.first.empty() || a.first != block.first.back() || a.relation != block.relation.back()) {
      if (static_cast<int64_t>(block.first.size()) == max_queries) break;
      block.first.push_back(a.first);
      block.relation.push_back(a.relation);
      block.offset.push_back(block.offset.back());
    }
    block.target.push_back(a.target);
    ++block.offset.back();
  }
  block.asked = asked->subspan(0, i);
  asked->remove_prefix(i);
  return block;
}

RankValues ValuesAmong(const Rank& rank, bool outside) {
  RankValues values;
  values.expected = 0.5 * static_cast<double>(1 + rank.candidates);
  values.nan = rank.nan;
  values.optimistic = static_cast<double>(rank.optimistic());
  values.realistic = rank.realistic();
  values.pessimistic = static_cast<double>(rank.pessimistic());
  values.outside = outside;
  return values;
}

RankValues Values(const Rank& rank, RankingConvention convention) {
  RankValues values = ValuesAmong(rank, /*outside=*/false);
  if (convention == RankingConvention::kTiepin) {
    values.optimistic = values.realistic = values.pessimistic =
        rank.nan ? 0.0 : static_cast<double>(rank.pessimistic());
  }
  return values;
}

template <typename T>
class Ranker {
 public:
  Ranker(const KgeScorer& scorer, int32_t num_relations, const RankTriplesOptions& options, TripleRanks* ranks)
      : scorer_(scorer),
        num_relations_(num_relations),
        options_(options),
        ranks_(ranks),
        pool_(options.num_threads),
        table_(EntityTable<T>(scorer)) {}

  // Ranks targets in the position of the tail. asked: sorted.
  absl::Status RankTails(absl::Span<const Asked> asked, const KnownTails& known) {
    std::vector<T> hidden;
    if (options_.device != nullptr) SetEntities(table_, 0, options_.device);
    while (!asked.empty()) {
      RETURN_IF_ERROR(CheckInterrupt());
      const ProfileScope scope(Stage::kRank);
      const QueryBlock block = TakeQueries(kBlockQueries, &asked);
      scope.Add(Counter::kTriples, static_cast<int64_t>(block.asked.size()));
      hidden.resize(block.first.size() * scorer_.dim());
      RETURN_IF_ERROR(FillHidden<T>(scorer_, block.first, block.relation, absl::MakeSpan(hidden)));
      const std::vector<RankingQuery> queries = block.Queries(known, options_.candidates, num_relations_);
      ASSIGN_OR_RETURN(const RanksAmong ranks, TailRanks(hidden, queries));
      if (options_.convention == RankingConvention::kOriginal) {
        const std::vector<int64_t> position = SortPositions<T>(table_, hidden, queries, &pool_);
        for (size_t i = 0; i < position.size(); ++i) {
          RankValues values = Values(ranks.all[i], options_.convention);
          values.optimistic = values.realistic = values.pessimistic = static_cast<double>(position[i]);
          Set(block.asked[i], values);
        }
      } else {
        SetAll(block, ranks);
      }
      Progress(block);
    }
    return absl::OkStatus();
  }

  // Ranks heads of one relation, scored by v(head, relation) and the row of the tail; the tail's bias is the same for
  // all. asked: sorted, `first` is the tail.
  absl::Status RankHeads(absl::Span<const Asked> asked, const KnownTails& known) {
    if (scorer_.heads_of == nullptr) return RankHeads(scorer_, asked, known);
    ASSIGN_OR_RETURN(const KgeScorer of_relation, scorer_.heads_of(asked[0].relation));
    return RankHeads(of_relation, asked, known);
  }

 private:
  using ForParts = std::function<absl::Status(const std::function<void(const ScoreTable<T>& part, int64_t first)>&)>;

  // scorer: of the asked relation.
  absl::Status RankHeads(const KgeScorer& scorer, absl::Span<const Asked> asked, const KnownTails& known) {
    const ProfileScope scope(Stage::kRank);
    const int32_t relation = asked[0].relation;
    const int64_t dim = scorer.dim(), num = scorer.num_entities();
    const absl::Span<const T> entities = scorer.entities.values<T>();
    // A target head has one stored vector, so that its score has the bits of the row it is compared with; a product in
    // another block may round differently.
    std::vector<int32_t> heads;
    for (const Asked& a : asked) heads.push_back(a.target);
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    std::vector<T> kept(heads.size() * dim);
    const std::vector<int32_t> same(std::max<int64_t>(num, heads.size()), relation);
    RETURN_IF_ERROR(
        FillHidden<T>(scorer, heads, absl::MakeConstSpan(same).subspan(0, heads.size()), absl::MakeSpan(kept)));

    const int64_t rows = std::min(num, std::max<int64_t>(1, kHeadBytes / (dim * static_cast<int64_t>(sizeof(T)))));
    std::vector<T> part(rows * dim);
    std::vector<int32_t> ids(rows);
    int64_t filled = -1;  // the part's first head
    const auto fill = [&](int64_t first, int64_t count) -> absl::Status {
      if (filled == first) return absl::OkStatus();
      filled = first;
      for (int64_t i = 0; i < count; ++i) ids[i] = static_cast<int32_t>(first + i);
      RETURN_IF_ERROR(FillHidden<T>(scorer, absl::MakeConstSpan(ids).subspan(0, count),
                                    absl::MakeConstSpan(same).subspan(0, count),
                                    absl::MakeSpan(part).subspan(0, count * dim)));
      for (size_t k = std::lower_bound(heads.begin(), heads.end(), first) - heads.begin();
           k < heads.size() && heads[k] < first + count; ++k) {
        std::copy_n(kept.begin() + k * dim, dim, part.begin() + (heads[k] - first) * dim);
      }
      return absl::OkStatus();
    };

    while (!asked.empty()) {
      const QueryBlock block = TakeQueries(kBlockQueries, &asked);
      scope.Add(Counter::kTriples, static_cast<int64_t>(block.asked.size()));
      std::vector<T> tails(block.first.size() * dim);
      for (size_t q = 0; q < block.first.size(); ++q) {
        std::copy_n(entities.begin() + block.first[q] * dim, dim, tails.begin() + q * dim);
      }
      std::vector<int32_t> row;  // of each target among the kept heads
      for (const int32_t target : block.target) {
        row.push_back(static_cast<int32_t>(std::lower_bound(heads.begin(), heads.end(), target) - heads.begin()));
      }
      const std::vector<RankingQuery> queries = block.Queries(known, options_.candidates, num_relations_);
      const auto for_parts = [&](const std::function<void(const ScoreTable<T>& part, int64_t first)>& add) {
        for (int64_t first = 0; first < num; first += rows) {
          RETURN_IF_ERROR(CheckInterrupt());
          const int64_t count = std::min(rows, num - first);
          RETURN_IF_ERROR(fill(first, count));
          add(TableOf(absl::MakeConstSpan(part).subspan(0, count * dim)), first);
        }
        return absl::OkStatus();
      };
      ASSIGN_OR_RETURN(const RanksAmong ranks, HeadRanks(tails, queries, TableOf(kept), row, for_parts));
      SetAll(block, ranks);
      Progress(block);
    }
    return absl::OkStatus();
  }

  ScoreTable<T> TableOf(absl::Span<const T> rows) const {
    ScoreTable<T> table;
    table.entity = rows;
    table.dim = scorer_.dim();
    table.form = scorer_.form;
    table.num = static_cast<int64_t>(rows.size()) / table.dim;
    return table;
  }

  absl::StatusOr<RanksAmong> TailRanks(absl::Span<const T> hidden, absl::Span<const RankingQuery> queries) {
    if (options_.device == nullptr) return CountRanksAmong<T>(table_, hidden, queries, &pool_);
    RanksAmong ranks;
    ASSIGN_OR_RETURN(ranks.all, CountRanksOn<T>(options_.device, table_.num, hidden, queries));
    return ranks;
  }

  // row: the rows of targets among the kept ones.
  absl::StatusOr<RanksAmong> HeadRanks(absl::Span<const T> tails, absl::Span<const RankingQuery> queries,
                                       const ScoreTable<T>& kept, absl::Span<const int32_t> row,
                                       const ForParts& for_parts) {
    if (options_.device != nullptr) {
      SetEntities(kept, 0, options_.device);
      DeviceRankCounter<T> counter(options_.device, tails, queries, row);
      RETURN_IF_ERROR(for_parts([&](const ScoreTable<T>& part, int64_t first) {
        SetEntities(part, first, options_.device);
        counter.Add(part.num);
      }));
      RanksAmong ranks;
      ASSIGN_OR_RETURN(ranks.all, counter.Finish());
      return ranks;
    }
    std::vector<T> own;
    for (size_t q = 0; q < queries.size(); ++q) {
      for (size_t t = 0; t < queries[q].targets.size(); ++t) {
        const T* const head = kept.entity.data() + row[own.size()] * kept.dim;
        own.push_back(ScoreOfRow(kept.form, tails.data() + q * kept.dim, head, kept.dim, T{0}));
      }
    }
    RankCounter<T> counter(tails, kept.dim, queries, std::move(own));
    RETURN_IF_ERROR(for_parts([&](const ScoreTable<T>& part, int64_t first) { counter.Add(part, first, &pool_); }));
    return counter.Finish();
  }

  void SetAll(const QueryBlock& block, const RanksAmong& ranks) {
    for (size_t i = 0; i < ranks.all.size(); ++i) {
      const Asked& asked = block.asked[i];
      Set(asked, Values(ranks.all[i], options_.convention));
      std::vector<RankValues>& among = asked.head ? ranks_->head_among : ranks_->tail_among;
      if (among.empty()) continue;
      const EntitySet* const set = options_.candidates->Of(asked.relation % num_relations_, asked.head);
      among[asked.triple] = ValuesAmong(ranks.among[i], !set->Has(asked.target));
    }
  }
  void Set(const Asked& asked, const RankValues& values) {
    (asked.head ? ranks_->head : ranks_->tail)[asked.triple] = values;
  }
  void Progress(const QueryBlock& block) const {
    if (options_.on_progress) options_.on_progress(static_cast<int64_t>(block.asked.size()));
  }

  const KgeScorer& scorer_;
  const int32_t num_relations_;  // of the graph, without inverses
  const RankTriplesOptions& options_;
  TripleRanks* const ranks_;
  ThreadPool pool_;
  const ScoreTable<T> table_;
};

std::vector<absl::Span<const Triple>> FilterSplits(const KnowledgeGraph& graph, RankingFilter filter) {
  std::vector<absl::Span<const Triple>> splits = {graph.train};
  if (filter != RankingFilter::kTrain) splits.push_back(graph.valid);
  if (filter == RankingFilter::kAll) splits.push_back(graph.test);
  return splits;
}

// Returns the known heads of (tail, relation), as tails of transposed triples.
KnownTails KnownHeads(absl::Span<const absl::Span<const Triple>> splits, int64_t num_relations) {
  std::vector<Triple> transposed;
  for (const absl::Span<const Triple> split : splits) {
    for (const Triple& t : split) transposed.push_back({t.tail, t.relation, t.head});
  }
  return KnownTails::Build({transposed}, num_relations, /*inverse_relations=*/false);
}

void SortAsked(std::vector<Asked>* asked) {
  std::sort(asked->begin(), asked->end(), [](const Asked& a, const Asked& b) {
    return std::tie(a.first, a.relation, a.triple) < std::tie(b.first, b.relation, b.triple);
  });
}

template <typename T>
absl::Status RankSplit(const KgeScorer& scorer, const KnowledgeGraph& graph, absl::Span<const Triple> triples,
                       const KnownTails* all_known, const RankTriplesOptions& options, TripleRanks* ranks) {
  const int32_t num_relations = static_cast<int32_t>(graph.num_relations());
  const bool inverses = scorer.num_relations == 2 * num_relations;
  const bool heads = !ranks->head.empty();
  const std::vector<absl::Span<const Triple>> splits = FilterSplits(graph, options.filter);
  KnownTails built;
  std::optional<ProfileScope> scope(Stage::kGraph);
  if (all_known == nullptr || options.filter != RankingFilter::kAll) {
    built = KnownTails::Build(splits, num_relations, inverses);
    all_known = &built;
  }

  std::vector<Asked> asked;
  for (size_t i = 0; i < triples.size(); ++i) {
    const Triple& t = triples[i];
    asked.push_back({t.head, t.relation, t.tail, static_cast<int64_t>(i), false});
    if (heads && inverses) asked.push_back({t.tail, num_relations + t.relation, t.head, static_cast<int64_t>(i), true});
  }
  SortAsked(&asked);
  scope.reset();
  Ranker<T> ranker(scorer, num_relations, options, ranks);
  RETURN_IF_ERROR(ranker.RankTails(asked, *all_known));
  if (!heads || inverses) return absl::OkStatus();

  const KnownTails known_heads = KnownHeads(splits, num_relations);
  std::vector<std::vector<Asked>> by_relation(num_relations);
  for (size_t i = 0; i < triples.size(); ++i) {
    const Triple& t = triples[i];
    by_relation[t.relation].push_back({t.tail, t.relation, t.head, static_cast<int64_t>(i), true});
  }
  for (std::vector<Asked>& of_relation : by_relation) {
    if (of_relation.empty()) continue;
    SortAsked(&of_relation);
    RETURN_IF_ERROR(ranker.RankHeads(of_relation, known_heads));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckScorer(const KgeScorer& scorer, const KnowledgeGraph& graph) {
  if (scorer.num_entities() != graph.num_entities()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", scorer.num_entities(), " entities, the graph has ",
                                                   graph.num_entities(),
                                                   ": evaluate on the triples that the model was trained on"));
  }
  if (scorer.num_relations != graph.num_relations() && scorer.num_relations != 2 * graph.num_relations()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has ", scorer.num_relations, " relations, expected ", graph.num_relations(), " or, with ",
        "inverses, ", 2 * graph.num_relations(), ": evaluate on the triples that the model was trained on"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TripleRanks> RankTriples(const KgeScorer& scorer, const KnowledgeGraph& graph, const KnownTails* known,
                                        const RankTriplesOptions& options) {
  RETURN_IF_ERROR(CheckScorer(scorer, graph));
  const bool inverses = scorer.num_relations == 2 * graph.num_relations();
  RETURN_IF_ERROR(CheckRankTriplesOptions(options, inverses));
  if (options.device != nullptr && IsDistance(scorer.form)) {
    return absl::InvalidArgumentError(
        "scores that are distances (transe, rotate) have no kernels for GPUs: rank on the CPU (--device=cpu)");
  }
  absl::Span<const Triple> triples = SplitTriples(graph, options.split);
  if (triples.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no ", GraphSplitName(options.split), " triples to rank: choose another --split"));
  }
  std::vector<Triple> chosen;
  if (options.triples.has_value()) {
    for (const int64_t i : *options.triples) {
      CHECK(i >= 0 && i < static_cast<int64_t>(triples.size())) << i << " of " << triples.size();
      chosen.push_back(triples[i]);
    }
    triples = chosen;
  }
  const bool heads = RanksHeads(options, inverses);
  TripleRanks ranks;
  ranks.tail.resize(triples.size());
  if (heads) ranks.head.resize(triples.size());
  if (options.candidates != nullptr) {
    if (options.candidates->has(false)) ranks.tail_among.resize(triples.size());
    if (options.candidates->has(true)) ranks.head_among.resize(triples.size());
    ranks.candidates = options.candidates->description();
    ranks.candidates_sha256 = options.candidates->sha256();
  }
  RETURN_IF_ERROR(scorer.entities.dtype() == DType::kF64
                      ? RankSplit<double>(scorer, graph, triples, known, options, &ranks)
                      : RankSplit<float>(scorer, graph, triples, known, options, &ranks));
  return ranks;
}

}  // namespace rutile
