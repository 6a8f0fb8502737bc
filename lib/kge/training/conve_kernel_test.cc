// Compares ConveKernel with the reference in LibTorch for every variant, model and loss, and with golden values.

#include "lib/kge/training/conve_kernel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/kge_reference.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

struct Outcome {
  double loss = 0;
  Tensor gradient;
  BatchStatistics statistics;
};

Tensor ParametersOf(const KgeShape& shape) {
  Tensor flat = Tensor::Of(InitialKgeParameters(shape, 3));
  RandomStream stream(5, "noise");
  std::vector<double> values = flat.ToDoubles();
  for (double& value : values) value += 0.1 * stream.Uniform();
  if (shape.options.precision == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

Outcome FromKernel(const KgeShape& shape, const Tensor& parameters, const KgeBatch& batch, ThreadPool* pool = nullptr) {
  Outcome outcome;
  outcome.gradient = Tensor::Zeros(parameters.dtype(), parameters.shape());
  ConveKernel kernel(shape, pool);
  EXPECT_TRUE(
      kernel.AccumulateGradients(parameters, batch, &outcome.gradient, &outcome.loss, &outcome.statistics).ok());
  return outcome;
}

// Computes the outcome in fp64, whatever the precision of the shape.
Outcome FromReference(const KgeShape& shape, const Tensor& parameters, const KgeBatch& batch) {
  const at::Tensor leaf = ToTorch(parameters).to(at::kDouble).clone().requires_grad_(true);
  const KgeHidden hidden = ReferenceHidden(shape, leaf, batch);
  const at::Tensor loss = ReferenceLosses(shape, ReferenceScores(shape, leaf, batch, hidden.v), batch).sum();
  Outcome outcome;
  outcome.loss = loss.item<double>();
  outcome.gradient = FromTorch(torch::autograd::grad({loss}, {leaf})[0]);
  outcome.statistics = hidden.statistics.Fetch();
  return outcome;
}

void ExpectSame(const BatchStatistics::Norm& actual, const BatchStatistics::Norm& expected, double tolerance) {
  ASSERT_EQ(actual.mean.size(), expected.mean.size());
  for (size_t c = 0; c < actual.mean.size(); ++c) {
    EXPECT_NEAR(actual.mean[c], expected.mean[c], tolerance);
    EXPECT_NEAR(actual.variance[c], expected.variance[c], tolerance * (1 + expected.variance[c]));
  }
}

// The tolerance is relative to the largest number of each slice, or of all slices if that is 0 up to rounding (since a
// norm follows).
void ExpectSame(const KgeShape& shape, const Outcome& actual, const Outcome& expected, double tolerance) {
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * (1 + std::abs(expected.loss)));
  const std::vector<double> a = actual.gradient.ToDoubles(), e = expected.gradient.ToDoubles();
  ASSERT_EQ(a.size(), e.size());
  double largest = 0;
  for (const double value : e) largest = std::max(largest, std::abs(value));
  for (const ParameterSlice& slice : shape.Slices()) {
    int64_t size = 1;
    for (const int64_t n : slice.shape) size *= n;
    double scale = 1e-2 * largest, worst = 0;
    for (int64_t i = slice.offset; i < slice.offset + size; ++i) {
      scale = std::max(scale, std::abs(e[i]));
      worst = std::max(worst, std::abs(a[i] - e[i]));
    }
    EXPECT_LE(worst, tolerance * scale) << slice.name;
  }
  ExpectSame(actual.statistics.bn0, expected.statistics.bn0, tolerance);
  ExpectSame(actual.statistics.bn1, expected.statistics.bn1, tolerance);
  ExpectSame(actual.statistics.bn2, expected.statistics.bn2, tolerance);
}

KgeShape SmallShape(ConveVariant variant, KgeModel model, DType precision) {
  KgeShape shape;
  KgeOptions& options = shape.options;
  options.model = model;
  options.variant = variant;
  options.embedding_dim = 20;
  options.embedding_height = 5;
  options.embedding_width = 4;
  options.output_channels = 11;
  options.kernel_height = 3;
  options.kernel_width = 2;
  options.relation_embedding_dim = 7;
  options.precision = precision;
  options.seed = 7;
  shape.num_entities = 31;
  shape.num_relations = 6;
  return shape;
}

struct Case {
  KgeModel model;
  ConveVariant variant;
  KgeLoss loss;
  DType precision;
};

std::string NameOf(const Case& c) {
  std::string name = absl::StrCat(kKgeModelNames.Name(c.model), kKgeLossNames.Name(c.loss), DTypeName(c.precision));
  if (c.model == KgeModel::kConvE) absl::StrAppend(&name, kConveVariantNames.Name(c.variant));
  name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
  return name;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const DType precision : {DType::kF64, DType::kF32}) {
    for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
      for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
        cases.push_back({KgeModel::kConvE, variant, loss, precision});
      }
      for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp,
                                   KgeModel::kSimple, KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
        cases.push_back({model, ConveVariant::kDettmers, loss, precision});
      }
    }
  }
  return cases;
}

class ConveKernelTest : public ::testing::TestWithParam<Case> {
 protected:
  ConveKernelTest() : shape_(SmallShape(GetParam().variant, GetParam().model, GetParam().precision)) {
    shape_.options.loss = GetParam().loss;
    tolerance_ = GetParam().precision == DType::kF64 ? 1e-11 : 2e-5;
  }

  KgeShape shape_;
  double tolerance_;
};

TEST_P(ConveKernelTest, AgreesWithTheReference) {
  const Tensor parameters = ParametersOf(shape_);
  for (const int64_t size : {5, 16, 40}) {
    const OwnedKgeBatch batch = RandomKgeBatch(shape_, size, 4, 11);
    for (const bool training : {false, true}) {
      SCOPED_TRACE(absl::StrCat(size, training ? " in training" : " in evaluation"));
      const KgeBatch view = batch.View(training, 3);
      ExpectSame(shape_, FromKernel(shape_, parameters, view), FromReference(shape_, parameters, view), tolerance_);
    }
  }
}

TEST_P(ConveKernelTest, EveryTargetAgrees) {
  const Tensor parameters = ParametersOf(shape_);
  const OwnedKgeBatch batch = RandomKgeBatch(shape_, 19, 4, 12);
  const Outcome expected = FromReference(shape_, parameters, batch.View(true));
  ForEachTarget([&] { ExpectSame(shape_, FromKernel(shape_, parameters, batch.View(true)), expected, tolerance_); });
}

// Gradients are added, a second batch of another size reuses the memory, and a null gradient gives only the loss.
TEST_P(ConveKernelTest, AddsUpOverBatches) {
  const Tensor parameters = ParametersOf(shape_);
  ConveKernel kernel(shape_);
  Tensor gradient = Tensor::Zeros(parameters.dtype(), parameters.shape());
  std::vector<double> expected(parameters.num_elements(), 0);
  double loss = 0, loss_alone = 0, expected_loss = 0;
  for (const int64_t size : {9, 3, 12}) {
    const OwnedKgeBatch batch = RandomKgeBatch(shape_, size, 4, size);
    ASSERT_TRUE(kernel.AccumulateGradients(parameters, batch.View(true), &gradient, &loss, nullptr).ok());
    ASSERT_TRUE(kernel.AccumulateGradients(parameters, batch.View(true), nullptr, &loss_alone, nullptr).ok());
    const Outcome one = FromKernel(shape_, parameters, batch.View(true));
    const std::vector<double> of_one = one.gradient.ToDoubles();
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += of_one[i];
    expected_loss += one.loss;
  }
  EXPECT_NEAR(loss, expected_loss, 1e-9);
  EXPECT_NEAR(loss_alone, expected_loss, 1e-9);
  const std::vector<double> actual = gradient.ToDoubles();
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance_ * largest);
}

TEST_P(ConveKernelTest, HiddenIsWhatTheLossIsOf) {
  const Tensor parameters = ParametersOf(shape_);
  const OwnedKgeBatch batch = RandomKgeBatch(shape_, 300, 1, 4);
  Tensor hidden = Tensor::Zeros(parameters.dtype(), {300, shape_.dim()});
  ConveKernel kernel(shape_);
  kernel.Hidden(parameters, batch.head, batch.relation, &hidden);
  const at::Tensor expected =
      ReferenceHidden(shape_, ToTorch(parameters).to(at::kDouble), batch.View(/*training=*/false)).v;
  EXPECT_LE((ToTorch(hidden).to(at::kDouble) - expected).abs().max().item<double>(),
            tolerance_ * expected.abs().max().item<double>());
  double loss = 0;
  ASSERT_TRUE(kernel.AccumulateGradients(parameters, batch.View(false), nullptr, &loss, nullptr).ok());
  EXPECT_NEAR(loss / FromReference(shape_, parameters, batch.View(false)).loss, 1, 1e-5);
}

// Saves the parts that are finished, and leaves NaN in their place.
class Collector : public GradientObserver {
 public:
  explicit Collector(Tensor* gradient) : gradient_(gradient), finished_(gradient->num_elements(), 0) {}

  void Finish(GradientRange range) override {
    const std::vector<double> values = gradient_->ToDoubles();
    for (int64_t i = range.begin; i < range.end; ++i) {
      finished_[i] += values[i];
      SetValue(i, std::numeric_limits<double>::quiet_NaN());
    }
    told.push_back(range);
  }
  void AddLater(absl::Span<const int64_t> begin, const Tensor& rows) override {
    const std::vector<double> values = rows.ToDoubles();
    for (size_t i = 0; i < values.size(); ++i) finished_[begin[i / rows.dim(1)] + i % rows.dim(1)] += values[i];
  }
  // Restores the saved parts.
  void Restore() {
    const std::vector<double> left = gradient_->ToDoubles();
    for (const GradientRange& range : told) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        EXPECT_TRUE(std::isnan(left[i])) << i << " has changed";
        SetValue(i, finished_[i]);
      }
    }
  }

  std::vector<GradientRange> told;

 private:
  void SetValue(int64_t i, double value) {
    if (gradient_->dtype() == DType::kF64) {
      gradient_->mutable_values<double>()[i] = value;
    } else {
      gradient_->mutable_values<float>()[i] = static_cast<float>(value);
    }
  }

  Tensor* const gradient_;
  std::vector<double> finished_;
};

// Parts that are reported as finished are final, rows of heads are added later, and together they are the gradient.
// With many heads nothing is reported.
TEST_P(ConveKernelTest, TellsWhatIsFinished) {
  const Tensor parameters = ParametersOf(shape_);
  ConveKernel kernel(shape_);
  for (const int64_t size : {3, 0, 2, 16}) {
    SCOPED_TRACE(size);
    const OwnedKgeBatch batch = RandomKgeBatch(shape_, size, 4, size);
    Outcome outcome;
    outcome.gradient = Tensor::Zeros(parameters.dtype(), parameters.shape());
    Collector collector(&outcome.gradient);
    ASSERT_TRUE(kernel
                    .AccumulateGradients(parameters, batch.View(true), &outcome.gradient, &outcome.loss,
                                         &outcome.statistics, GradientDelivery::Add(&collector))
                    .ok());
    std::vector<bool> told(parameters.num_elements(), false);
    for (const GradientRange& range : collector.told) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        EXPECT_FALSE(told[i]) << i;
        told[i] = true;
      }
    }
    for (const GradientRange& range : ConveKernel::Early(shape_)) {
      for (int64_t i = range.begin; i < range.end; ++i) EXPECT_EQ(told[i], size < 16) << i;
    }
    if (size == 0) continue;
    collector.Restore();
    ExpectSame(shape_, outcome, FromKernel(shape_, parameters, batch.View(true)), tolerance_);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConveKernelTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return NameOf(info.param); });

// There are more entities than in a block, and more queries.
TEST(ConveKernelBlocksTest, ManyBlocksAgreeWithTheReference) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
    KgeShape shape = SmallShape(ConveVariant::kDettmers, KgeModel::kConvE, DType::kF64);
    shape.options.loss = loss;
    shape.num_entities = 2100;
    const Tensor parameters = ParametersOf(shape);
    const OwnedKgeBatch batch = RandomKgeBatch(shape, 1500, 5, 2);
    ExpectSame(shape, FromKernel(shape, parameters, batch.View(true)),
               FromReference(shape, parameters, batch.View(true)), 1e-10);
  }
}

// Matrix products use one thread here, so that only our own passes use several.
TEST(ConveKernelThreadsTest, ThreadsGiveTheSameBits) {
  at::set_num_threads(1);
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin}) {
    const KgeShape shape = SmallShape(variant, KgeModel::kConvE, DType::kF32);
    const Tensor parameters = ParametersOf(shape);
    const OwnedKgeBatch batch = RandomKgeBatch(shape, 150, 4, 8);
    const Outcome one = FromKernel(shape, parameters, batch.View(true));
    ThreadPool pool(3);
    const Outcome three = FromKernel(shape, parameters, batch.View(true), &pool);
    EXPECT_EQ(one.loss, three.loss);
    EXPECT_EQ(one.statistics.bn1.variance, three.statistics.bn1.variance);
    EXPECT_EQ(one.gradient.ToDoubles(), three.gradient.ToDoubles());
  }
}

// The mean of the images is far from 0, as after a trained bn0; variances are then differences of large products.
TEST(ConveKernelNormTest, StatisticsOfImagesFarFromZeroAreExact) {
  const KgeShape shape = SmallShape(ConveVariant::kDettmers, KgeModel::kConvE, DType::kF32);
  Tensor parameters = ParametersOf(shape);
  parameters.mutable_values<float>()[shape.offsets().bn0_weight] = 0.1f;
  parameters.mutable_values<float>()[shape.offsets().bn0_bias] = 3;
  KgeShape plain = shape;
  plain.options.input_dropout = 0;
  const OwnedKgeBatch batch = RandomKgeBatch(shape, 40, 4, 11);
  const Outcome expected = FromReference(plain, parameters, batch.View(true));
  ExpectSame(FromKernel(plain, parameters, batch.View(true)).statistics.bn1, expected.statistics.bn1, 1e-6);
}

// As in PyTorch's batch_norm, the norm of a single value is its bias, and there is no variance over n - 1.
TEST(ConveKernelNormTest, ABatchOfOneQuery) {
  const KgeShape shape = SmallShape(ConveVariant::kDettmers, KgeModel::kConvE, DType::kF64);
  const Tensor parameters = ParametersOf(shape);
  const OwnedKgeBatch batch = RandomKgeBatch(shape, 1, 4, 11);
  Outcome actual = FromKernel(shape, parameters, batch.View(true));
  Outcome expected = FromReference(shape, parameters, batch.View(true));
  EXPECT_TRUE(actual.statistics.bn2.mean.empty());
  actual.statistics = expected.statistics = BatchStatistics();
  ExpectSame(shape, actual, expected, 1e-10);
}

struct RoundingCase {
  FactorRounding factors;
  double loss, gradient;  // relative errors
};

class ConveKernelRoundingTest : public ::testing::TestWithParam<RoundingCase> {};

INSTANTIATE_TEST_SUITE_P(Roundings, ConveKernelRoundingTest,
                         ::testing::Values(RoundingCase{FactorRounding::kBf16, 2e-3, 2e-2},
                                           RoundingCase{FactorRounding::kTwoParts, 2e-6, 3e-5}),
                         [](const auto& info) {
                           return info.param.factors == FactorRounding::kBf16 ? "Bf16" : "TwoParts";
                         });

// Each gradient is a sum of many terms, whose rounding averages out.
TEST_P(ConveKernelRoundingTest, IsCloseInTrainingAndExactInEvaluation) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneVsAll}) {
    KgeShape shape = SmallShape(ConveVariant::kDettmers, KgeModel::kConvE, DType::kF32);
    shape.options.loss = loss;
    const Tensor parameters = ParametersOf(shape);
    const OwnedKgeBatch batch = RandomKgeBatch(shape, 60, 4, 8);
    ConveKernel kernel(shape, /*pool=*/nullptr, GetParam().factors);
    Outcome mixed;
    mixed.gradient = Tensor::Zeros(DType::kF32, parameters.shape());
    ASSERT_TRUE(kernel.AccumulateGradients(parameters, batch.View(true), &mixed.gradient, &mixed.loss, nullptr).ok());
    const Outcome full = FromKernel(shape, parameters, batch.View(true));
    EXPECT_NEAR(mixed.loss / full.loss, 1, GetParam().loss);
    EXPECT_NE(mixed.loss, full.loss);
    const at::Tensor a = ToTorch(mixed.gradient), b = ToTorch(full.gradient);
    EXPECT_LT(((a - b).norm() / b.norm()).item<double>(), GetParam().gradient);

    double in_evaluation = 0, in_full = 0;
    ASSERT_TRUE(kernel.AccumulateGradients(parameters, batch.View(false), nullptr, &in_evaluation, nullptr).ok());
    ASSERT_TRUE(ConveKernel(shape).AccumulateGradients(parameters, batch.View(false), nullptr, &in_full, nullptr).ok());
    EXPECT_EQ(in_evaluation, in_full);
  }
}

class GoldenKernelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenKernelTest, LossesAndGradients) {
  const GoldenConve golden(GetParam());
  KgeShape shape = golden.shape();
  shape.options.precision = DType::kF64;
  const Tensor parameters = golden.Flat("param.");
  for (const bool training : {false, true}) {
    for (const bool own : {false, true}) {
      shape.options.loss = own ? KgeLoss::kOneOfN : KgeLoss::kOneToN;
      shape.options.smoothing_form = own ? LabelSmoothing::kStandard : LabelSmoothing::kDettmers;
      const OwnedKgeBatch batch = golden.Batch(own);
      const std::string name = own ? "bce_1ofK_tiepin" : "bce_multihot_dettmers";
      const std::string mode = training ? "train" : "eval";
      const Outcome outcome = FromKernel(shape, parameters, batch.View(training));
      const double size = batch.head.size();
      EXPECT_NEAR(outcome.loss / size, golden.Scalar(absl::StrCat(mode, ".loss.", name)), 1e-12);
      const std::vector<double> actual = outcome.gradient.ToDoubles();
      const std::vector<double> expected = golden.Flat(absl::StrCat(mode, ".grad.", name, ".")).ToDoubles();
      for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i] / size, expected[i], 1e-12) << mode << name;
    }
  }
  Tensor hidden = Tensor::Zeros(DType::kF64, {6, shape.dim()});
  const OwnedKgeBatch batch = golden.Batch(true);
  ConveKernel(shape).Hidden(parameters, batch.head, batch.relation, &hidden);
  const std::vector<double> actual = hidden.ToDoubles(), expected = golden.Array("eval.hidden").ToDoubles();
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Variants, GoldenKernelTest, ::testing::Values("dettmers", "tiepin"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rutile
