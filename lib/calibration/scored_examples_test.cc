#include "lib/calibration/scored_examples.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/entity_types.h"
#include "lib/ranking/scorer_testing.h"
#include "lib/ranking/scores/score_form.h"

namespace rutile {
namespace {

constexpr int32_t kNum = 40, kRelations = 3;

bool IsTrue(const KnowledgeGraph& graph, const Triple& t) {
  for (const std::vector<Triple>* split : {&graph.train, &graph.valid, &graph.test}) {
    if (std::find(split->begin(), split->end(), t) != split->end()) return true;
  }
  return false;
}

// Each triple gives its own score and those of false answers, for tails and for heads, with and without inverses.
TEST(ScoreExamplesTest, ScoresTrueAndFalseAnswersOfBothSides) {
  for (const ScoreForm form : {ScoreForm::kDot, ScoreForm::kL1, ScoreForm::kL2}) {
    for (const bool inverses : {true, false}) {
      const KnowledgeGraph graph = TestGraph(kNum, kRelations, inverses);
      const TestModel<double> model(kNum, inverses ? 2 * kRelations : kRelations, 4, form);
      ExampleOptions options;
      options.num_false = 5;
      const auto examples = ScoreExamples(model.Scorer(), graph, options);
      ASSERT_TRUE(examples.ok()) << examples.status();
      ASSERT_EQ(examples->size(), graph.valid.size() * 2 * 6);
      size_t at = 0;
      for (const Triple& triple : graph.valid) {
        for (const bool for_head : {false, true}) {
          const auto score = [&](int32_t e) {
            if (!for_head) return model.Score(triple.head, triple.relation, e);
            return inverses ? model.Score(triple.tail, kRelations + triple.relation, e)
                            : model.Score(e, triple.relation, triple.tail);
          };
          EXPECT_TRUE((*examples)[at].is_true);
          EXPECT_EQ((*examples)[at].score, score(for_head ? triple.head : triple.tail));
          std::vector<double> of_false;
          for (int32_t e = 0; e < kNum; ++e) {
            const Triple other =
                for_head ? Triple{e, triple.relation, triple.tail} : Triple{triple.head, triple.relation, e};
            if (!IsTrue(graph, other)) of_false.push_back(score(e));
          }
          for (int k = 0; k < 6; ++k, ++at) {
            EXPECT_EQ((*examples)[at].question, triple.relation + (for_head ? kRelations : 0));
            if (k == 0) continue;
            EXPECT_FALSE((*examples)[at].is_true);
            EXPECT_NE(std::find(of_false.begin(), of_false.end(), (*examples)[at].score), of_false.end());
          }
        }
      }
    }
  }
}

// Where more are wanted than there are, each false answer comes once.
TEST(ScoreExamplesTest, AllFalseAnswersOnceIfSoManyAreWanted) {
  const KnowledgeGraph graph = TestGraph(kNum, kRelations, true);
  TestModel<float> model(kNum, 2 * kRelations, 1);
  for (int32_t e = 0; e < kNum; ++e) model.entity[e] = 1, model.bias[e] = static_cast<float>(e);
  for (float& value : model.relation) value = 0;  // the score is the number of the entity
  for (const int64_t wanted : {10, 1000}) {
    ExampleOptions options;
    options.num_false = wanted;
    const auto examples = ScoreExamples(model.Scorer(), graph, options);
    ASSERT_TRUE(examples.ok());
    std::set<double> seen;
    const Triple& first = graph.valid[0];
    for (const ScoredExample& example : *examples) {
      if (example.is_true && !seen.empty()) break;
      const auto entity = static_cast<int32_t>(example.score);
      EXPECT_TRUE(seen.insert(entity).second) << "twice";
      EXPECT_EQ(IsTrue(graph, {first.head, first.relation, entity}), example.is_true);
    }
    int64_t all = 1;
    for (int32_t e = 0; e < kNum; ++e) all += !IsTrue(graph, {first.head, first.relation, e});
    EXPECT_EQ(static_cast<int64_t>(seen.size()), std::min(all, wanted + 1));
  }
}

TEST(ScoreExamplesTest, CandidatesAlone) {
  const KnowledgeGraph graph = TestGraph(kNum, kRelations, true);
  TestModel<double> model(kNum, 2 * kRelations, 1);
  for (int32_t e = 0; e < kNum; ++e) model.entity[e] = 1, model.bias[e] = e;
  for (double& value : model.relation) value = 0;
  CandidateRule some;
  some.kind = CandidateRule::Kind::kListed;
  some.entities = {1, 5, 7, 9, 20, 21, 22, 30};
  const Candidates candidates(graph, EntityTypes(), {0, 1, 2}, CandidateRule(), some);
  ExampleOptions options;
  options.candidates = &candidates;
  const auto examples = ScoreExamples(model.Scorer(), graph, options);
  ASSERT_TRUE(examples.ok());
  size_t num_true = 0, of_candidates = 0;
  for (const ScoredExample& example : *examples) {
    if (example.question >= kRelations) continue;
    EXPECT_EQ(std::count(some.entities.begin(), some.entities.end(), static_cast<int32_t>(example.score)), 1);
    num_true += example.is_true;
  }
  for (const Triple& t : graph.valid) of_candidates += std::count(some.entities.begin(), some.entities.end(), t.tail);
  EXPECT_EQ(num_true, of_candidates);
}

TEST(ScoreExamplesTest, RefusesScoresThatAreNotFinite) {
  const KnowledgeGraph graph = TestGraph(kNum, kRelations, true);
  TestModel<double> model(kNum, 2 * kRelations, 2);
  model.bias[graph.valid[0].tail] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(std::string(ScoreExamples(model.Scorer(), graph, {}).status().message()),
              ::testing::HasSubstr("not finite"));
}

}  // namespace
}  // namespace rutile
