// Options that a run can add to any loss: dropout by table, the regularizer dura, relation prediction. Losses and
// gradients are those of the definition, whose masks and formulas are compared with plain loops here.

#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_reference.h"
#include "lib/kge/training/kge_task.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/eager_options.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "lib/testing/error_names.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

constexpr KgeLoss kLosses[] = {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll};

KgeOptions Options(KgeModel model, KgeLoss loss, DType precision = DType::kF64) {
  KgeOptions options;
  options.model = model;
  options.loss = loss;
  options.precision = precision;
  options.embedding_dim = 12;
  options.embedding_height = 4;
  options.embedding_width = 3;
  options.output_channels = 5;
  options.kernel_width = 2;
  options.seed = 3;
  options.input_dropout = 0;
  options.init = {EmbeddingInitKind::kUniform, 0.8};
  return options;
}

// A ring, whose entities 0 and 1 have several tails.
std::unique_ptr<KgeTask> MakeTask(const KgeOptions& options) {
  auto graph = std::make_shared<KnowledgeGraph>();
  for (int e = 0; e < 10; ++e) graph->entities.push_back(absl::StrCat("e", e));
  graph->relations = {"next", "after"};
  graph->inverse_relations = true;
  for (int32_t e = 0; e < 10; ++e) graph->train.push_back({e, e % 2, (e + 1 + e % 2) % 10});
  for (const Triple& triple : {Triple{0, 0, 4}, Triple{0, 0, 7}, Triple{1, 1, 8}}) graph->train.push_back(triple);
  graph->valid = {{2, 1, 7}, {0, 0, 5}};
  return KgeTask::Create(graph, nullptr, options, /*num_threads=*/1).value();
}

NamedTensors Batch(KgeTask& task, int64_t number, bool training = true) {
  task.StartEpoch(4, training);
  std::vector<int64_t> examples(task.examples().num_train());
  std::iota(examples.begin(), examples.end(), 0);
  NamedTensors batch;
  EXPECT_TRUE(task.MakeNumberedBatch(number, examples, &batch).ok());
  return batch;
}

void ExpectGradientsOfTheDefinition(const KgeOptions& options) {
  const std::unique_ptr<KgeTask> task = MakeTask(options);
  const absl::Status status = CheckGradients(*task, task->InitialParameters(1), Batch(*task, 2));
  EXPECT_TRUE(status.ok()) << kKgeModelNames.Name(options.model) << " " << kKgeLossNames.Name(options.loss) << " "
                           << DTypeName(options.precision) << ": " << status;
}

TEST(KgeTaskOptionsTest, GradientsWithDropoutByTable) {
  for (const KgeModel model :
       {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple,
        KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
    for (const KgeLoss loss : kLosses) {
      for (const DType precision : {DType::kF64, DType::kF32}) {
        KgeOptions options = Options(model, loss, precision);
        options.candidate_dropout = 0.4;
        ExpectGradientsOfTheDefinition(options);
        options.entity_dropout = 0.3;
        options.relation_dropout = 0.2;
        if (model != KgeModel::kConvE) ExpectGradientsOfTheDefinition(options);
      }
    }
  }
}

TEST(KgeTaskOptionsTest, GradientsOfDistancesByBothNorms) {
  for (const KgeModel model : {KgeModel::kTransE, KgeModel::kRotatE}) {
    for (const KgeLoss loss : kLosses) {
      for (const DType precision : {DType::kF64, DType::kF32}) {
        for (const int64_t norm : {1, 2}) {
          KgeOptions options = Options(model, loss, precision);
          options.distance_norm = norm;
          ExpectGradientsOfTheDefinition(options);
          options.group_queries = loss == KgeLoss::kOneVsAll;
          options.entity_dropout = options.relation_dropout = options.candidate_dropout = 0.3;
          ExpectGradientsOfTheDefinition(options);
        }
      }
    }
  }
}

TEST(KgeTaskOptionsTest, DistancesHaveNoProductsToRound) {
  for (const KgeModel model : {KgeModel::kTransE, KgeModel::kRotatE}) {
    auto graph = std::make_shared<KnowledgeGraph>();
    graph->entities = {"a", "b"};
    graph->relations = {"r"};
    graph->train = {{0, 0, 1}};
    KgeOptions options = Options(model, KgeLoss::kOneVsAll, DType::kF32);
    const auto rounded = KgeTask::Create(graph, nullptr, options, 1, FactorRounding::kBf16);
    EXPECT_THAT(std::string(rounded.status().message()),
                ErrorNames({std::string(kKgeModelNames.Name(model)), "no matrix products"}));
    const auto task = KgeTask::Create(graph, nullptr, options, 1);
    ASSERT_TRUE(task.ok()) << task.status();
    EagerOptions eager;
    EXPECT_TRUE((*task)->CheckEager(eager).ok());
    eager.precision = Precision::kBf16Mixed;
    EXPECT_THAT(std::string((*task)->CheckEager(eager).message()), ErrorNames({"no matrix products"}));
  }
}

TEST(KgeTaskOptionsTest, GradientsWithDuraAndRelationPrediction) {
  for (const KgeModel model :
       {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple}) {
    for (const KgeLoss loss : kLosses) {
      for (const DType precision : {DType::kF64, DType::kF32}) {
        for (const bool group : {false, true}) {
          if (group && loss != KgeLoss::kOneVsAll) continue;
          KgeOptions options = Options(model, loss, precision);
          options.group_queries = group;
          const bool dura = model == KgeModel::kDistMult || model == KgeModel::kComplEx;
          options.regularizer = dura ? KgeRegularizer::kDura : KgeRegularizer::kN3;
          options.regularization = 0.7;
          ExpectGradientsOfTheDefinition(options);
          options.relation_prediction = 0.6;
          options.entity_dropout = options.candidate_dropout = 0.3;
          ExpectGradientsOfTheDefinition(options);
        }
      }
    }
  }
}

double LossOf(KgeTask& task, const Tensor& parameters, const NamedTensors& batch) {
  TermSums sums(1);
  std::vector<Tensor> gradients = {Tensor::Zeros(task.parameter_dtype(), parameters.shape())};
  EXPECT_TRUE(task.AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
  return sums.sum[0];
}

// Triples of a key one by one, or together, add up to the same.
TEST(KgeTaskOptionsTest, GroupedQueriesHaveTheLossOfTheirTriples) {
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx}) {
    KgeOptions options = Options(model, KgeLoss::kOneVsAll);
    options.label_smoothing = 0;
    options.regularizer = KgeRegularizer::kDura;
    options.relation_prediction = 2;
    options.candidate_dropout = 0.3;
    const std::unique_ptr<KgeTask> single = MakeTask(options);
    options.group_queries = true;
    const std::unique_ptr<KgeTask> grouped = MakeTask(options);
    const Tensor parameters = single->InitialParameters(1);
    const double expected = LossOf(*single, parameters, Batch(*single, 1));
    EXPECT_NEAR(LossOf(*grouped, parameters, Batch(*grouped, 1)), expected, 1e-12 * expected);
  }
}

// A batch's number and epoch decide the mask, and validation has none.
TEST(KgeTaskOptionsTest, EachBatchHasAMaskOfCandidates) {
  KgeOptions options = Options(KgeModel::kComplEx, KgeLoss::kKvsAll);
  const std::unique_ptr<KgeTask> plain = MakeTask(options);
  options.candidate_dropout = 0.4;
  const std::unique_ptr<KgeTask> task = MakeTask(options);
  const Tensor parameters = task->InitialParameters(1);
  const double first = LossOf(*task, parameters, Batch(*task, 0));
  EXPECT_EQ(first, LossOf(*task, parameters, Batch(*task, 0)));
  EXPECT_NE(first, LossOf(*task, parameters, Batch(*task, 1)));
  EXPECT_NE(first, LossOf(*plain, parameters, Batch(*plain, 0)));
  EXPECT_EQ(LossOf(*task, parameters, Batch(*task, 0, false)), LossOf(*plain, parameters, Batch(*plain, 0, false)));
}

// What validation reports can be compared between runs.
TEST(KgeTaskOptionsTest, WhatIsAddedIsOfTrainingAlone) {
  KgeOptions options = Options(KgeModel::kComplEx, KgeLoss::kOneVsAll);
  const std::unique_ptr<KgeTask> plain = MakeTask(options);
  options.regularizer = KgeRegularizer::kDura;
  options.relation_prediction = 1;
  const std::unique_ptr<KgeTask> task = MakeTask(options);
  const Tensor parameters = task->InitialParameters(1);
  EXPECT_EQ(LossOf(*task, parameters, Batch(*task, 0, false)), LossOf(*plain, parameters, Batch(*plain, 0, false)));
  EXPECT_GT(LossOf(*task, parameters, Batch(*task, 0)), LossOf(*plain, parameters, Batch(*plain, 0)));
}

// The definition's own masks: <v, mask e>, and v of dropped heads and relations.
TEST(KgeReferenceDropoutTest, ScoresAreThoseOfDroppedRows) {
  KgeShape shape;
  shape.options = Options(KgeModel::kDistMult, KgeLoss::kKvsAll);
  shape.options.entity_dropout = 0.5;
  shape.options.relation_dropout = 0.25;
  shape.options.candidate_dropout = 0.4;
  shape.num_entities = 9;
  shape.num_relations = 4;
  const OwnedKgeBatch owned = RandomKgeBatch(shape, 5, 2, 5);
  KgeBatch batch = owned.View(/*training=*/true, /*epoch=*/2);
  batch.number = 6;
  const at::Tensor parameters = at::rand({shape.offsets().size}, at::kDouble);
  const at::Tensor scores = ReferenceScores(shape, parameters, batch, ReferenceHidden(shape, parameters, batch).v);
  const double* const p = parameters.data_ptr<double>();
  for (int64_t b = 0; b < 5; ++b) {
    std::vector<double> of_head(12), of_relation(12), of_tail(12);
    FillDropout(3, 2, batch.example[b], DropoutLayer::kHead, 0.5, absl::MakeSpan(of_head));
    FillDropout(3, 2, batch.example[b], DropoutLayer::kRelation, 0.25, absl::MakeSpan(of_relation));
    for (int64_t n = 0; n < 9; ++n) {
      FillCandidateDropout(3, 2, 6, n, 0.4, absl::MakeSpan(of_tail));
      double expected = 0;
      for (int64_t k = 0; k < 12; ++k) {
        expected += p[shape.offsets().entity + 12 * batch.head[b] + k] * of_head[k] *
                    p[shape.offsets().relation + 12 * batch.relation[b] + k] * of_relation[k] *
                    p[shape.offsets().entity + 12 * n + k] * of_tail[k];
      }
      EXPECT_NEAR(scores[b][n].item<double>(), expected, 1e-13);
    }
  }
}

// The definition's formula: triples (0, 1, 2) and (0, 1, 3) of one query, whose mean counts.
TEST(KgeReferencePenaltiesTest, DuraIsItsFormula) {
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx}) {
    KgeShape shape;
    shape.options = Options(model, KgeLoss::kKvsAll);
    shape.options.regularizer = KgeRegularizer::kDura;
    shape.options.regularization = 0.3;
    shape.num_entities = 5;
    shape.num_relations = 2;
    OwnedKgeBatch owned;
    owned.Add(0, 1, {2, 3});
    const at::Tensor parameters = at::rand({shape.offsets().size}, at::kDouble);
    const double* const p = parameters.data_ptr<double>();
    const auto square = [&](int64_t begin, int64_t row, int64_t k) {
      const double* const x = p + begin + 12 * row;
      return model == KgeModel::kComplEx ? x[k] * x[k] + x[k + 6] * x[k + 6] : x[k] * x[k];
    };
    double expected = 0;
    const KgeShape::Offsets at = shape.offsets();
    for (const auto& [entity, share] : {std::pair<int64_t, double>{0, 1}, {2, 0.5}, {3, 0.5}}) {
      for (int64_t k = 0; k < (model == KgeModel::kComplEx ? 6 : 12); ++k) {
        const double e = square(at.entity, entity, k), w = square(at.relation, 1, k);
        expected += 0.3 * share * (0.5 * e + 1.5 * e * w);
      }
    }
    EXPECT_NEAR(ReferencePenalties(shape, parameters, owned.View(true)).item<double>(), expected, 1e-13);
    EXPECT_FALSE(ReferencePenalties(shape, parameters, owned.View(false)).defined());
  }
}

TEST(NegativesPerBatchTest, GradientsAreThoseOfTheDefinition) {
  for (const KgeModel model : {KgeModel::kConvE, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kTransE}) {
    for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
      KgeOptions options = Options(model, loss);
      options.label_smoothing = 0;
      options.negatives_per_batch = 4;
      ExpectGradientsOfTheDefinition(options);
      options.precision = DType::kF32;
      ExpectGradientsOfTheDefinition(options);
    }
  }
}

// Batches of training have negatives, others with each number and epoch; evaluations score all entities.
TEST(NegativesPerBatchTest, AreDrawnForEachTrainingBatch) {
  KgeOptions options = Options(KgeModel::kDistMult, KgeLoss::kOneVsAll);
  options.label_smoothing = 0;
  options.negatives_per_batch = 5;
  const std::unique_ptr<KgeTask> task = MakeTask(options);
  const NamedTensors batch = Batch(*task, 2);
  EXPECT_EQ(batch.At("negative").num_elements(), 5);
  EXPECT_NEAR(batch.At("negative_log_weight").values<double>()[0], std::log(2.0), 1e-15);
  EXPECT_EQ(Batch(*task, 2).At("negative").ToDoubles(), batch.At("negative").ToDoubles());
  EXPECT_NE(Batch(*task, 3).At("negative").ToDoubles(), batch.At("negative").ToDoubles());
  EXPECT_FALSE(Batch(*task, 2, /*training=*/false).Has("negative"));
  EXPECT_TRUE(task->has_rows());
  EXPECT_EQ(task->ResumeConfig().at("negatives_per_batch"), "5");
}

TEST(NegativesPerBatchTest, TypesAreAskedForAndRecorded) {
  KgeOptions options = Options(KgeModel::kComplEx, KgeLoss::kOneVsAll);
  options.label_smoothing = 0;
  options.negatives_per_batch = 4;
  options.negatives_by = NegativeKind::kType;
  auto graph = std::make_shared<KnowledgeGraph>();
  graph->entities = {"a", "b", "c", "d"};
  graph->relations = {"r"};
  graph->train = {{0, 0, 1}};
  EXPECT_THAT(KgeTask::Create(graph, nullptr, options, 1).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"negatives_by = type", "--entity_types"}));
  EntityTypesBuilder types;
  types.Add(1, "drug");
  graph->entity_types = types.Build(4);
  const auto config = (*KgeTask::Create(graph, nullptr, options, 1))->ResumeConfig();
  EXPECT_EQ(config.at("negatives_by"), "type");
  types.Add(2, "drug");
  graph->entity_types = types.Build(4);
  EXPECT_NE((*KgeTask::Create(graph, nullptr, options, 1))->ResumeConfig().at("entity_types_sha256"),
            config.at("entity_types_sha256"));
  options.negatives_by = NegativeKind::kUniform;
  EXPECT_EQ((*KgeTask::Create(graph, nullptr, options, 1))->ResumeConfig().count("entity_types_sha256"), 0);
}

TEST(NegativesPerBatchTest, MoreThanEntitiesAreRefused) {
  auto graph = std::make_shared<KnowledgeGraph>();
  graph->entities = {"a", "b", "c"};
  graph->relations = {"r"};
  graph->train = {{0, 0, 1}};
  KgeOptions options = Options(KgeModel::kComplEx, KgeLoss::kOneVsAll);
  options.label_smoothing = 0;
  options.negatives_per_batch = 4;
  EXPECT_THAT(KgeTask::Create(graph, nullptr, options, 1).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"negatives_per_batch = 4", "3 entities"}));
}

}  // namespace
}  // namespace rutile
