#include "lib/kge/new_entities/grown_graph.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/triple_weights.h"
#include "lib/kge/new_entities/new_entities_testing.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A model of e0, e1, e2 and r0, r1, and a graph that has them in another order, with a question about x.
struct Data {
  Data() : model(SmallModel(KgeModel::kConvE, KgeLoss::kKvsAll, 3, 2)) {
    graph.entities = {"e2", "x", "e0", "e1"};
    graph.relations = {"r1", "r0"};
    graph.train = {{0, 0, 2}, {3, 1, 0}};  // e2 r1 e0, e1 r0 e2
    graph.valid = {{3, 0, 0}};
    graph.test = {{1, 0, 3}};                                    // x r1 e1
    added = {"new.tsv", {"x", "y"}, {{3, 0, 0}, {1, 1, 4}}, 0};  // x r0 e0, e1 r1 y
  }

  TrainedKge model;
  KnowledgeGraph graph;
  NewTriples added;
};

TEST(GrownGraphTest, HasTheIdsOfTheModelThenTheNew) {
  Data data;
  data.graph.entity_labels = {"two", "ex", "zero", "one"};
  const KnowledgeGraph grown = GrowGraph(data.model.names, data.graph, data.added).value();
  EXPECT_THAT(grown.entities, ElementsAre("e0", "e1", "e2", "x", "y"));
  EXPECT_THAT(grown.entity_labels, ElementsAre("zero", "one", "two", "ex", "y"));
  EXPECT_THAT(grown.relations, ElementsAre("r0", "r1"));
  EXPECT_THAT(grown.train, ElementsAre(Triple{2, 1, 0}, Triple{1, 0, 2}, Triple{3, 0, 0}, Triple{1, 1, 4}));
  EXPECT_THAT(grown.valid, ElementsAre(Triple{1, 1, 2}));
  EXPECT_THAT(grown.test, ElementsAre(Triple{3, 1, 1}));
}

TEST(GrownGraphTest, ANewTripleThatTrainingHasComesOnce) {
  Data data;
  data.graph.train.push_back({1, 1, 2});  // x r0 e0
  EXPECT_EQ(GrowGraph(data.model.names, data.graph, data.added).value().train.size(), 4);
}

TEST(GrownGraphTest, ErrorsNameWhatOneOfBothLacks) {
  const auto error = [](const Data& data) { return GrowGraph(data.model.names, data.graph, data.added).status(); };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  Data data;
  data.graph.entities[1] = "z";
  EXPECT_THAT(error(data), ErrorNames(invalid, {"\"z\"", "not in the model", "new.tsv"}));
  data = Data();
  data.graph.entities = {"e2", "x", "y", "e1"};
  EXPECT_THAT(error(data), ErrorNames(invalid, {"\"e0\" of the model"}));
  data = Data();
  data.graph.relations[0] = "s";
  EXPECT_THAT(error(data), ErrorNames(invalid, {"relation \"s\"", "not in the model"}));
  data = Data();
  data.graph.inverse_relations = false;
  EXPECT_THAT(error(data), ErrorNames(invalid, {"with inverse relations", "--inverse_relations"}));
  data = Data();
  data.added.triples[0] = {3, 1, 1};  // the test triple
  EXPECT_THAT(error(data), ErrorNames(invalid, {"\"x\" \"r1\" \"e1\"", "test triple", "new.tsv"}));
}

TEST(GrownGraphTest, TheModelGetsRowsBiasesLabelsAndTypes) {
  Data data;
  EntityTypesBuilder types;
  types.Add(1, "metal");
  types.Add(2, "metal");
  data.graph.entity_types = types.Build(4);  // of x and e0
  data.model.names.entity_labels = {"zero", "one", "two"};
  const KnowledgeGraph grown = GrowGraph(data.model.names, data.graph, data.added).value();
  const std::vector<std::vector<double>> rows = {std::vector<double>(13, 0.5), std::vector<double>(13, 0.25)};
  TrainedKge model = GrowModel(data.model, data.added, grown, rows);
  EXPECT_THAT(model.names.entity_labels, ElementsAre("zero", "one", "two", "x", "y"));
  EXPECT_TRUE(model.names.entity_types.empty());  // the model has none
  ASSERT_EQ(model.shape.num_entities, 5);
  const KgeShape::Offsets from = data.model.shape.offsets(), to = model.shape.offsets();
  const absl::Span<const double> p = model.parameters.values<double>(), old = data.model.parameters.values<double>();
  for (int i = 0; i < 36; ++i) EXPECT_EQ(p[to.entity + i], old[from.entity + i]);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(p[to.entity + 36 + i], 0.5);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(p[to.entity + 48 + i], 0.25);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(p[to.entity_bias + i], old[from.entity_bias + i]);
  EXPECT_THAT(p.subspan(to.entity_bias + 3, 2), ElementsAre(0.5, 0.25));
  EXPECT_EQ(p.subspan(to.relation), old.subspan(from.relation));  // and all behind it

  // Where model and triples agree on the known entities, the new ones have the types of the triples.
  EntityTypesBuilder of_model;
  of_model.Add(0, "metal");
  data.model.names.entity_types = of_model.Build(3);
  model = GrowModel(data.model, data.added, grown, rows);
  EXPECT_EQ(model.names.entity_types, grown.entity_types);
  EXPECT_THAT(model.names.entity_types.Of(3), ElementsAre(0));
  EXPECT_THAT(model.names.entity_types.Of(4), IsEmpty());
}

TEST(GrownGraphTest, NumberOfNewEntitiesIsReadFromMetadata) {
  EXPECT_EQ(NumNewEntities({}), 0);
  EXPECT_EQ(NumNewEntities({{kNewEntitiesKey, "3"}}), 3);
  EXPECT_EQ(NumNewEntities({{kNewEntitiesKey, "-3"}}), 0);
  EXPECT_EQ(NumNewEntities({{kNewEntitiesKey, "three"}}), 0);
}

// The hash of weights is that of the grown triples where the model learned with the weights that are given.
TEST(GrownGraphTest, TheHashOfWeightsGrows) {
  Data data;
  data.graph.train_weights = {2, 0.5};
  data.graph.negatives = {{0, 1, 2}};  // e2 r0 e0
  const KnowledgeGraph grown = GrowGraph(data.model.names, data.graph, data.added).value();
  const std::vector<std::vector<double>> rows(2, std::vector<double>(13, 0.5));
  KnowledgeGraph trained = data.model.names;
  trained.train = {{2, 1, 0}, {1, 0, 2}};
  trained.train_weights = {2, 0.5};
  trained.negatives = {{2, 0, 0}};
  data.model.metadata["weights_sha256"] = WeightsSha256(trained);
  EXPECT_EQ(GrowModel(data.model, data.added, grown, rows).metadata.at("weights_sha256"), WeightsSha256(grown));
  data.model.metadata["weights_sha256"] = "of others";
  EXPECT_EQ(GrowModel(data.model, data.added, grown, rows).metadata.at("weights_sha256"), "of others");
  data.model.metadata.erase("weights_sha256");
  EXPECT_EQ(GrowModel(data.model, data.added, grown, rows).metadata.count("weights_sha256"), 0);
}

TEST(GrownGraphTest, HashesSayWhatTheModelLearnedFrom) {
  Data data;
  KnowledgeGraph learned = data.model.names;
  learned.train = {{2, 1, 0}, {1, 0, 2}};
  learned.valid = {{1, 1, 2}};
  const KnowledgeGraph grown = GrowGraph(data.model.names, data.graph, data.added).value();
  const std::vector<std::vector<double>> rows(2, std::vector<double>(13, 0.5));
  data.model.metadata = DescribeSplits(learned);
  EXPECT_THAT(SplitWarnings(GrowModel(data.model, data.added, grown, rows).metadata, grown, "test"), IsEmpty());
  // Triples that probabilities were fitted to are still known as such; others are left alone.
  data.model.metadata["calibration_triples"] = DescribeSplits(learned).at("valid_sha256");
  EXPECT_EQ(GrowModel(data.model, data.added, grown, rows).metadata.at("calibration_triples"),
            DescribeSplits(grown).at("valid_sha256"));
  data.model.metadata["calibration_triples"] = "other";
  EXPECT_EQ(GrowModel(data.model, data.added, grown, rows).metadata.at("calibration_triples"), "other");
  // A triple of x that was not folded in is not known to the model.
  KnowledgeGraph more = grown;
  more.train.push_back({3, 0, 1});
  EXPECT_EQ(SplitWarnings(GrowModel(data.model, data.added, more, rows).metadata, more, "test").size(), 1);
  // A model of other triples stays one.
  learned.train.pop_back();
  data.model.metadata = DescribeSplits(learned);
  EXPECT_EQ(SplitWarnings(GrowModel(data.model, data.added, grown, rows).metadata, grown, "test").size(), 1);
}

}  // namespace
}  // namespace rutile
