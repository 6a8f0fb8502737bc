// Compares ConveKernel on batches with negatives with the definition in LibTorch and with the softmax over all
// entities.

#include "lib/kge/training/scores/sampled_scores.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/kge/training/conve_kernel.h"
#include "lib/kge/training/kge_reference.h"
#include "lib/kge/training/sampled_reference.h"
#include "lib/kge/training/sampled_testing.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

struct Outcome {
  double loss = 0;
  std::vector<double> gradient;
};

Outcome FromKernel(const KgeShape& shape, const Tensor& parameters, const KgeBatch& batch, ThreadPool* pool = nullptr,
                   const GradientDelivery& delivery = GradientDelivery::Add()) {
  Outcome outcome;
  Tensor gradient = Tensor::Zeros(parameters.dtype(), parameters.shape());
  ConveKernel kernel(shape, pool);
  EXPECT_TRUE(kernel.AccumulateGradients(parameters, batch, &gradient, &outcome.loss, nullptr, delivery).ok());
  outcome.gradient = gradient.ToDoubles();
  return outcome;
}

Outcome FromReference(const KgeShape& shape, const Tensor& parameters, const KgeBatch& batch) {
  const at::Tensor leaf = ToTorch(parameters).to(at::kDouble).clone().requires_grad_(true);
  const KgeHidden hidden = ReferenceHidden(shape, leaf, batch);
  at::Tensor losses = ReferenceSampledLosses(shape, leaf, batch, hidden.v);
  for (const at::Tensor& added :
       {ReferencePenalties(shape, leaf, batch), ReferenceRelationLosses(shape, leaf, batch)}) {
    if (added.defined()) losses = losses + added;
  }
  const at::Tensor loss = losses.sum();
  return {loss.item<double>(), FromTorch(torch::autograd::grad({loss}, {leaf})[0]).ToDoubles()};
}

// The tolerance is relative to the largest number of the gradient.
void ExpectSame(const Outcome& actual, const Outcome& expected, double tolerance) {
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * (1 + std::abs(expected.loss)));
  ASSERT_EQ(actual.gradient.size(), expected.gradient.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < expected.gradient.size(); ++i) {
    largest = std::max(largest, std::abs(expected.gradient[i]));
    worst = std::max(worst, std::abs(actual.gradient[i] - expected.gradient[i]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(worst, tolerance * largest);
}

double Tolerance(DType precision) { return precision == DType::kF64 ? 1e-12 : 1e-5; }

constexpr KgeModel kModels[] = {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal,
                                KgeModel::kCp,    KgeModel::kSimple,   KgeModel::kTransE,  KgeModel::kRotatE};

TEST(SampledScoresTest, AgreesWithTheReference) {
  for (const DType precision : {DType::kF64, DType::kF32}) {
    for (const KgeModel model : kModels) {
      for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
        SCOPED_TRACE(std::string(kKgeModelNames.Name(model)) + std::string(kKgeLossNames.Name(loss)));
        const KgeShape shape = SampledShape(model, loss, precision);
        const SampledBatch batch(shape, 37, 15, loss == KgeLoss::kKvsAll);
        const Tensor parameters = SampledParameters(shape);
        // The norms of ConvE amplify rounding.
        const double tolerance = (shape.is_conve() ? 30 : 1) * Tolerance(precision);
        ExpectSame(FromKernel(shape, parameters, batch.View()), FromReference(shape, parameters, batch.View()),
                   tolerance);
      }
    }
  }
}

TEST(SampledScoresTest, AgreesWithTheReferenceBesideOtherTerms) {
  for (const KgeRegularizer regularizer : {KgeRegularizer::kN3, KgeRegularizer::kDura}) {
    for (const bool grouped : {false, true}) {
      KgeShape shape = SampledShape(KgeModel::kComplEx, KgeLoss::kOneVsAll, DType::kF64);
      shape.options.regularizer = regularizer;
      shape.options.relation_prediction = 0.7;
      shape.options.group_queries = grouped;
      SampledBatch batch(shape, 30, 9, grouped);
      const Tensor parameters = SampledParameters(shape);
      ExpectSame(FromKernel(shape, parameters, batch.View()), FromReference(shape, parameters, batch.View()), 1e-12);
      batch.AddWeights();
      ExpectSame(FromKernel(shape, parameters, batch.View()), FromReference(shape, parameters, batch.View()), 1e-12);
      for (int64_t q = 0; q < 30; ++q) batch.is_false[q] = batch.offset[q + 1] - batch.offset[q] == 1 && q % 3 == 0;
      ExpectSame(FromKernel(shape, parameters, batch.View()), FromReference(shape, parameters, batch.View()), 1e-12);
    }
  }
}

// As many negatives as entities make it the softmax over all of them.
TEST(SampledScoresTest, AllEntitiesGiveTheFullSoftmax) {
  for (const DType precision : {DType::kF64, DType::kF32}) {
    for (const KgeModel model : kModels) {
      for (const KgeLoss loss : {KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
        SCOPED_TRACE(std::string(kKgeModelNames.Name(model)) + std::string(kKgeLossNames.Name(loss)));
        const KgeShape shape = SampledShape(model, loss, precision);
        SampledBatch batch(shape, 21, shape.num_entities, loss == KgeLoss::kKvsAll);
        if (model == KgeModel::kDistMult) batch.AddWeights();
        KgeBatch full = batch.View();
        full.negative = {};
        full.negative_log_weight = {};
        const Tensor parameters = SampledParameters(shape);
        const double tolerance = (shape.is_conve() ? 30 : 1) * Tolerance(precision);
        ExpectSame(FromKernel(shape, parameters, batch.View()), FromKernel(shape, parameters, full), tolerance);
      }
    }
  }
}

// In plain loops: DistMult with one query, whose scores are products of three numbers.
TEST(SampledScoresTest, EqualsItsDefinition) {
  KgeShape shape = SampledShape(KgeModel::kDistMult, KgeLoss::kOneVsAll, DType::kF64);
  shape.options.embedding_dim = 1;
  shape.options.input_dropout = 0;
  shape.num_entities = 5;
  shape.num_relations = 1;
  const std::vector<double> entities = {0.5, -1, 2, 0.25, 1.5};
  std::vector<double> values = entities;
  values.push_back(2);  // the relation
  SampledBatch batch(shape, 1, 3, false);
  batch.head = {0};
  batch.relation = {0};
  batch.positive = {2};
  batch.negative = {1, 2, 4};
  batch.log_weight = {std::log(5.0 / 3), std::log(5.0 / 3), std::log(5.0 / 3)};
  // v = 0.5 * 2 = 1, so that scores are the entities' numbers. The true tail is drawn, and counts once.
  const double w = 5.0 / 3, z = std::exp(2.0) + w * std::exp(-1.0) + w * std::exp(1.5);
  const Outcome outcome = FromKernel(shape, Tensor::Of(values), batch.View());
  EXPECT_NEAR(outcome.loss, std::log(z) - 2, 1e-14);
  const double p1 = w * std::exp(-1.0) / z, p2 = std::exp(2.0) / z, p4 = w * std::exp(1.5) / z;
  const double d_v = -1 * p1 + 2 * (p2 - 1) + 1.5 * p4;
  const std::vector<double> expected = {2 * d_v, p1, p2 - 1, 0, p4, 0.5 * d_v};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(outcome.gradient[i], expected[i], 1e-14) << i;
}

// Over all sets of negatives, which are as likely, the mean of Z is the sum over all entities.
TEST(SampledScoresTest, MeanOfTheSumIsThatOfAllEntities) {
  KgeShape shape = SampledShape(KgeModel::kComplEx, KgeLoss::kOneVsAll, DType::kF64);
  shape.options.input_dropout = 0;
  shape.num_entities = 6;
  const Tensor parameters = SampledParameters(shape);
  SampledBatch batch(shape, 1, 2, false);
  batch.head = {0};
  batch.positive = {3};
  const auto loss = [&](const KgeBatch& view) { return FromKernel(shape, parameters, view).loss; };
  double mean = 0;
  for (int32_t i = 0; i < 6; ++i) {
    for (int32_t j = i + 1; j < 6; ++j) {
      batch.negative = {i, j};
      mean += std::exp(loss(batch.View())) / 15;  // Z / e^x of the tail
    }
  }
  KgeBatch full = batch.View();
  full.negative = {};
  full.negative_log_weight = {};
  EXPECT_NEAR(mean, std::exp(loss(full)), 1e-13 * mean);
}

TEST(SampledScoresTest, ThreadsDoNotChangeABit) {
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kConvE, KgeModel::kRotatE}) {
    const KgeShape shape = SampledShape(model, KgeLoss::kKvsAll, DType::kF32);
    const SampledBatch batch(shape, 70, 33, true);
    const Tensor parameters = SampledParameters(shape);
    ThreadPool one(1), two(2);
    const Outcome a = FromKernel(shape, parameters, batch.View(), &one);
    const Outcome b = FromKernel(shape, parameters, batch.View(), &two);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.gradient, b.gradient);
    EXPECT_EQ(FromKernel(shape, parameters, batch.View(), nullptr).gradient, a.gradient);
  }
}

TEST(SampledScoresTest, OverwritesWhatTheGradientHeld) {
  const KgeShape shape = SampledShape(KgeModel::kCp, KgeLoss::kOneVsAll, DType::kF64);
  const SampledBatch batch(shape, 5, 7, false);
  const Tensor parameters = SampledParameters(shape);
  Tensor gradient = Tensor::Zeros(DType::kF64, parameters.shape());
  for (double& value : gradient.mutable_values<double>()) value = std::nan("");
  double loss = 0;
  ConveKernel kernel(shape);
  ASSERT_TRUE(
      kernel.AccumulateGradients(parameters, batch.View(), &gradient, &loss, nullptr, GradientDelivery::Overwrite())
          .ok());
  EXPECT_EQ(gradient.ToDoubles(), FromKernel(shape, parameters, batch.View()).gradient);
}

}  // namespace
}  // namespace rutile
