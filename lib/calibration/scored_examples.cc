#include "lib/calibration/scored_examples.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/interrupt.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/graph/triple_weights.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {
namespace {

// Draws false answers.
class FalseAnswers {
 public:
  FalseAnswers(const KnowledgeGraph& graph, const ExampleOptions& options)
      : graph_(graph),
        options_(options),
        known_(KnownTails::Build({graph.train, graph.valid, graph.test}, graph.num_relations(), true)) {}

  bool MayAnswer(int32_t question, int32_t entity) const {
    const EntitySet* const among = Among(question);
    return among == nullptr || among->Has(entity);
  }

  // `given` is the entity that the question is about, and `stream` a number of its own for each call.
  std::vector<int32_t> Draw(int32_t question, int32_t given, uint64_t stream) {
    const absl::Span<const int32_t> known = known_.Tails(given, question);
    const auto is_false = [&](int32_t entity) { return !std::binary_search(known.begin(), known.end(), entity); };
    const std::vector<int32_t>& pool = Pool(question);
    RandomStream random(options_.seed, "false answers", 0, stream);
    std::vector<int32_t> drawn;
    // Where nearly all are wanted, drawing would meet the same ones again and again.
    const auto quarter = static_cast<int64_t>(pool.size() / 4);
    if (quarter <= options_.num_false || quarter <= static_cast<int64_t>(known.size())) {
      std::copy_if(pool.begin(), pool.end(), std::back_inserter(drawn), is_false);
      for (size_t i = 0; i < drawn.size() && static_cast<int64_t>(i) < options_.num_false; ++i) {
        std::swap(drawn[i], drawn[i + random.Below(drawn.size() - i)]);
      }
      if (static_cast<int64_t>(drawn.size()) > options_.num_false) drawn.resize(options_.num_false);
      return drawn;
    }
    while (static_cast<int64_t>(drawn.size()) < options_.num_false) {
      const int32_t entity = pool[random.Below(pool.size())];
      if (is_false(entity) && std::find(drawn.begin(), drawn.end(), entity) == drawn.end()) drawn.push_back(entity);
    }
    return drawn;
  }

 private:
  const EntitySet* Among(int32_t question) const {
    if (options_.candidates == nullptr) return nullptr;
    const auto num = static_cast<int32_t>(graph_.num_relations());
    return options_.candidates->Of(question % num, question >= num);
  }

  // Returns the entities that may answer.
  const std::vector<int32_t>& Pool(int32_t question) {
    const EntitySet* const among = Among(question);
    std::vector<int32_t>& pool = pools_[among];
    if (!pool.empty()) return pool;
    for (int32_t e = 0; e < graph_.num_entities(); ++e) {
      if (among == nullptr || among->Has(e)) pool.push_back(e);
    }
    return pool;
  }

  const KnowledgeGraph& graph_;
  const ExampleOptions& options_;
  const KnownTails known_;
  std::map<const EntitySet*, std::vector<int32_t>> pools_;
};

template <typename T>
class Scoring {
 public:
  Scoring(const KgeScorer& scorer, const KnowledgeGraph& graph)
      : scorer_(scorer),
        table_(EntityTable<T>(scorer)),
        num_relations_(static_cast<int32_t>(graph.num_relations())),
        has_inverses_(scorer.num_relations == 2 * graph.num_relations()) {}

  // Appends scores of answers to a question about an entity.
  absl::Status Score(int32_t question, int32_t given, absl::Span<const int32_t> answers, std::vector<double>* scores) {
    const bool for_head = question >= num_relations_;
    // Without inverses each head is a query of its own, and the given entity their tail.
    const bool as_queries = for_head && !has_inverses_;
    const size_t num_queries = as_queries ? answers.size() : 1;
    const std::vector<int32_t> relations(num_queries, as_queries ? question - num_relations_ : question);
    hidden_.resize(num_queries * scorer_.dim());
    RETURN_IF_ERROR(FillHidden<T>(scorer_, as_queries ? answers : absl::MakeConstSpan(&given, 1), relations,
                                  absl::MakeSpan(hidden_)));
    for (size_t i = 0; i < answers.size(); ++i) {
      scores->push_back(ScoreOf(as_queries ? i : 0, as_queries ? given : answers[i]));
      if (!std::isfinite(scores->back())) {
        return absl::InvalidArgumentError("the model gives a score that is not finite: it has no probabilities");
      }
    }
    return absl::OkStatus();
  }

 private:
  double ScoreOf(size_t query, int32_t tail) const {
    const int64_t dim = scorer_.dim();
    const T* const a = hidden_.data() + query * dim;
    const T* const b = table_.entity.data() + tail * dim;
    if (IsDistance(table_.form)) return ScoreOfRow(table_.form, a, b, dim, table_.Bias(tail));
    double sum = table_.bias.empty() ? 0 : static_cast<double>(table_.bias[tail]);
    for (int64_t k = 0; k < dim; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    return sum;
  }

  const KgeScorer& scorer_;
  const ScoreTable<T> table_;
  const int32_t num_relations_;
  const bool has_inverses_;
  std::vector<T> hidden_;
};

const std::vector<double>& SplitWeights(const KnowledgeGraph& graph, GraphSplit split) {
  switch (split) {
    case GraphSplit::kTrain:
      return graph.train_weights;
    case GraphSplit::kValid:
      return graph.valid_weights;
    case GraphSplit::kTest:
      break;
  }
  return graph.test_weights;
}

template <typename T>
absl::StatusOr<std::vector<ScoredExample>> Make(const KgeScorer& scorer, const KnowledgeGraph& graph,
                                                const ExampleOptions& options) {
  FalseAnswers false_answers(graph, options);
  Scoring<T> scoring(scorer, graph);
  std::vector<ScoredExample> examples;
  const absl::Span<const Triple> triples = SplitTriples(graph, options.split);
  const std::vector<double>& weights = SplitWeights(graph, options.split);
  for (size_t i = 0; i < triples.size(); ++i) {
    RETURN_IF_ERROR(CheckInterrupt());
    const Triple& triple = triples[i];
    const double weight = WeightOf(weights, i);
    if (weight == 0) continue;
    for (const bool for_head : {false, true}) {
      if (for_head && !options.heads) continue;
      const auto question = static_cast<int32_t>(triple.relation + (for_head ? graph.num_relations() : 0));
      const int32_t given = for_head ? triple.tail : triple.head;
      std::vector<int32_t> answers = {for_head ? triple.head : triple.tail};
      if (!false_answers.MayAnswer(question, answers[0])) continue;
      for (const int32_t entity : false_answers.Draw(question, given, 2 * i + for_head)) answers.push_back(entity);
      std::vector<double> scores;
      RETURN_IF_ERROR(scoring.Score(question, given, answers, &scores));
      for (size_t a = 0; a < answers.size(); ++a) examples.push_back({question, scores[a], a == 0, weight});
    }
  }
  return examples;
}

}  // namespace

absl::StatusOr<std::vector<ScoredExample>> ScoreExamples(const KgeScorer& scorer, const KnowledgeGraph& graph,
                                                         const ExampleOptions& options) {
  return scorer.entities.dtype() == DType::kF64 ? Make<double>(scorer, graph, options)
                                                : Make<float>(scorer, graph, options);
}

}  // namespace rutile
