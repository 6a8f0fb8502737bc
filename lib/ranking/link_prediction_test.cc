#include "lib/ranking/link_prediction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/ranking/scorer_testing.h"
#include "lib/ranking/scores/score_form.h"

namespace rutile {
namespace {

constexpr int32_t kNum = 40, kRelations = 3;

bool Has(const std::vector<Triple>& triples, const Triple& t) {
  return std::find(triples.begin(), triples.end(), t) != triples.end();
}

std::string SplitOf(const KnowledgeGraph& graph, const Triple& t) {
  return Has(graph.train, t) ? "train" : Has(graph.valid, t) ? "valid" : Has(graph.test, t) ? "test" : "";
}

// Compares all answers with a sort by the definition: tails and heads, with and without inverses.
TEST(LinkPredictionTest, EqualsTheDefinition) {
  for (const ScoreForm form : {ScoreForm::kDot, ScoreForm::kL1, ScoreForm::kL2}) {
    for (const bool inverses : {true, false}) {
      const KnowledgeGraph graph = TestGraph(kNum, kRelations, inverses);
      const TestModel<double> model(kNum, inverses ? 2 * kRelations : kRelations, 4, form);
      std::vector<LinkQuery> queries;
      for (int32_t e = 0; e < 5; ++e) queries.push_back({e, e % kRelations, e % 2 == 1});
      for (const bool keep_known : {true, false}) {
        for (const bool softmax : {true, false}) {
          LinkPredictionOptions options;
          options.top_k = kNum;
          options.keep_known = keep_known;
          options.softmax = softmax;
          options.num_threads = 2;
          const auto answers = PredictLinks(model.Scorer(), graph, queries, options);
          ASSERT_TRUE(answers.ok()) << answers.status();
          for (size_t q = 0; q < queries.size(); ++q) {
            const LinkQuery& query = queries[q];
            const auto triple = [&](int32_t e) {
              return query.for_head ? Triple{e, query.relation, query.entity} : Triple{query.entity, query.relation, e};
            };
            const auto score = [&](int32_t e) {
              if (!query.for_head) return model.Score(query.entity, query.relation, e);
              return inverses ? model.Score(query.entity, kRelations + query.relation, e)
                              : model.Score(e, query.relation, query.entity);
            };
            std::vector<int32_t> order;
            double total = 0;
            for (int32_t e = 0; e < kNum; ++e) {
              total += std::exp(score(e));
              if (keep_known || SplitOf(graph, triple(e)).empty()) order.push_back(e);
            }
            std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return score(a) > score(b); });
            ASSERT_EQ((*answers)[q].size(), order.size());
            for (size_t i = 0; i < order.size(); ++i) {
              const LinkAnswer& answer = (*answers)[q][i];
              EXPECT_EQ(answer.entity, order[i]) << q << ", " << i;
              EXPECT_EQ(answer.score, score(order[i]));
              const double expected =
                  softmax ? std::exp(score(order[i])) / total : 1 / (1 + std::exp(-score(order[i])));
              EXPECT_NEAR(answer.probability, expected, 1e-12);
              EXPECT_EQ(answer.known, SplitOf(graph, triple(order[i])));
            }
          }
        }
      }
    }
  }
}

// Triples that are known to be false are marked, and are no new answers.
TEST(LinkPredictionTest, KnownFalseTriplesAreKnown) {
  for (const bool inverses : {true, false}) {
    KnowledgeGraph graph = TestGraph(kNum, kRelations, inverses);
    const TestModel<double> model(kNum, inverses ? 2 * kRelations : kRelations, 4);
    LinkPredictionOptions options;
    options.top_k = 1;
    options.keep_known = false;
    const std::vector<LinkQuery> queries = {{0, 0, false}, {1, 1, true}};
    const auto best = PredictLinks(model.Scorer(), graph, queries, options);
    ASSERT_TRUE(best.ok()) << best.status();
    graph.negatives = {{0, 0, (*best)[0][0].entity}, {(*best)[1][0].entity, 1, 1}};
    const auto dropped = PredictLinks(model.Scorer(), graph, queries, options);
    options.keep_known = true;
    options.top_k = kNum;
    const auto kept = PredictLinks(model.Scorer(), graph, queries, options);
    ASSERT_TRUE(dropped.ok() && kept.ok());
    for (size_t q = 0; q < queries.size(); ++q) {
      const int32_t is_false = (*best)[q][0].entity;
      EXPECT_NE((*dropped)[q][0].entity, is_false);
      for (const LinkAnswer& answer : (*kept)[q]) {
        EXPECT_EQ(std::string(answer.known) == "false", answer.entity == is_false) << answer.entity;
      }
    }
  }
}

// Candidates leave out answers, and change nothing else.
TEST(LinkPredictionTest, CandidatesOfTheSideThatIsAskedFor) {
  for (const bool inverses : {true, false}) {
    const KnowledgeGraph graph = TestGraph(kNum, kRelations, inverses);
    const TestModel<double> model(kNum, inverses ? 2 * kRelations : kRelations, 4);
    const std::vector<LinkQuery> queries = {{0, 0, false}, {1, 1, true}, {2, 2, false}};
    CandidateRule heads, tails;
    heads.kind = tails.kind = CandidateRule::Kind::kListed;
    for (int32_t e = 0; e < kNum; ++e) (e % 3 == 0 ? heads : tails).entities.push_back(e);
    const Candidates candidates(graph, {}, {0, 1, 2}, heads, tails);
    LinkPredictionOptions options;
    options.top_k = kNum;
    options.softmax = true;
    const auto all = PredictLinks(model.Scorer(), graph, queries, options);
    options.candidates = &candidates;
    const auto among = PredictLinks(model.Scorer(), graph, queries, options);
    ASSERT_TRUE(all.ok() && among.ok());
    for (size_t q = 0; q < queries.size(); ++q) {
      size_t i = 0;
      for (const LinkAnswer& answer : (*all)[q]) {
        if ((answer.entity % 3 == 0) != queries[q].for_head) continue;
        ASSERT_LT(i, (*among)[q].size());
        EXPECT_EQ((*among)[q][i].entity, answer.entity);
        EXPECT_EQ((*among)[q][i].probability, answer.probability);
        ++i;
      }
      EXPECT_EQ((*among)[q].size(), i);
    }
  }
}

TEST(LinkPredictionTest, TableHasNamesAndLabels) {
  KnowledgeGraph graph;
  graph.entities = {"Q1", "Q2"};
  graph.relations = {"P\t1"};
  const std::vector<LinkQuery> queries = {{0, 0, false}, {1, 0, true}};
  const std::vector<std::vector<LinkAnswer>> answers = {{{1, 0.5, 0.622459331, "test"}, {0, -1, 0.25, ""}},
                                                        {{0, 2, 1, ""}}};
  EXPECT_EQ(LinkPredictionsToTsv(graph, queries, answers, false),
            "query\tasked\tplace\thead\trelation\ttail\tscore\tknown\n"
            "1\ttail\t1\tQ1\tP 1\tQ2\t0.500000\ttest\n"
            "1\ttail\t2\tQ1\tP 1\tQ1\t-1.000000\t\n"
            "2\thead\t1\tQ1\tP 1\tQ2\t2.000000\t\n");
  graph.entity_labels = {"iron", "zinc"};
  EXPECT_EQ(
      LinkPredictionsToTsv(graph, {queries[0]}, {answers[0]}, true),
      "query\tasked\tplace\thead\trelation\ttail\thead_label\trelation_label\ttail_label\tscore\tprobability\tknown\n"
      "1\ttail\t1\tQ1\tP 1\tQ2\tiron\t\tzinc\t0.500000\t0.622459\ttest\n"
      "1\ttail\t2\tQ1\tP 1\tQ1\tiron\t\tiron\t-1.000000\t0.25\t\n");
}

}  // namespace
}  // namespace rutile
