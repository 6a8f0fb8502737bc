#include "lib/kge/training/kge_task.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/kge/model/kge_file.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/precision.h"
#include "lib/task/torch/eager_evaluation.h"
#include "lib/task/torch/torch_facts.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// A ring of 9 entities with the relations next, and next but one.
std::shared_ptr<const KnowledgeGraph> Ring() {
  auto graph = std::make_shared<KnowledgeGraph>();
  for (int e = 0; e < 9; ++e) graph->entities.push_back(absl::StrCat("e", e));
  graph->relations = {"next", "next_but_one"};
  for (int32_t e = 0; e < 9; ++e) {
    graph->train.push_back({e, 0, (e + 1) % 9});
    (e == 3 ? graph->valid : e == 5 ? graph->test : graph->train).push_back({e, 1, (e + 2) % 9});
  }
  return graph;
}

KgeOptions Options(KgeModel model = KgeModel::kConvE, ConveVariant variant = ConveVariant::kDettmers,
                   KgeLoss loss = KgeLoss::kOneToN, DType precision = DType::kF64) {
  KgeOptions options;
  options.model = model;
  options.variant = variant;
  options.loss = loss;
  options.precision = precision;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 4;
  options.kernel_width = 2;
  options.relation_embedding_dim = 5;
  options.seed = 3;
  return options;
}

std::unique_ptr<KgeTask> MakeTask(const KgeOptions& options) {
  absl::StatusOr<std::unique_ptr<KgeTask>> task = KgeTask::Create(Ring(), nullptr, options, /*num_threads=*/1);
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

NamedTensors Batch(KgeTask& task, const std::vector<int64_t>& examples, int64_t epoch, bool training) {
  task.StartEpoch(epoch, training);
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
  return batch;
}

// Evaluates by LibTorch's operations, as on a GPU, the loss and all ranks.
TEST(KgeTaskTest, EvaluatesWhereParametersAre) {
  for (const KgeModel model :
       {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple,
        KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
    for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll, KgeLoss::kOneVsAll}) {
      const std::unique_ptr<KgeTask> task = MakeTask(Options(model, ConveVariant::kDettmers, loss));
      const Tensor parameters = task->InitialParameters(5);
      std::vector<int64_t> examples(task->num_examples());
      std::iota(examples.begin(), examples.end(), 0);
      const NamedTensors batch = Batch(*task, examples, 0, /*training=*/false);
      TermSums own(1), eager(1);
      std::vector<double> own_metrics(task->num_metric_sums()), eager_metrics(own_metrics);
      ASSERT_TRUE(task->Evaluate(parameters, batch, &own, absl::MakeSpan(own_metrics)).ok());
      const std::string device = FindTorchFacts().num_cuda_devices > 0 ? "cuda:0" : "cpu";
      const absl::Status status =
          EagerEvaluation(*task, parameters, device).Add(batch, &eager, absl::MakeSpan(eager_metrics));
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_NEAR(eager.sum[0], own.sum[0], 1e-9 * std::abs(own.sum[0]));
      EXPECT_EQ(eager.count, own.count);
      EXPECT_GT(own_metrics[5], 0);
      EXPECT_EQ(eager_metrics, own_metrics);
    }
  }
}

TEST(KgeTaskTest, GradientsAreThoseOfTheDefinition) {
  for (const KgeModel model :
       {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple,
        KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
    for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
      if (model != KgeModel::kConvE && variant != ConveVariant::kDettmers) continue;
      for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
        for (const DType precision : {DType::kF64, DType::kF32}) {
          const std::unique_ptr<KgeTask> task = MakeTask(Options(model, variant, loss, precision));
          const NamedTensors batch = Batch(*task, {0, 5, 2, 9, 9, 14}, /*epoch=*/4, /*training=*/true);
          const absl::Status status = CheckGradients(*task, task->InitialParameters(1), batch);
          EXPECT_TRUE(status.ok()) << kKgeModelNames.Name(model) << " " << kConveVariantNames.Name(variant) << " "
                                   << kKgeLossNames.Name(loss) << " " << DTypeName(precision) << ": " << status;
        }
      }
    }
  }
}

TEST(KgeTaskTest, GradientsWithARegularizerAreThoseOfTheDefinition) {
  for (const KgeModel model :
       {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple,
        KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
    for (const KgeRegularizer regularizer : {KgeRegularizer::kN3, KgeRegularizer::kF2, KgeRegularizer::kL3}) {
      for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
        for (const DType precision : {DType::kF64, DType::kF32}) {
          if (model == KgeModel::kRotatE) continue;  // whose relations are angles
          KgeOptions options = Options(model, ConveVariant::kDettmers, loss, precision);
          options.regularizer = regularizer;
          options.regularization = 0.7;
          options.init = {EmbeddingInitKind::kUniform, 0.8};
          const std::unique_ptr<KgeTask> task = MakeTask(options);
          const NamedTensors batch = Batch(*task, {0, 5, 2, 9, 9, 14}, /*epoch=*/4, /*training=*/true);
          const absl::Status status = CheckGradients(*task, task->InitialParameters(1), batch);
          EXPECT_TRUE(status.ok()) << kKgeModelNames.Name(model) << " " << kKgeRegularizerNames.Name(regularizer) << " "
                                   << kKgeLossNames.Name(loss) << " " << DTypeName(precision) << ": " << status;
        }
      }
    }
  }
}

// Entities 0 and 1 have several tails.
std::shared_ptr<const KnowledgeGraph> Star() {
  auto graph = std::make_shared<KnowledgeGraph>(*Ring());
  for (const Triple& triple : {Triple{0, 0, 4}, Triple{0, 0, 7}, Triple{1, 1, 8}}) graph->train.push_back(triple);
  return graph;
}

TermSums SumsOf(KgeTask& task, const Tensor& parameters, bool training, std::vector<double>* gradient) {
  std::vector<int64_t> examples(task.examples().num_train());
  std::iota(examples.begin(), examples.end(), 0);
  if (!training) examples = task.examples().ValidExamples();
  const NamedTensors batch = Batch(task, examples, 0, training);
  TermSums sums(1);
  std::vector<Tensor> gradients = {Tensor::Zeros(task.parameter_dtype(), parameters.shape())};
  EXPECT_TRUE(task.AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
  *gradient = gradients[0].ToDoubles();
  return sums;
}

// All triples of an epoch at once, without dropout and batch norms, which see queries and not triples.
TEST(KgeTaskTest, GroupedQueriesHaveTheLossAndGradientOfTheirTriples) {
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp,
                               KgeModel::kSimple, KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
    for (const double smoothing : {0.0, 0.2}) {
      for (const KgeRegularizer regularizer : {KgeRegularizer::kNone, KgeRegularizer::kN3}) {
        if (model == KgeModel::kRotatE && regularizer != KgeRegularizer::kNone) continue;
        KgeOptions options = Options(model, ConveVariant::kDettmers, KgeLoss::kOneVsAll);
        options.input_dropout = 0;
        options.label_smoothing = smoothing;
        options.regularizer = regularizer;
        options.init = {EmbeddingInitKind::kNormal, 0.7};
        const auto single = *KgeTask::Create(Star(), nullptr, options, 1);
        options.group_queries = true;
        const auto grouped = *KgeTask::Create(Star(), nullptr, options, 1);
        EXPECT_LT(grouped->examples().num_train(), single->examples().num_train());
        const Tensor parameters = single->InitialParameters(1);
        for (const bool training : {true, false}) {
          std::vector<double> expected, actual;
          const TermSums all = SumsOf(*single, parameters, training, &expected);
          const TermSums sums = SumsOf(*grouped, parameters, training, &actual);
          EXPECT_EQ(sums.count, all.count);
          EXPECT_NEAR(sums.sum[0], all.sum[0], 1e-12 * all.sum[0]);
          for (size_t k = 0; k < actual.size(); ++k) EXPECT_NEAR(actual[k], expected[k], 1e-12) << k;
        }
        std::vector<int64_t> examples(grouped->examples().num_train());
        std::iota(examples.begin(), examples.end(), 0);
        const NamedTensors batch = Batch(*grouped, examples, 0, true);
        const absl::Status status = CheckGradients(*grouped, parameters, batch);
        EXPECT_TRUE(status.ok()) << status;
      }
    }
  }
}

// What validation reports can be compared between regularizers.
TEST(KgeTaskTest, RegularizersAddToTheTrainingLossAlone) {
  KgeOptions options = Options(KgeModel::kComplEx, ConveVariant::kDettmers, KgeLoss::kOneVsAll);
  const std::unique_ptr<KgeTask> plain = MakeTask(options);
  options.regularizer = KgeRegularizer::kF2;
  options.regularization = 0.25;
  const std::unique_ptr<KgeTask> task = MakeTask(options);
  const Tensor parameters = task->InitialParameters(1);
  std::vector<double> with, without;
  const double difference =
      SumsOf(*task, parameters, true, &with).sum[0] - SumsOf(*plain, parameters, true, &without).sum[0];
  const std::vector<double> values = parameters.ToDoubles();
  const auto square = [&](int64_t begin, int64_t row) {
    double sum = 0;
    for (int64_t k = 0; k < 12; ++k) sum += values[begin + row * 12 + k] * values[begin + row * 12 + k];
    return sum;
  };
  const KgeShape::Offsets at = task->shape().offsets();
  const std::shared_ptr<const KnowledgeGraph> ring = Ring();
  double expected = 0;
  for (const Triple& t : ring->train) {
    for (const int32_t relation : {t.relation, t.relation + 2}) {
      expected += square(at.entity, t.head) + square(at.entity, t.tail) + square(at.relation, relation);
    }
  }
  EXPECT_NEAR(difference, 0.25 * expected, 1e-12 * expected);
  EXPECT_EQ(SumsOf(*task, parameters, false, &with).sum[0], SumsOf(*plain, parameters, false, &without).sum[0]);
  EXPECT_EQ(with, without);
}

TEST(KgeTaskTest, LossIsTheMeanAndAFunctionOfTheBatchAlone) {
  const std::unique_ptr<KgeTask> task = MakeTask(Options());
  const Tensor parameters = task->InitialParameters(1);
  const NamedTensors batch = Batch(*task, {1, 2, 3}, 0, true);
  const auto sums_of = [&] {
    TermSums sums(1);
    std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF64, parameters.shape())};
    EXPECT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
    return sums;
  };
  const TermSums first = sums_of();
  task->StartEpoch(9, true);
  EXPECT_EQ(sums_of().sum[0], first.sum[0]);
  EXPECT_EQ(first.count[0], 3);
  const Loss loss = task->CombineTerms(first);
  EXPECT_DOUBLE_EQ(loss.value, first.sum[0] / 3);
  EXPECT_DOUBLE_EQ(loss.weight[0], 1.0 / 3);
  // Another epoch has other masks.
  const NamedTensors later = Batch(*task, {1, 2, 3}, 1, true);
  TermSums sums(1);
  std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF64, parameters.shape())};
  ASSERT_TRUE(task->AccumulateGradients(parameters, later, absl::MakeSpan(gradients), &sums).ok());
  EXPECT_NE(sums.sum[0], first.sum[0]);
}

std::vector<double> Buffers(const KgeTask& task, const Tensor& parameters) {
  std::vector<double> buffers;
  const std::vector<double> values = parameters.ToDoubles();
  for (const ParameterSlice& slice : task.parameter_slices()) {
    if (!slice.buffer) continue;
    buffers.insert(buffers.end(), values.begin() + slice.offset, values.begin() + slice.offset + slice.num_elements());
  }
  return buffers;
}

// PyTorch's modules move their statistics in each forward pass.
TEST(KgeTaskTest, FinishStepMovesRunningStatisticsOncePerBatch) {
  const std::unique_ptr<KgeTask> task = MakeTask(Options());
  const Tensor initial = task->InitialParameters(1);
  const NamedTensors one = Batch(*task, {0, 1, 2}, 0, true), two = Batch(*task, {3, 4, 5, 6}, 0, true);
  const auto after = [&](const std::vector<const NamedTensors*>& batches, int finish_every) {
    Tensor parameters = Tensor::Of(initial.ToDoubles());
    TermSums sums(1);
    std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF64, parameters.shape())};
    int n = 0;
    for (const NamedTensors* batch : batches) {
      // Statistics do not depend on running ones: both orders see the same.
      EXPECT_TRUE(task->AccumulateGradients(parameters, *batch, absl::MakeSpan(gradients), &sums).ok());
      if (++n % finish_every == 0) task->FinishStep(&parameters);
    }
    return Buffers(*task, parameters);
  };
  const std::vector<double> start = Buffers(*task, initial);
  const std::vector<double> first = after({&one}, 1), second = after({&two}, 1), both = after({&one, &two}, 2);
  EXPECT_EQ(after({&one, &two}, 1), both);
  for (size_t k = 0; k < both.size(); ++k) {
    // start -> 0.9 start + 0.1 a -> 0.9 (0.9 start + 0.1 a) + 0.1 b
    EXPECT_NEAR(both[k], 0.9 * first[k] + (second[k] - 0.9 * start[k]), 1e-14);
    EXPECT_NE(first[k], start[k]);
  }
  // Neither statistics that are dropped nor an evaluation move the running statistics.
  TermSums sums(1);
  std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF64, initial.shape())};
  ASSERT_TRUE(task->AccumulateGradients(initial, one, absl::MakeSpan(gradients), &sums).ok());
  ASSERT_TRUE(task->SetState(NamedTensors()).ok());
  const NamedTensors evaluation = Batch(*task, {0, 1, 2}, 0, false);
  std::vector<double> metric_sums(task->num_metric_sums());
  ASSERT_TRUE(task->Evaluate(initial, evaluation, &sums, absl::MakeSpan(metric_sums)).ok());
  ASSERT_TRUE(task->AccumulateGradients(initial, evaluation, absl::MakeSpan(gradients), &sums).ok());
  Tensor parameters = Tensor::Of(initial.ToDoubles());
  task->FinishStep(&parameters);
  EXPECT_EQ(Buffers(*task, parameters), start);
}

// A model made by hand, DistMult in one dimension, whose scores are e_h w_r e_t.
TEST(KgeTaskTest, EvaluateRanksFilteredWithRealisticTies) {
  KgeOptions options = Options(KgeModel::kDistMult);
  options.embedding_dim = 1;
  auto graph = std::make_shared<KnowledgeGraph>();
  graph->entities = {"a", "b", "c", "d", "e"};
  graph->relations = {"r"};
  graph->inverse_relations = false;
  graph->train = {{0, 0, 4}, {1, 0, 0}};
  graph->valid = {{0, 0, 1}, {0, 0, 3}};
  for (const DType precision : {DType::kF64, DType::kF32}) {
    options.precision = precision;
    const std::unique_ptr<KgeTask> task = *KgeTask::Create(graph, nullptr, options, /*num_threads=*/2);
    const std::vector<double> values = {1, 2, 2, 5, 7, /*relation=*/1};
    const Tensor parameters =
        precision == DType::kF64 ? Tensor::Of(values) : Tensor::Of(std::vector<float>(values.begin(), values.end()));
    task->StartEpoch(0, /*training=*/false);
    NamedTensors batch;
    ASSERT_TRUE(task->MakeBatch(task->examples().ValidExamples(), &batch).ok());
    TermSums sums(1);
    std::vector<double> metric_sums(task->num_metric_sums());
    ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
    // Scores of (a, r, ?) are 1, 2, 2, 5, 7. For b: d and e are known, c is as high: 1.5. For d: b and e are known: 1.
    const std::vector<Metric> metrics = task->Metrics(metric_sums);
    ASSERT_EQ(metrics.size(), 5);
    EXPECT_EQ(metrics[0].name, "mrr");
    EXPECT_DOUBLE_EQ(metrics[0].value, (1 / 1.5 + 1) / 2);
    EXPECT_TRUE(metrics[0].higher_is_better);
    EXPECT_EQ(metrics[1].name, "mr");
    EXPECT_DOUBLE_EQ(metrics[1].value, 1.25);
    EXPECT_FALSE(metrics[1].higher_is_better);
    EXPECT_EQ(metrics[2].name, "hits@1");
    EXPECT_DOUBLE_EQ(metrics[2].value, 0.5);
    EXPECT_DOUBLE_EQ(metrics[3].value, 1);
    // The loss of both is that of the key with the tails in train and valid: b, d, e.
    double loss = 0;
    for (int e = 0; e < 5; ++e) {
      const double x = values[e], label = 1.0 / 5 + (e == 1 || e == 3 || e == 4 ? 0.9 : 0);
      loss += std::log1p(std::exp(x)) - label * x;
    }
    EXPECT_NEAR(task->CombineTerms(sums).value, loss / 5, 1e-6);
    EXPECT_EQ(sums.count[0], 2);
  }
}

TEST(KgeTaskTest, MetricsDoNotDependOnBatches) {
  const std::unique_ptr<KgeTask> task = MakeTask(Options());
  const Tensor parameters = task->InitialParameters(1);
  task->StartEpoch(0, /*training=*/false);
  const auto metrics = [&](size_t batch_size) {
    TermSums sums(1);
    std::vector<double> metric_sums(task->num_metric_sums());
    const std::vector<int64_t> all = task->examples().TrainExamples();
    for (size_t b = 0; b < all.size(); b += batch_size) {
      NamedTensors batch;
      EXPECT_TRUE(task->MakeBatch(absl::MakeConstSpan(all).subspan(b, batch_size), &batch).ok());
      EXPECT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
    }
    return std::pair(task->Metrics(metric_sums)[0].value, task->CombineTerms(sums).value);
  };
  EXPECT_NEAR(metrics(1).first, metrics(7).first, 1e-14);
  EXPECT_NEAR(metrics(1).second, metrics(7).second, 1e-14);
}

TEST(KgeTaskTest, RoundedFactorsTrainNearlyTheSameAndEvaluateTheSame) {
  const KgeOptions options = Options(KgeModel::kConvE, ConveVariant::kDettmers, KgeLoss::kOneToN, DType::kF32);
  const std::unique_ptr<KgeTask> full = MakeTask(options);
  const auto rounded = [&](FactorRounding factors) {
    return *KgeTask::Create(Ring(), nullptr, options, /*num_threads=*/1, factors);
  };
  const std::unique_ptr<KgeTask> mixed = rounded(FactorRounding::kBf16), split = rounded(FactorRounding::kTwoParts);
  EXPECT_EQ(mixed->ResumeConfig().at("precision"), "bf16-mixed");
  EXPECT_EQ(split->ResumeConfig().at("precision"), "fp32");
  EXPECT_EQ(split->ResumeConfig().at("float32_matmul_precision"), "high");
  EXPECT_EQ(full->ResumeConfig().count("float32_matmul_precision"), 0);
  const Tensor parameters = full->InitialParameters(1);
  std::vector<double> sum;
  for (KgeTask* task : {full.get(), mixed.get(), split.get()}) {
    for (const bool training : {true, false}) {
      const NamedTensors batch = Batch(*task, {0, 1, 2, 3}, 0, training);
      TermSums sums(1);
      std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF32, parameters.shape())};
      ASSERT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
      sum.push_back(sums.sum[0]);
    }
  }
  EXPECT_NE(sum[2], sum[0]);
  EXPECT_NEAR(sum[2], sum[0], 0.01 * sum[0]);
  EXPECT_NE(sum[4], sum[0]);
  EXPECT_NEAR(sum[4], sum[0], 2e-5 * sum[0]);
  EXPECT_EQ(sum[3], sum[1]);
  EXPECT_EQ(sum[5], sum[1]);
  EXPECT_FALSE(KgeTask::Create(Ring(), nullptr, Options(), 1, FactorRounding::kBf16).ok());
}

TEST(KgeTaskTest, ConfigSaysWhatDecidesARun) {
  KgeOptions options = Options();
  const std::map<std::string, std::string> config = MakeTask(options)->ResumeConfig();
  EXPECT_EQ(config.at("kge_model"), "conve");
  EXPECT_EQ(config.at("precision"), "fp64");
  options.output_dropout = 0.5;
  EXPECT_NE(MakeTask(options)->ResumeConfig(), config);
  auto graph = std::make_shared<KnowledgeGraph>(*Ring());
  std::swap(graph->train[0], graph->train[1]);
  EXPECT_NE((*KgeTask::Create(graph, nullptr, Options(), 1))->ResumeConfig(), config);
}

TEST(KgeTaskTest, WritesAModelThatIsReadBack) {
  auto graph = std::make_shared<KnowledgeGraph>(*Ring());
  EntityTypesBuilder types;
  types.Add(1, "bead");
  graph->entity_types = types.Build(graph->num_entities());
  const std::unique_ptr<KgeTask> task = *KgeTask::Create(graph, nullptr, Options(), 1);
  const Tensor parameters = task->InitialParameters(2);
  const std::string path = absl::StrCat(::testing::TempDir(), "/task_model.safetensors");
  ASSERT_TRUE(task->WriteModel(path, parameters, {{"epoch", "4"}}).ok());
  const absl::StatusOr<TrainedKge> model = ReadKgeModel(path);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->parameters.ToDoubles(), parameters.ToDoubles());
  EXPECT_EQ(model->names.entities, Ring()->entities);
  EXPECT_EQ(model->names.entity_types, graph->entity_types);
  EXPECT_EQ(model->metadata.at("epoch"), "4");
  EXPECT_TRUE(CheckSameVocabulary(*model, *Ring()).ok());
}

TEST(KgeTaskTest, RefusesWhatItCannotDo) {
  EagerOptions eager;
  eager.script = true;
  EXPECT_THAT(std::string(MakeTask(Options())->CheckEager(eager).message()), HasSubstr("TorchScript"));
  EXPECT_TRUE(MakeTask(Options())->CheckEager({Precision::kBf16Mixed}).ok());
  KgeOptions options = Options();
  options.embedding_height = 5;
  EXPECT_THAT(std::string(KgeTask::Create(Ring(), nullptr, options, 1).status().message()), HasSubstr("5 x 4"));
  auto one = std::make_shared<KnowledgeGraph>();
  one->entities = {"a"};
  one->relations = {"r"};
  one->train = {{0, 0, 0}};
  EXPECT_THAT(std::string(KgeTask::Create(one, nullptr, Options(), 1).status().message()), HasSubstr("1 entities"));
}

}  // namespace
}  // namespace rutile
