#include "lib/ranking/link_prediction.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/graph/known_tails.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/candidates.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/rank_triples.h"
#include "lib/ranking/scores/score_sweep.h"
#include "lib/ranking/top_entities.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Bytes of the hidden vectors that are in memory at a time when all heads are scored.
constexpr int64_t kHeadBytes = 32 << 20;

// Known tails, always with inverses: a query for a head looks up (tail, R + relation), whatever the model learned.
struct Known {
  explicit Known(const KnowledgeGraph& graph)
      : train(KnownTails::Build({graph.train}, graph.num_relations(), true)),
        valid(KnownTails::Build({graph.valid}, graph.num_relations(), true)),
        test(KnownTails::Build({graph.test}, graph.num_relations(), true)),
        negatives(KnownTails::Build({graph.negatives}, graph.num_relations(), true)),
        all(KnownTails::Build({graph.train, graph.valid, graph.test, graph.negatives}, graph.num_relations(), true)) {}

  const char* SplitOf(int32_t entity, int32_t relation, int32_t answer) const {
    const auto has = [&](const KnownTails& known) {
      const absl::Span<const int32_t> tails = known.Tails(entity, relation);
      return std::binary_search(tails.begin(), tails.end(), answer);
    };
    return has(train) ? "train" : has(valid) ? "valid" : has(test) ? "test" : has(negatives) ? "false" : "";
  }

  const KnownTails train, valid, test, negatives, all;
};

template <typename T>
class Predictor {
 public:
  Predictor(const KgeScorer& scorer, const KnowledgeGraph& graph, const LinkPredictionOptions& options)
      : scorer_(scorer), graph_(graph), options_(options), known_(graph), pool_(options.num_threads) {}

  // Answers queries (head, relation) of the model's own relations by tails.
  absl::Status Tails(absl::Span<const LinkQuery> queries, absl::Span<const size_t> which,
                     std::vector<std::vector<LinkAnswer>>* answers) const {
    std::vector<int32_t> entities, relations;
    for (const size_t i : which) {
      entities.push_back(queries[i].entity);
      relations.push_back(LookUpRelation(queries[i]));
    }
    std::vector<T> hidden(which.size() * scorer_.dim());
    RETURN_IF_ERROR(FillHidden<T>(scorer_, entities, relations, absl::MakeSpan(hidden)));
    const std::vector<absl::Span<const int32_t>> left_out = LeftOut(queries, which);
    const std::vector<const EntitySet*> among = Among(queries, which);
    TopCollector<T> collector(hidden, scorer_.dim(), options_.top_k, left_out, among);
    collector.Add(EntityTable<T>(scorer_), 0, &pool_);
    Collect(queries, which, collector.Finish(), /*offset=*/0, answers);
    return absl::OkStatus();
  }

  // Answers one query for a head, of a model without inverses, by trying every head.
  absl::Status Heads(absl::Span<const LinkQuery> queries, size_t query, std::vector<std::vector<LinkAnswer>>* answers) {
    ASSIGN_OR_RETURN(const KgeScorer* const scorer, OfHeads(queries[query].relation));
    const int64_t dim = scorer->dim(), num = scorer->num_entities();
    const ScoreTable<T> entities = EntityTable<T>(*scorer);
    const absl::Span<const T> tail = entities.entity.subspan(queries[query].entity * dim, dim);
    const std::vector<absl::Span<const int32_t>> left_out = LeftOut(queries, {query});
    const std::vector<const EntitySet*> among = Among(queries, {query});
    TopCollector<T> collector(tail, dim, options_.top_k, left_out, among);
    const int64_t rows = std::min(num, std::max<int64_t>(1, kHeadBytes / (dim * static_cast<int64_t>(sizeof(T)))));
    std::vector<T> hidden(rows * dim);
    for (int64_t first = 0; first < num; first += rows) {
      RETURN_IF_ERROR(CheckInterrupt());
      ScoreTable<T> part;
      part.num = std::min(rows, num - first);
      part.dim = dim;
      part.form = scorer_.form;
      std::vector<int32_t> ids(part.num), relation(part.num, queries[query].relation);
      for (int64_t i = 0; i < part.num; ++i) ids[i] = static_cast<int32_t>(first + i);
      const absl::Span<T> filled = absl::MakeSpan(hidden).subspan(0, part.num * dim);
      RETURN_IF_ERROR(FillHidden<T>(*scorer, ids, relation, filled));
      part.entity = filled;
      collector.Add(part, first, &pool_);
    }
    Collect(queries, {query}, collector.Finish(), entities.Bias(queries[query].entity), answers);
    return absl::OkStatus();
  }

 private:
  // Returns what compares heads of the relation; valid until it is asked for another.
  absl::StatusOr<const KgeScorer*> OfHeads(int32_t relation) {
    if (scorer_.heads_of == nullptr) return &scorer_;
    if (relation != relation_of_heads_) {
      ASSIGN_OR_RETURN(of_heads_, scorer_.heads_of(relation));
      relation_of_heads_ = relation;
    }
    return &of_heads_;
  }

  // Returns the relation under which known answers of the query are found.
  int32_t LookUpRelation(const LinkQuery& query) const {
    return query.relation + (query.for_head ? static_cast<int32_t>(graph_.num_relations()) : 0);
  }

  std::vector<absl::Span<const int32_t>> LeftOut(absl::Span<const LinkQuery> queries,
                                                 absl::Span<const size_t> which) const {
    std::vector<absl::Span<const int32_t>> left_out;
    if (options_.keep_known) return left_out;
    for (const size_t i : which) left_out.push_back(known_.all.Tails(queries[i].entity, LookUpRelation(queries[i])));
    return left_out;
  }

  std::vector<const EntitySet*> Among(absl::Span<const LinkQuery> queries, absl::Span<const size_t> which) const {
    std::vector<const EntitySet*> among;
    if (options_.candidates == nullptr) return among;
    for (const size_t i : which) among.push_back(options_.candidates->Of(queries[i].relation, queries[i].for_head));
    return among;
  }

  void Collect(absl::Span<const LinkQuery> queries, absl::Span<const size_t> which, const std::vector<TopEntities>& top,
               double offset, std::vector<std::vector<LinkAnswer>>* answers) const {
    for (size_t k = 0; k < which.size(); ++k) {
      const LinkQuery& query = queries[which[k]];
      for (const ScoredEntity& best : top[k].best) {
        LinkAnswer answer;
        answer.entity = best.entity;
        answer.score = best.score + offset;
        answer.probability =
            options_.softmax ? std::exp(best.score - top[k].log_sum_exp) : 1 / (1 + std::exp(-answer.score));
        answer.known = known_.SplitOf(query.entity, LookUpRelation(query), best.entity);
        (*answers)[which[k]].push_back(answer);
      }
    }
  }

  const KgeScorer& scorer_;
  const KnowledgeGraph& graph_;
  const LinkPredictionOptions& options_;
  const Known known_;
  mutable ThreadPool pool_;
  KgeScorer of_heads_;
  int32_t relation_of_heads_ = -1;
};

template <typename T>
absl::Status Predict(const KgeScorer& scorer, const KnowledgeGraph& graph, absl::Span<const LinkQuery> queries,
                     const LinkPredictionOptions& options, std::vector<std::vector<LinkAnswer>>* answers) {
  const bool inverses = scorer.num_relations == 2 * graph.num_relations();
  Predictor<T> predictor(scorer, graph, options);
  std::vector<size_t> tails, heads;
  for (size_t i = 0; i < queries.size(); ++i) (inverses || !queries[i].for_head ? tails : heads).push_back(i);
  // Those of one relation after each other, which share what compares its heads.
  std::stable_sort(heads.begin(), heads.end(),
                   [&](size_t a, size_t b) { return queries[a].relation < queries[b].relation; });
  for (const size_t i : heads) RETURN_IF_ERROR(predictor.Heads(queries, i, answers));
  return predictor.Tails(queries, tails, answers);
}

}  // namespace

absl::StatusOr<std::vector<std::vector<LinkAnswer>>> PredictLinks(const KgeScorer& scorer, const KnowledgeGraph& graph,
                                                                  absl::Span<const LinkQuery> queries,
                                                                  const LinkPredictionOptions& options) {
  const ProfileScope scope(Stage::kPredict);
  RETURN_IF_ERROR(CheckScorer(scorer, graph));
  std::vector<std::vector<LinkAnswer>> answers(queries.size());
  RETURN_IF_ERROR(scorer.entities.dtype() == DType::kF64 ? Predict<double>(scorer, graph, queries, options, &answers)
                                                         : Predict<float>(scorer, graph, queries, options, &answers));
  return answers;
}

std::string LinkPredictionsToTsv(const KnowledgeGraph& graph, absl::Span<const LinkQuery> queries,
                                 absl::Span<const std::vector<LinkAnswer>> answers, bool probabilities) {
  const bool labels = !graph.entity_labels.empty() || !graph.relation_labels.empty();
  const auto entity_label = [&](int32_t e) {
    return graph.entity_labels.empty() ? "" : TsvCell(graph.entity_labels[e]);
  };
  std::string tsv = absl::StrCat("query\tasked\tplace\thead\trelation\ttail",
                                 labels ? "\thead_label\trelation_label\ttail_label" : "", "\tscore",
                                 probabilities ? "\tprobability" : "", "\tknown\n");
  for (size_t q = 0; q < queries.size(); ++q) {
    const LinkQuery& query = queries[q];
    for (size_t place = 0; place < answers[q].size(); ++place) {
      const LinkAnswer& answer = answers[q][place];
      const int32_t head = query.for_head ? answer.entity : query.entity;
      const int32_t tail = query.for_head ? query.entity : answer.entity;
      absl::StrAppend(&tsv, q + 1, "\t", query.for_head ? "head" : "tail", "\t", place + 1, "\t",
                      TsvCell(graph.entities[head]), "\t", TsvCell(graph.relations[query.relation]), "\t",
                      TsvCell(graph.entities[tail]));
      if (labels) {
        absl::StrAppend(&tsv, "\t", entity_label(head), "\t",
                        graph.relation_labels.empty() ? "" : TsvCell(graph.relation_labels[query.relation]), "\t",
                        entity_label(tail));
      }
      absl::StrAppendFormat(&tsv, "\t%.6f", answer.score);
      if (probabilities) absl::StrAppendFormat(&tsv, "\t%.6g", answer.probability);
      absl::StrAppend(&tsv, "\t", answer.known, "\n");
    }
  }
  return tsv;
}

}  // namespace rutile
