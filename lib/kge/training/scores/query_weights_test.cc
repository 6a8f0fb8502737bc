// Weights of triples and known-false triples in the loss: kernels against the definition, and what query_weights.h says
// of weights of 0, 1 and 2.

#include "lib/kge/training/scores/query_weights.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_task.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/torch/eager_evaluation.h"
#include "lib/testing/error_names.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

constexpr KgeLoss kLosses[] = {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll};
constexpr KgeModel kModels[] = {KgeModel::kConvE,  KgeModel::kDistMult, KgeModel::kComplEx,
                                KgeModel::kRescal, KgeModel::kCp,       KgeModel::kSimple};

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
  options.label_smoothing = 0;
  options.init = {EmbeddingInitKind::kUniform, 0.8};
  return options;
}

// A ring, whose entities 0 and 1 have several tails.
KnowledgeGraph Ring() {
  KnowledgeGraph graph;
  for (int e = 0; e < 10; ++e) graph.entities.push_back(absl::StrCat("e", e));
  graph.relations = {"next", "after"};
  for (int32_t e = 0; e < 10; ++e) graph.train.push_back({e, e % 2, (e + 1 + e % 2) % 10});
  for (const Triple& triple : {Triple{0, 0, 4}, Triple{0, 0, 7}, Triple{1, 1, 8}}) graph.train.push_back(triple);
  graph.valid = {{2, 1, 7}, {0, 0, 5}};
  return graph;
}

// The ring with weights of all kinds, and false triples of a key that is known and of one that is not.
KnowledgeGraph Weighted() {
  KnowledgeGraph graph = Ring();
  for (size_t i = 0; i < graph.train.size(); ++i) graph.train_weights.push_back(0.25 * static_cast<double>(1 + i % 7));
  graph.train_weights[0] = 0;
  graph.train_weights[3] = 0;
  graph.valid_weights = {0.5, 3};
  graph.negatives = {{0, 0, 2}, {0, 0, 9}, {4, 1, 4}};
  graph.negative_weights = {0.5, 2, 1};
  return graph;
}

std::unique_ptr<KgeTask> MakeTask(const KnowledgeGraph& graph, const KgeOptions& options, int num_threads = 1) {
  auto task = KgeTask::Create(std::make_shared<KnowledgeGraph>(graph), nullptr, options, num_threads);
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

NamedTensors BatchOf(KgeTask& task, const std::vector<int64_t>& examples, bool training = true) {
  task.StartEpoch(4, training);
  NamedTensors batch;
  EXPECT_TRUE(task.MakeNumberedBatch(2, examples, &batch).ok());
  return batch;
}

struct Outcome {
  double sum = 0, count = 0;
  std::vector<double> gradient;
};

Outcome RunBatch(KgeTask& task, const std::vector<int64_t>& examples) {
  const NamedTensors batch = BatchOf(task, examples);
  TermSums sums(1);
  const Tensor parameters = task.InitialParameters(1);
  std::vector<Tensor> gradients = {Tensor::Zeros(task.parameter_dtype(), parameters.shape())};
  EXPECT_TRUE(task.AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
  return {sums.sum[0], sums.count[0], gradients[0].ToDoubles()};
}

void ExpectNear(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) ASSERT_NEAR(actual[k], expected[k], tolerance) << k;
}

std::string NameOf(const KgeOptions& options) {
  return absl::StrCat(kKgeModelNames.Name(options.model), " ", kKgeLossNames.Name(options.loss), " ",
                      DTypeName(options.precision));
}

void ExpectGradientsOfTheDefinition(const KgeOptions& options, int num_threads = 1) {
  const std::unique_ptr<KgeTask> task = MakeTask(Weighted(), options, num_threads);
  const NamedTensors batch = BatchOf(*task, task->examples().TrainExamples());
  const absl::Status status = CheckGradients(*task, task->InitialParameters(1), batch);
  EXPECT_TRUE(status.ok()) << NameOf(options) << ": " << status;
}

TEST(QueryWeightsTest, KernelsHaveTheGradientsOfTheDefinition) {
  for (const KgeModel model : kModels) {
    for (const KgeLoss loss : kLosses) {
      for (const DType precision : {DType::kF64, DType::kF32}) {
        KgeOptions options = Options(model, loss, precision);
        options.negative_weight = 1.5;
        ExpectGradientsOfTheDefinition(options);
        options.label_smoothing = 0.2;
        options.candidate_dropout = 0.3;
        ExpectGradientsOfTheDefinition(options, /*num_threads=*/2);
      }
    }
  }
}

TEST(QueryWeightsTest, SoAreThoseOfDistances) {
  for (const KgeModel model : {KgeModel::kTransE, KgeModel::kRotatE}) {
    for (const KgeLoss loss : kLosses) {
      for (const int norm : {1, 2}) {
        KgeOptions options = Options(model, loss);
        options.distance_norm = norm;
        options.negative_weight = 1.5;
        options.group_queries = loss == KgeLoss::kOneVsAll;
        ExpectGradientsOfTheDefinition(options);
        ExpectGradientsOfTheDefinition(options, /*num_threads=*/2);
      }
    }
  }
}

TEST(QueryWeightsTest, SoAreThoseOfRegularizersAndRelations) {
  for (const KgeModel model : kModels) {
    if (model == KgeModel::kConvE) continue;
    for (const KgeLoss loss : kLosses) {
      KgeOptions options = Options(model, loss);
      options.relation_prediction = 0.7;
      options.regularizer = KgeRegularizer::kN3;
      options.regularization = 0.3;
      ExpectGradientsOfTheDefinition(options);
      options.group_queries = true;  // counts for 1vsAll alone
      ExpectGradientsOfTheDefinition(options);
      if (model != KgeModel::kDistMult && model != KgeModel::kComplEx) continue;
      options.regularizer = KgeRegularizer::kDura;
      ExpectGradientsOfTheDefinition(options);
    }
  }
}

TEST(QueryWeightsTest, ThreadsDoNotChangeBits) {
  for (const KgeLoss loss : kLosses) {
    const KgeOptions options = Options(KgeModel::kComplEx, loss, DType::kF32);
    const auto one = MakeTask(Weighted(), options), two = MakeTask(Weighted(), options, 2);
    const Outcome a = RunBatch(*one, one->examples().TrainExamples()),
                  b = RunBatch(*two, two->examples().TrainExamples());
    EXPECT_EQ(a.sum, b.sum);
    EXPECT_EQ(a.gradient, b.gradient);
  }
}

// Entities of several blocks and stripes: the first and last entity, and those at borders of blocks, are false answers.
TEST(QueryWeightsTest, BlocksOfEntitiesDoNotMatter) {
  KnowledgeGraph graph = Weighted();
  for (int e = 10; e < 1025; ++e) graph.entities.push_back(absl::StrCat("e", e));
  for (const int32_t e : {511, 512, 1023, 1024}) graph.negatives.push_back({e, 0, 1024 - e});
  for (const int32_t e : {511, 512, 1023, 1024}) graph.negatives.push_back({3, 1, e});
  graph.negative_weights.resize(graph.negatives.size(), 0.75);
  for (const KgeLoss loss : kLosses) {
    KgeOptions options = Options(KgeModel::kComplEx, loss);
    options.embedding_dim = 4;
    const auto one = MakeTask(graph, options), two = MakeTask(graph, options, 2);
    const std::vector<int64_t> examples = one->examples().TrainExamples();
    const absl::Status status = CheckGradients(*one, one->InitialParameters(1), BatchOf(*one, examples));
    EXPECT_TRUE(status.ok()) << kKgeLossNames.Name(loss) << ": " << status;
    const Outcome a = RunBatch(*one, examples), b = RunBatch(*two, examples);
    EXPECT_EQ(a.sum, b.sum);
    EXPECT_EQ(a.gradient, b.gradient);
  }
}

TEST(QueryWeightsTest, WeightsOfOneChangeNoBit) {
  for (const KgeModel model : kModels) {
    for (const KgeLoss loss : kLosses) {
      for (const bool grouped : {false, true}) {
        for (const DType precision : {DType::kF64, DType::kF32}) {
          KgeOptions options = Options(model, loss, precision);
          options.label_smoothing = 0.1;
          options.group_queries = grouped;
          if (model != KgeModel::kConvE) options.relation_prediction = 0.5;
          options.regularizer = KgeRegularizer::kF2;
          KnowledgeGraph graph = Ring();
          const auto plain = MakeTask(graph, options);
          graph.train_weights.assign(graph.train.size(), 1);
          const auto weighted = MakeTask(graph, options);
          const std::vector<int64_t> examples = plain->examples().TrainExamples();
          ASSERT_EQ(weighted->examples().TrainExamples(), examples);
          const Outcome a = RunBatch(*plain, examples), b = RunBatch(*weighted, examples);
          EXPECT_EQ(a.sum, b.sum) << NameOf(options);
          EXPECT_EQ(a.count, b.count);
          EXPECT_EQ(a.gradient, b.gradient) << NameOf(options);
        }
      }
    }
  }
}

// In one batch, without dropout and batch norms, which see examples and not triples.
TEST(QueryWeightsTest, AWeightOfTwoIsATripleThatIsThereTwice) {
  for (const KgeModel model : kModels) {
    if (model == KgeModel::kConvE) continue;
    for (const KgeLoss loss : {KgeLoss::kOneOfN, KgeLoss::kOneVsAll}) {
      for (const bool grouped : {false, true}) {
        if (grouped && loss != KgeLoss::kOneVsAll) continue;
        KgeOptions options = Options(model, loss);
        options.relation_prediction = 0.5;
        options.regularizer = KgeRegularizer::kN3;
        const auto once = MakeTask(Ring(), options);  // its examples are single triples
        KnowledgeGraph graph = Ring();
        graph.train_weights.assign(graph.train.size(), 1);
        graph.train_weights[2] = graph.train_weights[10] = 2;
        options.group_queries = grouped;
        const auto weighted = MakeTask(graph, options);
        std::vector<int64_t> examples = once->examples().TrainExamples();
        const auto n = static_cast<int64_t>(graph.train.size());
        for (const int64_t i : {int64_t{2}, int64_t{10}, n + 2, n + 10}) examples.push_back(i);
        const Outcome twice = RunBatch(*once, examples);
        const Outcome two = RunBatch(*weighted, weighted->examples().TrainExamples());
        EXPECT_EQ(two.count, twice.count);
        EXPECT_NEAR(two.sum, twice.sum, 1e-12 * twice.sum);
        ExpectNear(two.gradient, twice.gradient, 1e-12);
      }
    }
  }
}

TEST(QueryWeightsTest, AWeightOfZeroIsATripleThatIsNotThere) {
  for (const KgeLoss loss : {KgeLoss::kOneOfN, KgeLoss::kOneVsAll}) {
    for (const bool grouped : {false, true}) {
      if (grouped && loss != KgeLoss::kOneVsAll) continue;
      KgeOptions options = Options(KgeModel::kComplEx, loss);
      options.group_queries = grouped;
      KnowledgeGraph graph = Ring(), fewer = Ring();
      graph.train_weights.assign(graph.train.size(), 1);
      for (const size_t i : {11, 5}) {  // one of several tails, and the only one
        graph.train_weights[i] = 0;
        fewer.train.erase(fewer.train.begin() + i);
      }
      const auto weighted = MakeTask(graph, options), without = MakeTask(fewer, options);
      const Outcome a = RunBatch(*weighted, weighted->examples().TrainExamples());
      const Outcome b = RunBatch(*without, without->examples().TrainExamples());
      EXPECT_EQ(a.count, b.count);
      EXPECT_NEAR(a.sum, b.sum, 1e-12 * b.sum);
      ExpectNear(a.gradient, b.gradient, 1e-12);
      for (const int64_t i : weighted->examples().TrainExamples()) EXPECT_LT(i, weighted->examples().num_train());
      EXPECT_EQ(weighted->examples().TrainExamples().size(), without->examples().TrainExamples().size());
    }
  }
}

// 1-N: a key without weight is left out of training, and counts for nothing where it is asked of, as in a validation.
TEST(QueryWeightsTest, AKeyWithoutWeightCountsForNothing) {
  KnowledgeGraph graph = Ring();
  graph.train_weights.assign(graph.train.size(), 1);
  graph.train_weights[5] = 0;  // the only tail of its key, and of the key of its inverse
  const auto task = MakeTask(graph, Options(KgeModel::kComplEx, KgeLoss::kOneToN));
  std::vector<int64_t> all(task->examples().num_train());
  std::iota(all.begin(), all.end(), int64_t{0});
  const std::vector<int64_t> learned = task->examples().TrainExamples();
  ASSERT_EQ(learned.size() + 2, all.size());
  const Outcome whole = RunBatch(*task, all), left = RunBatch(*task, learned);
  EXPECT_EQ(whole.count, left.count);
  EXPECT_NEAR(whole.sum, left.sum, 1e-13 * left.sum);
  ExpectNear(whole.gradient, left.gradient, 1e-12);
}

// Under --overfit_batches what trains validates, known-false triples, too: they have a loss, and no rank as an answer.
TEST(QueryWeightsTest, FalseTriplesAreNotRanked) {
  for (const KgeLoss loss : kLosses) {
    const auto task = MakeTask(Weighted(), Options(KgeModel::kComplEx, loss));
    const Tensor parameters = task->InitialParameters(1);
    std::vector<int64_t> examples = task->examples().TrainExamples(), true_ones;
    for (const int64_t i : examples) {
      if (!task->examples().IsFalse(i)) true_ones.push_back(i);
    }
    ASSERT_LT(true_ones.size(), examples.size());
    const NamedTensors batch = BatchOf(*task, examples, /*training=*/false);
    const NamedTensors without = BatchOf(*task, true_ones, /*training=*/false);
    TermSums sums(1), of_true(1), eager(1);
    std::vector<double> metrics(task->num_metric_sums()), metrics_of_true(metrics), eager_metrics(metrics);
    ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metrics)).ok());
    ASSERT_TRUE(task->Evaluate(parameters, without, &of_true, absl::MakeSpan(metrics_of_true)).ok());
    EXPECT_EQ(metrics, metrics_of_true);
    EXPECT_GT(sums.count[0], of_true.count[0]);
    ASSERT_TRUE(EagerEvaluation(*task, parameters, "cpu").Add(batch, &eager, absl::MakeSpan(eager_metrics)).ok());
    EXPECT_EQ(eager_metrics, metrics);
    EXPECT_EQ(eager.count, sums.count);
  }
}

// KvsAll, whose labels are normalized: equal weights of a key leave its loss as it is and weigh it among others.
TEST(QueryWeightsTest, EqualWeightsOfAKeyWeighTheKey) {
  const KgeOptions options = Options(KgeModel::kDistMult, KgeLoss::kKvsAll);
  KnowledgeGraph graph = Ring();
  const auto plain = MakeTask(graph, options);
  graph.train_weights.assign(graph.train.size(), 0.25);
  const auto weighted = MakeTask(graph, options);
  const Outcome a = RunBatch(*plain, plain->examples().TrainExamples());
  const Outcome b = RunBatch(*weighted, weighted->examples().TrainExamples());
  EXPECT_EQ(b.count, 0.25 * a.count);
  EXPECT_NEAR(b.sum, 0.25 * a.sum, 1e-14 * a.sum);
  for (size_t k = 0; k < a.gradient.size(); ++k) EXPECT_NEAR(b.gradient[k], 0.25 * a.gradient[k], 1e-14);
}

// The loss of false triples alone, in plain loops.
TEST(QueryWeightsTest, FalseTriplesHaveTheLossThatIsDocumented) {
  for (const KgeLoss loss : kLosses) {
    for (const double factor : {1.0, 3.0}) {
      KgeOptions options = Options(KgeModel::kDistMult, loss);
      options.negative_weight = factor;
      options.label_smoothing = 0.1;
      const KnowledgeGraph graph = Weighted();
      const auto task = MakeTask(graph, options);
      const KgeExamples& examples = task->examples();
      const int64_t first = examples.num_train() - 2 * static_cast<int64_t>(graph.negatives.size());
      std::vector<int64_t> of_false;
      double expected = 0, count = 0;
      const std::vector<double> p = task->InitialParameters(1).ToDoubles();
      const KgeShape::Offsets at = task->shape().offsets();
      for (int64_t i = first; i < examples.num_train(); ++i) {
        ASSERT_TRUE(examples.IsFalse(i));
        of_false.push_back(i);
        const KgeExamples::Query query = examples.At(i);
        const size_t row = (i - first) % graph.negatives.size();
        const Triple& triple = graph.negatives[row];
        const bool inverse = i - first >= static_cast<int64_t>(graph.negatives.size());
        EXPECT_EQ(query.head, inverse ? triple.tail : triple.head);
        EXPECT_EQ(query.relation, triple.relation + (inverse ? 2 : 0));
        EXPECT_EQ(query.tail, inverse ? triple.head : triple.tail);
        std::vector<double> scores;
        double sum = 0;
        for (int64_t e = 0; e < 10; ++e) {
          double score = at.entity_bias < 0 ? 0 : p[at.entity_bias + e];
          for (int64_t k = 0; k < 12; ++k) {
            score += p[at.entity + query.head * 12 + k] * p[at.relation + query.relation * 12 + k] *
                     p[at.entity + e * 12 + k];
          }
          scores.push_back(score);
          sum += std::exp(score);
        }
        const double of_tail = scores[query.tail];
        const bool softmax = loss == KgeLoss::kOneVsAll || loss == KgeLoss::kKvsAll;
        const double weight = factor * graph.negative_weights[row];
        count += weight;
        expected += weight * (softmax ? -std::log(1 - std::exp(of_tail) / sum) : std::log1p(std::exp(of_tail)) / 10);
      }
      const Outcome outcome = RunBatch(*task, of_false);
      EXPECT_NEAR(outcome.sum, expected, 1e-12 * expected) << NameOf(options);
      EXPECT_NEAR(outcome.count, count, 1e-12);
    }
  }
}

TEST(QueryWeightsTest, FalseTriplesThatAreSurelyTakenForTrueHaveFiniteLosses) {
  KnowledgeGraph graph = Ring();
  graph.negatives = {{0, 0, 2}};
  KgeOptions options = Options(KgeModel::kDistMult, KgeLoss::kOneVsAll);
  options.init = {EmbeddingInitKind::kUniform, 5};  // scores of hundreds
  const auto task = MakeTask(graph, options);
  const Outcome outcome = RunBatch(*task, task->examples().TrainExamples());
  EXPECT_TRUE(std::isfinite(outcome.sum));
  for (const double g : outcome.gradient) ASSERT_TRUE(std::isfinite(g));
  const NamedTensors batch = BatchOf(*task, task->examples().TrainExamples());
  const absl::Status status = CheckGradients(*task, task->InitialParameters(1), batch);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(QueryWeightsTest, ANegativeWeightOfZeroLeavesFalseTriplesOut) {
  KgeOptions options = Options(KgeModel::kDistMult, KgeLoss::kOneVsAll);
  options.negative_weight = 0;
  const auto task = MakeTask(Weighted(), options);
  for (const int64_t i : task->examples().TrainExamples()) EXPECT_FALSE(task->examples().IsFalse(i));
}

TEST(QueryWeightsTest, SubsetsKeepWeightsAndFalseTriples) {
  for (const KgeLoss loss : kLosses) {
    const auto task = MakeTask(Weighted(), Options(KgeModel::kDistMult, loss));
    std::vector<uint8_t> kept(Weighted().train.size(), 1);
    kept[10] = 0;  // a second tail of the key of triple 0, whose weight is 0; a third one stays
    kept[4] = 0;   // the only tail
    const std::vector<uint8_t> left_out = task->LearnFrom(kept);
    int64_t num_false = 0;
    for (const int64_t i : task->examples().TrainExamples()) {
      num_false += task->examples().IsFalse(i) ? 1 : 0;
      EXPECT_FALSE(task->examples().IsFalse(i) && left_out[i] != 0);
      EXPECT_FALSE(left_out[i] == 0 && RunBatch(*task, {i, i}).count == 0) << i;
    }
    EXPECT_EQ(num_false, 6);
  }
}

// Validation losses have weights; ranks do not.
TEST(QueryWeightsTest, ValidationIsWeighted) {
  for (const KgeLoss loss : kLosses) {
    for (const bool grouped : {false, true}) {
      KgeOptions options = Options(KgeModel::kComplEx, loss);
      options.group_queries = grouped;
      const auto task = MakeTask(Weighted(), options);
      const Tensor parameters = task->InitialParameters(1);
      const NamedTensors batch = BatchOf(*task, task->examples().ValidExamples(), /*training=*/false);
      TermSums own(1), eager(1);
      std::vector<double> own_metrics(task->num_metric_sums()), eager_metrics(own_metrics);
      ASSERT_TRUE(task->Evaluate(parameters, batch, &own, absl::MakeSpan(own_metrics)).ok());
      const bool of_triples = loss == KgeLoss::kOneVsAll || loss == KgeLoss::kOneOfN;
      EXPECT_EQ(own.count[0] == 7, of_triples);  // 0.5 and 3, and their inverses
      double expected = 0;
      for (const double count : task->ExampleCounts(batch)) expected += count;
      EXPECT_EQ(own.count[0], expected);
      EXPECT_EQ(own_metrics[5], 4);
      ASSERT_TRUE(EagerEvaluation(*task, parameters, "cpu").Add(batch, &eager, absl::MakeSpan(eager_metrics)).ok());
      EXPECT_NEAR(eager.sum[0], own.sum[0], 1e-12 * own.sum[0]);
      EXPECT_EQ(eager.count, own.count);
      const auto plain = MakeTask(Ring(), options);
      TermSums sums(1);
      std::vector<double> metrics(own_metrics.size());
      ASSERT_TRUE(plain
                      ->Evaluate(parameters, BatchOf(*plain, plain->examples().ValidExamples(), false), &sums,
                                 absl::MakeSpan(metrics))
                      .ok());
      EXPECT_EQ(metrics, own_metrics);
    }
  }
}

TEST(QueryWeightsTest, KernelsOfGpusRefuseThem) {
  const MakeKgeDevice device = [](const KgeStepShape&, bool) -> absl::StatusOr<KgeDevice> {
    return absl::InternalError("must not be asked");
  };
  const auto task = KgeTask::Create(std::make_shared<KnowledgeGraph>(Weighted()), nullptr,
                                    Options(KgeModel::kDistMult, KgeLoss::kOneVsAll), 1, FactorRounding::kNone, device);
  EXPECT_THAT(task.status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"--weight_column", "--negatives"}));
}

TEST(QueryWeightsTest, ResumedRunsMustHaveTheSame) {
  const KgeOptions options = Options(KgeModel::kDistMult, KgeLoss::kOneVsAll);
  KnowledgeGraph graph = Weighted();
  const auto config = MakeTask(graph, options)->ResumeConfig();
  graph.negative_weights[1] = 7;
  const auto other = MakeTask(graph, options)->ResumeConfig();
  EXPECT_EQ(config.at("triples_sha256"), other.at("triples_sha256"));
  EXPECT_NE(config.at("weights_sha256"), other.at("weights_sha256"));
  EXPECT_EQ(MakeTask(Ring(), options)->ResumeConfig().count("weights_sha256"), 0);
}

}  // namespace
}  // namespace rutile
