// Small graphs and a model that is defined by plain loops, for tests of ranking and prediction.

#ifndef RUTILE_LIB_RANKING_SCORER_TESTING_H_
#define RUTILE_LIB_RANKING_SCORER_TESTING_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/random.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/ranking/kge_scorer.h"
#include "lib/ranking/scores/score_form.h"

namespace rutile {

// DistMult with a bias, of small whole numbers, so that scores are exact and many are equal; or the distances of its
// queries from the tails.
template <typename T>
struct TestModel {
  int64_t num, relations, dim;
  ScoreForm form;
  std::vector<T> entity, relation, bias;

  TestModel(int64_t num_entities, int64_t num_relations, int64_t d, ScoreForm score_form = ScoreForm::kDot)
      : num(num_entities), relations(num_relations), dim(d), form(score_form) {
    RandomStream stream(5, "model");
    const auto fill = [&](std::vector<T>* values, int64_t n) {
      for (int64_t i = 0; i < n; ++i) values->push_back(static_cast<T>(stream.Below(5)) - T{2});
    };
    fill(&entity, num * dim);
    fill(&relation, relations * dim);
    fill(&bias, num);
  }

  double Score(int64_t head, int64_t rel, int64_t tail) const {
    double sum = 0;
    for (int64_t k = 0; k < dim; ++k) {
      const double query = static_cast<double>(entity[head * dim + k]) * relation[rel * dim + k];
      const double x = entity[tail * dim + k];
      sum += form == ScoreForm::kDot  ? query * x
             : form == ScoreForm::kL1 ? std::abs(query - x)
                                      : (query - x) * (query - x);
    }
    if (form == ScoreForm::kDot) return bias[tail] + sum;
    return bias[tail] - (form == ScoreForm::kL1 ? sum : std::sqrt(sum));
  }

  KgeScorer Scorer() const {
    KgeScorer scorer;
    scorer.entities = Tensor::Of<T>(entity, {num, dim});
    scorer.bias = Tensor::Of<T>(bias);
    scorer.form = form;
    scorer.num_relations = relations;
    scorer.hidden = [this](absl::Span<const int32_t> heads, absl::Span<const int32_t> rels, Tensor* hidden) {
      const absl::Span<T> out = hidden->mutable_values<T>();
      for (size_t q = 0; q < heads.size(); ++q) {
        for (int64_t k = 0; k < dim; ++k) {
          out[q * dim + k] = entity[heads[q] * dim + k] * relation[rels[q] * dim + k];
        }
      }
      return absl::OkStatus();
    };
    return scorer;
  }
};

// Returns a graph of random distinct triples, in splits of 6 : 1 : 3.
inline KnowledgeGraph TestGraph(int64_t num_entities, int64_t num_relations, bool inverses) {
  KnowledgeGraph graph;
  for (int64_t e = 0; e < num_entities; ++e) graph.entities.push_back(absl::StrCat("e", e));
  for (int64_t r = 0; r < num_relations; ++r) graph.relations.push_back(absl::StrCat("r", r));
  graph.inverse_relations = inverses;
  RandomStream stream(6, "graph");
  for (int32_t h = 0; h < num_entities; ++h) {
    for (int32_t r = 0; r < num_relations; ++r) {
      for (int32_t t = 0; t < num_entities; ++t) {
        if (stream.Uniform() >= 0.15) continue;
        const uint64_t of = stream.Below(10);
        (of < 6 ? graph.train : of < 7 ? graph.valid : graph.test).push_back({h, r, t});
      }
    }
  }
  return graph;
}

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORER_TESTING_H_
