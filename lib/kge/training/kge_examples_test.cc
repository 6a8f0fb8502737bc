#include "lib/kge/training/kge_examples.h"

#include <string>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/known_file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

// Relation 0 and its inverse, 2; relation 1 and its inverse, 3.
std::shared_ptr<KnowledgeGraph> Graph(bool inverses = true) {
  auto graph = std::make_shared<KnowledgeGraph>();
  graph->entities = {"a", "b", "c", "d"};
  graph->relations = {"r", "s"};
  graph->inverse_relations = inverses;
  graph->train = {{0, 0, 2}, {0, 0, 1}, {1, 1, 3}};
  graph->valid = {{0, 0, 3}, {2, 1, 3}};
  graph->test = {{0, 0, 0}};
  return graph;
}

KgeExamples Examples(KgeLoss loss, bool inverses = true, bool grouped = false) {
  const std::shared_ptr<KnowledgeGraph> graph = Graph(inverses);
  KgeOptions options;
  options.loss = loss;
  options.group_queries = grouped;
  return KgeExamples(graph, std::make_shared<KnownTails>(AllKnownTails(*graph)), options);
}

std::vector<int32_t> Positives(const KgeExamples& examples, int64_t example) {
  std::vector<int32_t> own;
  const absl::Span<const int32_t> positives = examples.Positives(example, &own);
  return {positives.begin(), positives.end()};
}

std::string Text(const KgeExamples::Query& query) {
  return std::to_string(query.head) + " " + std::to_string(query.relation) + " " + std::to_string(query.tail);
}

std::vector<std::string> All(const KgeExamples& examples) {
  std::vector<std::string> all;
  for (int64_t e = 0; e < examples.size(); ++e) all.push_back(Text(examples.At(e)));
  return all;
}

// Training examples are keys; validation and test queries are those of 1vsAll, and so are their losses.
TEST(KgeExamplesTest, GroupedQueriesTrainOnKeysAlone) {
  const KgeExamples examples = Examples(KgeLoss::kOneVsAll, /*inverses=*/true, /*grouped=*/true);
  EXPECT_EQ(std::tuple(examples.num_train(), examples.num_valid(), examples.num_test()), std::tuple(5, 4, 2));
  EXPECT_EQ(All(examples), All(Examples(KgeLoss::kKvsAll)));
  EXPECT_THAT(Positives(examples, 0), ElementsAre(1, 2));
  EXPECT_THAT(Positives(examples, 5), ElementsAre(3));
  EXPECT_THAT(Positives(examples, 9), ElementsAre(0));
}

TEST(KgeExamplesTest, KeysThenQueriesOfBothDirections) {
  const KgeExamples examples = Examples(KgeLoss::kOneToN);
  EXPECT_EQ(std::tuple(examples.num_train(), examples.num_valid(), examples.num_test()), std::tuple(5, 4, 2));
  EXPECT_THAT(All(examples), ElementsAre("0 0 -1", "1 1 -1", "1 2 -1", "2 2 -1", "3 3 -1",  //
                                         "0 0 3", "3 2 0", "2 1 3", "3 3 2",                //
                                         "0 0 0", "0 2 0"));
  EXPECT_THAT(Positives(examples, 0), ElementsAre(1, 2));
  EXPECT_THAT(Positives(examples, 4), ElementsAre(1));
  EXPECT_THAT(Positives(examples, 5), ElementsAre(1, 2, 3));     // train and valid
  EXPECT_THAT(Positives(examples, 9), ElementsAre(0, 1, 2, 3));  // and test
  const absl::Span<const int32_t> known = examples.Known(5);
  EXPECT_THAT(std::vector<int32_t>(known.begin(), known.end()), ElementsAre(0, 1, 2, 3));
}

TEST(KgeExamplesTest, TriplesThenTheirInverses) {
  const KgeExamples examples = Examples(KgeLoss::kOneVsAll);
  EXPECT_EQ(std::tuple(examples.num_train(), examples.num_valid(), examples.num_test()), std::tuple(6, 4, 2));
  EXPECT_THAT(All(examples), ElementsAre("0 0 2", "0 0 1", "1 1 3", "2 2 0", "1 2 0", "3 3 1",  //
                                         "0 0 3", "3 2 0", "2 1 3", "3 3 2",                    //
                                         "0 0 0", "0 2 0"));
  for (int64_t e = 0; e < examples.size(); ++e) {
    EXPECT_THAT(Positives(examples, e), ElementsAre(examples.At(e).tail));
  }
}

TEST(KgeExamplesTest, WithoutInversesTailsAloneAreAskedFor) {
  EXPECT_THAT(All(Examples(KgeLoss::kOneOfN, /*inverses=*/false)),
              ElementsAre("0 0 2", "0 0 1", "1 1 3", "0 0 3", "2 1 3", "0 0 0"));
  EXPECT_THAT(All(Examples(KgeLoss::kKvsAll, /*inverses=*/false)),
              ElementsAre("0 0 -1", "1 1 -1", "0 0 3", "2 1 3", "0 0 0"));
}

TEST(KgeExamplesTest, QueriesThatAskTheSameStandTogether) {
  const KgeExamples examples = Examples(KgeLoss::kOneToN);
  EXPECT_THAT(examples.TrainExamples(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(examples.ValidExamples(), ElementsAre(5, 7, 6, 8));
  EXPECT_THAT(examples.TestExamples(), ElementsAre(9, 10));
  // Both directions of one of the two triples; and of all where the sample is larger.
  EXPECT_THAT(examples.ValidExamples(1), ::testing::AnyOf(ElementsAre(5, 6), ElementsAre(7, 8)));
  EXPECT_THAT(examples.ValidExamples(3), ElementsAre(5, 7, 6, 8));
}

TEST(FillBatchTest, OfTrainingHasWhatIsLearned) {
  const KgeExamples examples = Examples(KgeLoss::kOneToN);
  NamedTensors batch;
  examples.FillBatch({4, 0, 4}, /*epoch=*/7, &batch);
  const KgeBatch view = ViewKgeBatch(batch);
  EXPECT_THAT(std::vector<int32_t>(view.head.begin(), view.head.end()), ElementsAre(3, 0, 3));
  EXPECT_THAT(std::vector<int32_t>(view.relation.begin(), view.relation.end()), ElementsAre(3, 0, 3));
  EXPECT_THAT(std::vector<int64_t>(view.example.begin(), view.example.end()), ElementsAre(4, 0, 4));
  EXPECT_THAT(std::vector<int64_t>(view.positive_offset.begin(), view.positive_offset.end()), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(std::vector<int32_t>(view.positive.begin(), view.positive.end()), ElementsAre(1, 1, 2, 1));
  EXPECT_EQ(view.epoch, 7);
  EXPECT_TRUE(view.training);
  EXPECT_FALSE(batch.Has("target"));
  // A smaller batch reuses the memory.
  const void* const memory = batch.At("head").data();
  examples.FillBatch({1}, /*epoch=*/8, &batch);
  EXPECT_EQ(batch.At("head").data(), memory);
  EXPECT_EQ(ViewKgeBatch(batch).size(), 1);
  EXPECT_EQ(ViewKgeBatch(batch).positive.size(), 1);
}

TEST(FillBatchTest, OfAnEvaluationHasTargetsAndWhoIsLeftOut) {
  const KgeExamples examples = Examples(KgeLoss::kOneToN);
  NamedTensors batch;
  examples.FillBatch({0, 5, 10}, /*epoch=*/-1, &batch);
  EXPECT_TRUE(IsEvaluation(batch));
  EXPECT_FALSE(ViewKgeBatch(batch).training);
  // A training key asks for all its tails.
  EXPECT_EQ(batch.At("target_offset").ToDoubles(), (std::vector<double>{0, 2, 3, 4}));
  EXPECT_EQ(batch.At("target").ToDoubles(), (std::vector<double>{1, 2, 3, 0}));
  EXPECT_EQ(batch.At("known_offset").ToDoubles(), (std::vector<double>{0, 4, 8, 9}));
  EXPECT_EQ(batch.At("known").ToDoubles(), (std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3, 0}));
}

// Keys keep their numbers and lose tails; a key that has lost all of them is left out.
TEST(KgeExamplesTest, LearnsFromSomeTriples) {
  KgeExamples keys = Examples(KgeLoss::kKvsAll);
  const std::vector<std::string> queries = All(keys);
  EXPECT_THAT(keys.LearnFrom({0, 1, 0}), ElementsAre(0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(All(keys), queries);
  EXPECT_THAT(Positives(keys, 0), ElementsAre(1));        // (a, r) has lost c
  EXPECT_THAT(Positives(keys, 1), ElementsAre());         // (b, s)
  EXPECT_THAT(Positives(keys, 2), ElementsAre(0));        // (b, inverse of r)
  EXPECT_THAT(Positives(keys, 5), ElementsAre(1, 2, 3));  // a validation query still knows all

  KgeExamples triples = Examples(KgeLoss::kOneVsAll);
  EXPECT_THAT(triples.LearnFrom({0, 1, 0}), ElementsAre(1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(Positives(triples, 1), ElementsAre(1));
  EXPECT_THAT(Positives(triples, 4), ElementsAre(0));
}

// A key of which triples of weight 0 alone are kept is left out, and stays in the order: the batches of a run on a part
// are those of the whole run.
TEST(KgeExamplesTest, APartKeepsTheOrderOfWeightedExamples) {
  const std::shared_ptr<KnowledgeGraph> graph = Graph(/*inverses=*/false);
  graph->train.push_back({2, 0, 1});
  graph->train_weights = {0, 1, 2, 0};
  for (const bool grouped : {false, true}) {
    KgeOptions options;
    options.loss = grouped ? KgeLoss::kOneVsAll : KgeLoss::kKvsAll;
    options.group_queries = grouped;
    KgeExamples keys(graph, std::make_shared<KnownTails>(AllKnownTails(*graph)), options);
    EXPECT_THAT(keys.TrainExamples(), ElementsAre(0, 1));  // (a, r), (b, s); (c, r) has weight 0
    EXPECT_THAT(keys.LearnFrom({1, 0, 1, 1}), ElementsAre(1, 0, 1, 0, 0, 0));
    EXPECT_THAT(keys.TrainExamples(), ElementsAre(0, 1));
    EXPECT_TRUE(keys.IsWeightless(2));
    EXPECT_FALSE(keys.IsWeightless(0));
  }
}

}  // namespace
}  // namespace rutile
