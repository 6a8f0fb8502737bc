#include "lib/ranking/rank_triples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/known_tails.h"
#include "lib/ranking/scorer_testing.h"
#include "lib/ranking/scores/score_form.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

using Facts = std::set<std::tuple<int32_t, int32_t, int32_t>>;

Facts FactsOf(const KnowledgeGraph& graph, RankingFilter filter) {
  Facts facts;
  const auto add = [&](const std::vector<Triple>& triples) {
    for (const Triple& t : triples) facts.emplace(t.head, t.relation, t.tail);
  };
  add(graph.train);
  if (filter != RankingFilter::kTrain) add(graph.valid);
  if (filter == RankingFilter::kAll) add(graph.test);
  return facts;
}

// The definition by plain loops: every entity in the position of the tail (or head). score(entity).
template <typename Score, typename Known>
RankValues Define(int64_t num, int32_t target, const Score& score, const Known& known) {
  int64_t greater = 0, equal = 0, candidates = 1;
  for (int32_t e = 0; e < num; ++e) {
    if (e == target || known(e)) continue;
    ++candidates;
    greater += score(e) > score(target);
    equal += score(e) == score(target);
  }
  RankValues values;
  values.optimistic = static_cast<double>(greater + 1);
  values.pessimistic = static_cast<double>(greater + equal + 1);
  values.realistic = 0.5 * (values.optimistic + values.pessimistic);
  values.expected = 0.5 * static_cast<double>(candidates + 1);
  return values;
}

void ExpectSame(const RankValues& a, const RankValues& b, const char* what, size_t i) {
  EXPECT_EQ(a.optimistic, b.optimistic) << what << i;
  EXPECT_EQ(a.realistic, b.realistic) << what << i;
  EXPECT_EQ(a.pessimistic, b.pessimistic) << what << i;
  EXPECT_EQ(a.expected, b.expected) << what << i;
}

template <typename T>
class RankTriplesTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RankTriplesTest, Types);

// Covers every split, filter and kind of model, with heads through inverses and by scoring all heads.
TYPED_TEST(RankTriplesTest, EqualsTheDefinition) {
  for (const ScoreForm form : {ScoreForm::kDot, ScoreForm::kL1, ScoreForm::kL2}) {
    for (const bool inverses : {true, false}) {
      const KnowledgeGraph graph = TestGraph(40, 3, inverses);
      const TestModel<TypeParam> model(40, inverses ? 6 : 3, 4, form);
      for (const GraphSplit split : {GraphSplit::kTrain, GraphSplit::kValid, GraphSplit::kTest}) {
        for (const RankingFilter filter : {RankingFilter::kTrain, RankingFilter::kTrainValid, RankingFilter::kAll}) {
          RankTriplesOptions options;
          options.split = split;
          options.filter = filter;
          options.direction = RankingDirection::kBoth;
          int64_t progress = 0;
          options.on_progress = [&](int64_t n) { progress += n; };
          const auto ranks = RankTriples(model.Scorer(), graph, nullptr, options);
          ASSERT_TRUE(ranks.ok()) << ranks.status();
          const Facts facts = FactsOf(graph, filter);
          const absl::Span<const Triple> triples = SplitTriples(graph, split);
          ASSERT_EQ(ranks->tail.size(), triples.size());
          ASSERT_EQ(ranks->head.size(), triples.size());
          EXPECT_EQ(progress, 2 * triples.size());
          for (size_t i = 0; i < triples.size(); ++i) {
            const Triple t = triples[i];
            ExpectSame(ranks->tail[i],
                       Define(
                           40, t.tail, [&](int32_t e) { return model.Score(t.head, t.relation, e); },
                           [&](int32_t e) {
                             return facts.count({t.head, t.relation, e}) > 0;
                           }),
                       "tail", i);
            ExpectSame(ranks->head[i],
                       Define(
                           40, t.head,
                           [&](int32_t e) {
                             // A tail's bias is the same for all heads.
                             return inverses ? model.Score(t.tail, 3 + t.relation, e)
                                             : model.Score(e, t.relation, t.tail);
                           },
                           [&](int32_t e) {
                             return facts.count({e, t.relation, t.tail}) > 0;
                           }),
                       "head", i);
          }
        }
      }
    }
  }
}

// A rank does not depend on the other triples ranked, for every kind of model; parts have each triple once.
TYPED_TEST(RankTriplesTest, PartsHaveTheRanksOfTheWhole) {
  for (const bool inverses : {true, false}) {
    const KnowledgeGraph graph = TestGraph(40, 3, inverses);
    const TestModel<TypeParam> model(40, inverses ? 6 : 3, 4);
    RankTriplesOptions options;
    options.split = GraphSplit::kTrain;
    options.direction = RankingDirection::kBoth;
    const auto whole = RankTriples(model.Scorer(), graph, nullptr, options);
    ASSERT_TRUE(whole.ok()) << whole.status();
    std::vector<int> times(graph.train.size());
    for (int shard = 1; shard <= 4; ++shard) {
      options.triples = RankShard(graph.train, shard, 4);
      EXPECT_NEAR(static_cast<double>(options.triples->size()), static_cast<double>(graph.train.size()) / 4, 1);
      const auto part = RankTriples(model.Scorer(), graph, nullptr, options);
      ASSERT_TRUE(part.ok()) << part.status();
      ASSERT_EQ(part->tail.size(), options.triples->size());
      ASSERT_EQ(part->head.size(), options.triples->size());
      for (size_t k = 0; k < options.triples->size(); ++k) {
        const int64_t i = (*options.triples)[k];
        ++times[i];
        ExpectSame(part->tail[k], whole->tail[i], "tail", i);
        ExpectSame(part->head[k], whole->head[i], "head", i);
      }
    }
    EXPECT_THAT(times, ::testing::Each(1));
  }
}

// Ranks among candidates are by definition those in a graph where everything else is known; ranks among all entities
// stay as they are. Heads go through inverses, or all heads are scored.
TYPED_TEST(RankTriplesTest, AmongCandidatesEqualsTheDefinition) {
  for (const bool inverses : {true, false}) {
    const KnowledgeGraph graph = TestGraph(70, 3, inverses);
    const TestModel<TypeParam> model(70, inverses ? 6 : 3, 4);
    CandidateRule heads, tails;
    heads.kind = CandidateRule::Kind::kListed;
    for (int32_t e = 3; e < 70; e += 5) heads.entities.push_back(e);
    tails.kind = CandidateRule::Kind::kListed;
    for (int32_t e = 0; e < 70; e += 2) tails.entities.push_back(e);
    const Candidates candidates(graph, {}, {0, 1, 2}, heads, tails);
    RankTriplesOptions options;
    options.direction = RankingDirection::kBoth;
    const auto plain = RankTriples(model.Scorer(), graph, nullptr, options);
    options.candidates = &candidates;
    options.num_threads = 2;
    const auto ranks = RankTriples(model.Scorer(), graph, nullptr, options);
    ASSERT_TRUE(plain.ok() && ranks.ok()) << ranks.status();
    const Facts facts = FactsOf(graph, RankingFilter::kAll);
    int outside = 0;
    for (size_t i = 0; i < graph.test.size(); ++i) {
      const Triple t = graph.test[i];
      ExpectSame(ranks->tail[i], plain->tail[i], "all, tail", i);
      ExpectSame(ranks->head[i], plain->head[i], "all, head", i);
      ExpectSame(ranks->tail_among[i],
                 Define(
                     70, t.tail, [&](int32_t e) { return model.Score(t.head, t.relation, e); },
                     [&](int32_t e) {
                       return e % 2 != 0 || facts.count({t.head, t.relation, e}) > 0;
                     }),
                 "tail", i);
      ExpectSame(ranks->head_among[i],
                 Define(
                     70, t.head,
                     [&](int32_t e) {
                       return inverses ? model.Score(t.tail, 3 + t.relation, e) : model.Score(e, t.relation, t.tail);
                     },
                     [&](int32_t e) {
                       return e % 5 != 3 || facts.count({e, t.relation, t.tail}) > 0;
                     }),
                 "head", i);
      EXPECT_EQ(ranks->tail_among[i].outside, t.tail % 2 != 0);
      EXPECT_EQ(ranks->head_among[i].outside, t.head % 5 != 3);
      outside += ranks->tail_among[i].outside ? 1 : 0;
    }
    EXPECT_GT(outside, 0);
    EXPECT_LT(outside, graph.test.size());
    EXPECT_EQ(ranks->candidates, candidates.description());
  }
}

// A graph small enough to rank by hand, with the entities in two orders. Scores of tails of h are 9 - 2 x place in
// alphabetical order, but of b and c equal.
TYPED_TEST(RankTriplesTest, KnownRanksInAnyOrderOfEntities) {
  const std::vector<std::string> letters = {"a", "b", "c", "d", "e", "h"};
  const std::vector<TypeParam> scores = {9, 7, 7, 3, 1, -1};
  for (const std::vector<int32_t>& order : {std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {4, 2, 5, 0, 3, 1}}) {
    KnowledgeGraph graph;
    std::vector<int32_t> id(6);
    EntityTypesBuilder types;
    TestModel<TypeParam> model(6, 1, 1);
    model.relation = {1};
    for (int32_t place = 0; place < 6; ++place) {
      const int32_t letter = order[place];
      id[letter] = place;
      graph.entities.push_back(letters[letter]);
      if (letter > 0 && letter < 5) types.Add(place, "consonant or e");
      model.entity[place] = letter == 5 ? 1 : 0;  // only h asks
      model.bias[place] = scores[letter];
    }
    graph.relations = {"r"};
    graph.inverse_relations = false;
    graph.train = {{id[5], 0, id[1]}, {id[0], 0, id[2]}, {id[0], 0, id[3]}};
    graph.test = {{id[5], 0, id[2]}, {id[5], 0, id[3]}, {id[5], 0, id[0]}, {id[5], 0, id[4]}};
    graph.entity_types = types.Build(6);
    const auto ranks = [&](CandidateRule::Kind kind) {
      CandidateRule rule;
      rule.kind = kind;
      const Candidates candidates(graph, graph.entity_types, {0}, CandidateRule(), rule);
      RankTriplesOptions options;
      options.filter = RankingFilter::kTrain;
      options.candidates = &candidates;
      return *RankTriples(model.Scorer(), graph, nullptr, options);
    };
    // Of c: behind a, since b is known. Of d: behind a and c. Of e: behind a, c and d.
    const TripleRanks seen = ranks(CandidateRule::Kind::kSeen), typed = ranks(CandidateRule::Kind::kTypes);
    const double all[] = {2, 3, 1, 4};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(seen.tail[i].realistic, all[i]) << i;
    // Training has b, c and d as tails, so that a and e are no candidates; of their types are b, c, d and e.
    const double of_seen[] = {1, 2, 0, 0}, of_typed[] = {1, 2, 0, 3};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(seen.tail_among[i].outside, of_seen[i] == 0) << i;
      EXPECT_EQ(typed.tail_among[i].outside, of_typed[i] == 0) << i;
      EXPECT_EQ(seen.tail_among[i].outside ? 0 : seen.tail_among[i].realistic, of_seen[i]) << i;
      EXPECT_EQ(typed.tail_among[i].outside ? 0 : typed.tail_among[i].realistic, of_typed[i]) << i;
    }
  }
}

TYPED_TEST(RankTriplesTest, ThreadsAndAGivenIndexChangeNothing) {
  const KnowledgeGraph graph = TestGraph(50, 2, true);
  const TestModel<TypeParam> model(50, 4, 6);
  RankTriplesOptions options;
  const auto one = RankTriples(model.Scorer(), graph, nullptr, options);
  options.num_threads = 2;
  const KnownTails known = KnownTails::Build({graph.train, graph.valid, graph.test}, 2, true);
  const auto two = RankTriples(model.Scorer(), graph, &known, options);
  ASSERT_TRUE(one.ok() && two.ok());
  for (size_t i = 0; i < one->tail.size(); ++i) {
    ExpectSame(one->tail[i], two->tail[i], "tail", i);
    ExpectSame(one->head[i], two->head[i], "head", i);
  }
}

TEST(RankTriplesOfAModelTest, RanksTailsAloneWithoutInverses) {
  const KnowledgeGraph graph = TestGraph(10, 2, false);
  const TestModel<float> model(10, 2, 4);
  const auto ranks = RankTriples(model.Scorer(), graph, nullptr, RankTriplesOptions());
  ASSERT_TRUE(ranks.ok());
  EXPECT_EQ(ranks->tail.size(), graph.test.size());
  EXPECT_TRUE(ranks->head.empty());
}

// Each distinct (head, relation) takes one hidden vector, however many triples share it.
TEST(RankTriplesOfAModelTest, SharedQueriesAreScoredOnce) {
  KnowledgeGraph graph = TestGraph(20, 1, true);
  graph.test = {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {1, 0, 3}};
  const TestModel<float> model(20, 2, 4);
  KgeScorer scorer = model.Scorer();
  int64_t vectors = 0;
  const auto hidden = scorer.hidden;
  scorer.hidden = [&](absl::Span<const int32_t> heads, absl::Span<const int32_t> relations, Tensor* out) {
    vectors += heads.size();
    return hidden(heads, relations, out);
  };
  ASSERT_TRUE(RankTriples(scorer, graph, nullptr, RankTriplesOptions()).ok());
  EXPECT_EQ(vectors, 2 + 3);  // heads 0 and 1; tails 1, 2 and 3
}

TEST(RankTriplesOfAModelTest, TiepinConventionIsPessimisticOnTailsAndCallsNanRank0) {
  KnowledgeGraph graph = TestGraph(30, 2, true);
  TestModel<double> model(30, 4, 4);
  RankTriplesOptions options;
  options.filter = RankingFilter::kTrainValid;
  const auto right = RankTriples(model.Scorer(), graph, nullptr, options);
  options.convention = RankingConvention::kTiepin;
  const auto wrong = RankTriples(model.Scorer(), graph, nullptr, options);
  ASSERT_TRUE(right.ok() && wrong.ok());
  EXPECT_TRUE(wrong->head.empty());
  for (size_t i = 0; i < graph.test.size(); ++i) EXPECT_EQ(wrong->tail[i].realistic, right->tail[i].pessimistic);

  std::fill(model.bias.begin(), model.bias.end(), std::nan(""));
  const auto nan = RankTriples(model.Scorer(), graph, nullptr, options);
  EXPECT_EQ(nan->tail[0].realistic, 0);
  EXPECT_TRUE(nan->tail[0].nan);
  options.convention = RankingConvention::kStandard;
  const auto last = RankTriples(model.Scorer(), graph, nullptr, options);
  EXPECT_EQ(last->tail[0].realistic, 2 * last->tail[0].expected - 1);
}

TEST(RankTriplesOfAModelTest, OriginalConventionBreaksTiesById) {
  const KnowledgeGraph graph = TestGraph(30, 2, true);
  const TestModel<double> model(30, 4, 4);
  RankTriplesOptions options;
  const auto right = RankTriples(model.Scorer(), graph, nullptr, options);
  options.convention = RankingConvention::kOriginal;
  const auto original = RankTriples(model.Scorer(), graph, nullptr, options);
  ASSERT_TRUE(right.ok() && original.ok());
  int inside = 0;
  for (size_t i = 0; i < graph.test.size(); ++i) {
    const RankValues &a = right->tail[i], &b = original->tail[i];
    // Scores above 17 all have probability 1 in fp32, so there are more ties among probabilities than among scores.
    EXPECT_EQ(b.optimistic, b.pessimistic);
    inside += a.optimistic <= b.realistic && b.realistic <= a.pessimistic;
  }
  EXPECT_GT(inside, graph.test.size() * 3 / 4);
}

TEST(RankTriplesOfAModelTest, RefusesWhatDoesNotFit) {
  KnowledgeGraph graph = TestGraph(10, 2, true);
  const auto message = [&](const TestModel<float>& model, const RankTriplesOptions& options) {
    return std::string(RankTriples(model.Scorer(), graph, nullptr, options).status().message());
  };
  RankTriplesOptions options;
  const TestModel<float> model(10, 4, 4);
  EXPECT_THAT(message(TestModel<float>(9, 4, 4), options), HasSubstr("9 entities, the graph has 10"));
  EXPECT_THAT(message(TestModel<float>(10, 3, 4), options), HasSubstr("3 relations, expected 2 or, with inverses, 4"));
  options.convention = RankingConvention::kTiepin;
  EXPECT_THAT(message(model, options), HasSubstr("--filter=train+valid"));
  options.convention = RankingConvention::kOriginal;
  options.filter = RankingFilter::kTrain;
  EXPECT_THAT(message(model, options), HasSubstr("--filter=all"));
  options.filter = RankingFilter::kAll;
  options.direction = RankingDirection::kBoth;
  EXPECT_THAT(message(TestModel<float>(10, 2, 4), options), HasSubstr("leave out --direction=both"));
  graph.test.clear();
  EXPECT_THAT(message(model, RankTriplesOptions()), HasSubstr("no test triples"));
}

}  // namespace
}  // namespace rutile
