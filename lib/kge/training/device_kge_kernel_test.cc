// The kernels of GPUs, on the host, against ConveKernel.

#include "lib/kge/training/device_kge_kernel.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/kge/gpu/kge_step.h"
#include "lib/kge/gpu/kge_step_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/training/conve_kernel.h"
#include "lib/tensorfile/tensor_of_doubles.h"

namespace rutile {
namespace {

constexpr int64_t kEntities = 23, kRelations = 4;

// Queries with a head, relations and tails that repeat.
struct Example {
  std::vector<int32_t> head = {3, 7, 3, 0, 22, 7}, relation = {0, 1, 0, 3, 1, 1};
  std::vector<int64_t> example = {4, 9, 5, 11, 0, 2}, offset = {0, 1, 4, 5, 7, 8, 9};
  std::vector<int32_t> positive = {7, 1, 5, 22, 0, 3, 6, 22, 7};

  KgeBatch Batch(bool training) const {
    KgeBatch batch;
    batch.head = head;
    batch.relation = relation;
    batch.example = example;
    batch.positive_offset = offset;
    batch.positive = positive;
    batch.epoch = 2;
    batch.number = 5;
    batch.training = training;
    return batch;
  }
};

KgeOptions Options(KgeModel model, KgeLoss loss, DType precision) {
  KgeOptions options;
  options.model = model;
  options.loss = loss;
  options.precision = precision;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 3;
  options.kernel_height = 2;
  options.kernel_width = 3;
  options.init = {EmbeddingInitKind::kNormal, 0.5};
  options.seed = 7;
  return options;
}

// On the host, and on a GPU where there is one.
std::vector<std::unique_ptr<KgeStep>> Steps(const KgeShape& shape) {
  const bool fp64 = shape.options.precision == DType::kF64;
  std::vector<std::unique_ptr<KgeStep>> steps;
  steps.push_back(MakeHostKgeStep(MakeStepShape(shape), fp64));
  std::string error;
  std::unique_ptr<KgeStep> on_gpu = MakeCudaKgeStep(MakeStepShape(shape), fp64, /*device=*/0, &error);
  if (on_gpu != nullptr) steps.push_back(std::move(on_gpu));
  return steps;
}

void ExpectNear(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what) {
  const std::vector<double> a = actual.ToDoubles(), e = expected.ToDoubles();
  ASSERT_EQ(a.size(), e.size());
  double largest = 0;
  for (const double value : e) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < e.size(); ++i) {
    ASSERT_NEAR(a[i], e[i], tolerance * largest) << what << " " << i;
  }
}

void ExpectSameStatistics(const BatchStatistics& actual, const BatchStatistics& expected, double tolerance) {
  const auto compare = [&](const BatchStatistics::Norm& a, const BatchStatistics::Norm& e) {
    ASSERT_EQ(a.mean.size(), e.mean.size());
    ASSERT_EQ(a.variance.size(), e.variance.size());
    for (size_t i = 0; i < e.mean.size(); ++i) {
      EXPECT_NEAR(a.mean[i], e.mean[i], tolerance * (1 + std::abs(e.mean[i])));
      EXPECT_NEAR(a.variance[i], e.variance[i], tolerance * (1 + std::abs(e.variance[i])));
    }
  };
  compare(actual.bn0, expected.bn0);
  compare(actual.bn1, expected.bn1);
  compare(actual.bn2, expected.bn2);
}

void CompareWith(std::unique_ptr<KgeStep> step, const KgeShape& shape, const std::string& what) {
  const KgeOptions& options = shape.options;
  const Tensor parameters = TensorOfDoubles(options.precision, InitialKgeParameters(shape, /*seed=*/3));
  const double tolerance = options.precision == DType::kF64 ? 1e-10 : 1e-4;
  const Example example;
  const KgeBatch batch = example.Batch(/*training=*/true);
  ConveKernel kernel(shape);
  DeviceKgeKernel device(shape, std::move(step));

  Tensor expected = Tensor::Zeros(options.precision, {parameters.num_elements()});
  double loss = 0;
  BatchStatistics statistics;
  ASSERT_EQ(kernel.AccumulateGradients(parameters, batch, &expected, &loss, &statistics), absl::OkStatus());
  Tensor resident = TensorOfDoubles(options.precision, parameters.ToDoubles());
  ASSERT_EQ(device.parameters()->Begin(resident.mutable_data()), "");
  ASSERT_EQ(device.Add(batch, /*overwrite=*/true), absl::OkStatus());
  double found = 0;
  std::vector<BatchStatistics> seen;
  ASSERT_EQ(device.Fetch(&found, &seen), absl::OkStatus());
  EXPECT_NEAR(found, loss, tolerance * std::abs(loss)) << what;
  ASSERT_EQ(seen.size(), 1u);
  ExpectSameStatistics(seen[0], statistics, tolerance);
  Tensor gradient = Tensor::Zeros(options.precision, {parameters.num_elements()});
  ASSERT_EQ(device.parameters()->FetchGradient(gradient.mutable_data()), "");
  ExpectNear(gradient, expected, tolerance, what);
  Tensor apart = Tensor::Zeros(options.precision, {parameters.num_elements()});
  ASSERT_EQ(device.Gradient(parameters, batch, &apart), absl::OkStatus());
  ExpectNear(apart, gradient, 0, what);
  ASSERT_EQ(device.Fetch(&found, &seen), absl::OkStatus());
  found -= loss;
  EXPECT_NEAR(found, loss, tolerance * std::abs(loss)) << what;

  // Two more batches, which are added to that.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(kernel.AccumulateGradients(parameters, batch, &expected, &loss, &statistics), absl::OkStatus());
    ASSERT_EQ(device.Add(batch, /*overwrite=*/false), absl::OkStatus());
  }
  seen.clear();
  ASSERT_EQ(device.Fetch(&found, &seen), absl::OkStatus());
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_NEAR(found, loss, tolerance * std::abs(loss)) << what;
  ASSERT_EQ(device.parameters()->FetchGradient(gradient.mutable_data()), "");
  ExpectNear(gradient, expected, tolerance, what);

  // Evaluation, at other parameters.
  const Tensor others = TensorOfDoubles(options.precision, InitialKgeParameters(shape, /*seed=*/4));
  loss = found = 0;
  ASSERT_EQ(kernel.AccumulateGradients(others, example.Batch(false), nullptr, &loss, nullptr), absl::OkStatus());
  ASSERT_EQ(device.SetEvaluated(others), absl::OkStatus());
  ASSERT_EQ(device.Evaluate(example.Batch(false)), absl::OkStatus());
  Tensor hidden = Tensor::Zeros(options.precision, {6, shape.dim()}),
         same = Tensor::Zeros(options.precision, {6, shape.dim()});
  kernel.Hidden(others, example.head, example.relation, &hidden);
  ASSERT_EQ(device.Hidden(example.head, example.relation, &same), absl::OkStatus());
  ExpectNear(same, hidden, tolerance, what);
  ASSERT_EQ(device.Fetch(&found, &seen), absl::OkStatus());
  EXPECT_NEAR(found, loss, tolerance * std::abs(loss)) << what;
}

void Compare(const KgeOptions& options, const std::string& what) {
  ASSERT_EQ(CheckKgeOptions(options), absl::OkStatus()) << what;
  const KgeShape shape = {options, kEntities, kRelations};
  for (std::unique_ptr<KgeStep>& step : Steps(shape)) CompareWith(std::move(step), shape, what);
}

TEST(DeviceKgeKernelTest, EqualsTheKernelOfProcessors) {
  for (const DType precision : {DType::kF64, DType::kF32}) {
    for (const KgeModel model : {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx}) {
      for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
        Compare(Options(model, loss, precision), absl::StrCat(static_cast<int>(model), " ", static_cast<int>(loss)));
      }
    }
  }
}

TEST(DeviceKgeKernelTest, EqualsItForEachVariantOfConvE) {
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
    KgeOptions options = Options(KgeModel::kConvE, KgeLoss::kKvsAll, DType::kF64);
    options.variant = variant;
    Compare(options, absl::StrCat("variant ", static_cast<int>(variant)));
  }
}

TEST(DeviceKgeKernelTest, EqualsItWithEachRegularizer) {
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx}) {
    for (const KgeRegularizer regularizer :
         {KgeRegularizer::kN3, KgeRegularizer::kF2, KgeRegularizer::kL3, KgeRegularizer::kDura}) {
      KgeOptions options = Options(model, KgeLoss::kOneVsAll, DType::kF64);
      options.regularizer = regularizer;
      options.group_queries = true;
      Compare(options, absl::StrCat("regularizer ", static_cast<int>(regularizer)));
      options.relation_prediction = 0.7;
      options.input_dropout = 0;
      options.entity_dropout = 0.3;
      options.relation_dropout = 0.2;
      options.candidate_dropout = 0.4;
      Compare(options, absl::StrCat("all with regularizer ", static_cast<int>(regularizer)));
    }
  }
  KgeOptions options = Options(KgeModel::kConvE, KgeLoss::kOneToN, DType::kF64);
  options.regularizer = KgeRegularizer::kL3;
  Compare(options, "ConvE, l3");
}

// Two TF32 numbers for each factor keep nearly all of fp32, and bfloat16 8 bits.
TEST(DeviceKgeKernelTest, RoundsFactorsInTraining) {
  for (const KgeModel model : {KgeModel::kConvE, KgeModel::kComplEx}) {
    const KgeOptions options = Options(model, KgeLoss::kKvsAll, DType::kF32);
    const KgeShape shape = {options, kEntities, kRelations};
    const Tensor parameters = TensorOfDoubles(options.precision, InitialKgeParameters(shape, /*seed=*/3));
    const Example example;
    const auto gradient_of = [&](FactorRounding factors, Tensor* hidden) {
      std::string error;
      std::unique_ptr<KgeStep> step = MakeCudaKgeStep(MakeStepShape(shape, factors), /*fp64=*/false, 0, &error);
      if (step == nullptr) step = MakeHostKgeStep(MakeStepShape(shape, factors), /*fp64=*/false);
      DeviceKgeKernel device(shape, std::move(step));
      Tensor gradient = Tensor::Zeros(options.precision, {parameters.num_elements()});
      EXPECT_EQ(device.Gradient(parameters, example.Batch(true), &gradient), absl::OkStatus());
      *hidden = Tensor::Zeros(options.precision, {6, shape.dim()});
      EXPECT_EQ(device.Hidden(example.head, example.relation, hidden), absl::OkStatus());
      return gradient;
    };
    Tensor hidden, same;
    const Tensor exact = gradient_of(FactorRounding::kNone, &hidden);
    const Tensor split = gradient_of(FactorRounding::kTwoParts, &same);
    ExpectNear(split, exact, 2e-5, "split");
    EXPECT_NE(split.ToDoubles(), exact.ToDoubles());
    ExpectNear(same, hidden, 0, "evaluation is exact");
    const Tensor rounded = gradient_of(FactorRounding::kBf16, &same);
    ExpectNear(rounded, exact, 0.1, "bf16");
    EXPECT_NE(rounded.ToDoubles(), split.ToDoubles());
    ExpectNear(same, hidden, 0, "evaluation is exact");
  }
}

TEST(DeviceKgeKernelTest, AnEmptyBatchOverwritesWithZeros) {
  const KgeOptions options = Options(KgeModel::kComplEx, KgeLoss::kOneVsAll, DType::kF64);
  const KgeShape shape = {options, kEntities, kRelations};
  DeviceKgeKernel device(shape, std::move(Steps(shape).back()));
  const Tensor parameters = TensorOfDoubles(options.precision, InitialKgeParameters(shape, 3));
  Tensor resident = TensorOfDoubles(options.precision, parameters.ToDoubles());
  ASSERT_EQ(device.parameters()->Begin(resident.mutable_data()), "");
  const std::vector<int64_t> offset = {0};
  KgeBatch batch;
  batch.positive_offset = offset;
  ASSERT_EQ(device.Add(batch, /*overwrite=*/true), absl::OkStatus());
  double loss = 0;
  std::vector<BatchStatistics> seen;
  ASSERT_EQ(device.Fetch(&loss, &seen), absl::OkStatus());
  EXPECT_EQ(loss, 0);
  Tensor gradient = Tensor::Zeros(options.precision, {parameters.num_elements()});
  ASSERT_EQ(device.parameters()->FetchGradient(gradient.mutable_data()), "");
  for (const double value : gradient.ToDoubles()) ASSERT_EQ(value, 0);
}

TEST(DeviceKgeKernelTest, ManyBatchesBetweenTwoFetchesKeepTheirResults) {
  const KgeOptions options = Options(KgeModel::kConvE, KgeLoss::kOneToN, DType::kF64);
  const KgeShape shape = {options, kEntities, kRelations};
  DeviceKgeKernel device(shape, std::move(Steps(shape).back()));
  const Tensor parameters = TensorOfDoubles(options.precision, InitialKgeParameters(shape, 3));
  Tensor resident = TensorOfDoubles(options.precision, parameters.ToDoubles());
  ASSERT_EQ(device.parameters()->Begin(resident.mutable_data()), "");
  const Example example;
  double one = 0, all = 0;
  std::vector<BatchStatistics> seen;
  ASSERT_EQ(device.Add(example.Batch(true), true), absl::OkStatus());
  ASSERT_EQ(device.Fetch(&one, &seen), absl::OkStatus());
  for (int i = 0; i < 40; ++i) ASSERT_EQ(device.Add(example.Batch(true), i == 0), absl::OkStatus());
  ASSERT_EQ(device.Fetch(&all, &seen), absl::OkStatus());
  ASSERT_EQ(seen.size(), 41u);
  EXPECT_NEAR(all, 40 * one, 1e-12 * all);
  for (const BatchStatistics& statistics : seen) ExpectSameStatistics(statistics, seen[0], 0);
}

}  // namespace
}  // namespace rutile
