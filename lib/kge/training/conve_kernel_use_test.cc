// ConveKernel also overwrites gradients and passes parts to a sink. Both are compared with the same gradient added to
// zeros, to the bit.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/training/conve_kernel.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_sink.h"

namespace rutile {
namespace {

struct Outcome {
  double loss = 0;
  Tensor gradient;
};

KgeShape SmallShape(ConveVariant variant, KgeModel model, KgeLoss loss, DType precision) {
  KgeShape shape;
  KgeOptions& options = shape.options;
  options.model = model;
  options.variant = variant;
  options.loss = loss;
  // Penalties of rows and dropped candidates go through the same blocks, sinks and shards.
  if (loss == KgeLoss::kKvsAll) {
    options.regularizer = KgeRegularizer::kN3;
    options.candidate_dropout = 0.3;
  }
  // The rows of tails change after the blocks with relation prediction, and relations with dura.
  if (loss == KgeLoss::kOneToN && model == KgeModel::kDistMult) options.relation_prediction = 0.5;
  if (loss == KgeLoss::kOneToN && model == KgeModel::kComplEx) options.regularizer = KgeRegularizer::kDura;
  options.embedding_dim = 20;
  options.embedding_height = 5;
  options.embedding_width = 4;
  options.output_channels = 11;
  options.kernel_height = 3;
  options.kernel_width = 2;
  options.precision = precision;
  options.seed = 7;
  shape.num_entities = 31;
  shape.num_relations = 6;
  return shape;
}

Tensor ParametersOf(const KgeShape& shape) {
  const std::vector<double> values = InitialKgeParameters(shape, 3);
  if (shape.options.precision == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

Outcome FromKernel(const KgeShape& shape, const Tensor& parameters, const KgeBatch& batch) {
  Outcome outcome;
  outcome.gradient = Tensor::Zeros(parameters.dtype(), parameters.shape());
  ConveKernel kernel(shape);
  EXPECT_TRUE(kernel.AccumulateGradients(parameters, batch, &outcome.gradient, &outcome.loss, nullptr).ok());
  return outcome;
}

struct Case {
  KgeModel model;
  ConveVariant variant;
  KgeLoss loss;
  DType precision;
};

class ConveKernelUseTest : public ::testing::TestWithParam<Case> {
 protected:
  ConveKernelUseTest()
      : shape_(SmallShape(GetParam().variant, GetParam().model, GetParam().loss, GetParam().precision)) {}

  const KgeShape shape_;
};

Tensor NansLike(const Tensor& parameters) {
  const std::vector<double> nans(parameters.num_elements(), std::numeric_limits<double>::quiet_NaN());
  if (parameters.dtype() == DType::kF64) return Tensor::Of(nans);
  return Tensor::Of(std::vector<float>(nans.begin(), nans.end()));
}

// Old values of the gradient are overwritten, also without a query, and the result has the same bits as always.
TEST_P(ConveKernelUseTest, OverwritesGradients) {
  const Tensor parameters = ParametersOf(shape_);
  ConveKernel kernel(shape_);
  for (const int64_t size : {3, 0, 600, 16}) {
    SCOPED_TRACE(size);
    const OwnedKgeBatch batch = RandomKgeBatch(shape_, size, 4, size);
    Outcome outcome;
    outcome.gradient = NansLike(parameters);
    ASSERT_TRUE(kernel
                    .AccumulateGradients(parameters, batch.View(true), &outcome.gradient, &outcome.loss, nullptr,
                                         GradientDelivery::Overwrite())
                    .ok());
    const Outcome expected = FromKernel(shape_, parameters, batch.View(true));
    EXPECT_EQ(outcome.loss, expected.loss);
    const std::vector<double> found = outcome.gradient.ToDoubles(), wanted = expected.gradient.ToDoubles();
    for (size_t i = 0; i < found.size(); ++i) {
      // A norm of no example has NaN for its gradients.
      const bool is_nan = size == 0 && std::isnan(wanted[i]) && std::isnan(found[i]);
      EXPECT_TRUE(found[i] == wanted[i] || is_nan) << i << ": " << found[i] << " vs. " << wanted[i];
    }
  }
}

// Overwrites the parameters and the gradient of all that it takes: the task must not read them again.
class SpoilingTaker : public GradientSink {
 public:
  SpoilingTaker(Tensor* parameters, Tensor* gradient)
      : taken(parameters->num_elements(), 0),
        was_taken(parameters->num_elements(), false),
        parameters_(parameters),
        gradient_(gradient) {}

  void Take(int64_t begin, const Tensor& values) override {
    const std::vector<double> numbers = values.ToDoubles();
    const Tensor nans = NansLike(values);
    const int64_t n = values.num_elements();
    std::memcpy(parameters_->Slice(begin, {n}).mutable_data(), nans.data(), nans.num_bytes());
    std::memcpy(gradient_->Slice(begin, {n}).mutable_data(), nans.data(), nans.num_bytes());
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_FALSE(was_taken[begin + i]) << begin + i;
      was_taken[begin + i] = true;
      taken[begin + i] = numbers[i];
    }
  }

  std::vector<double> taken;
  std::vector<char> was_taken;  // not bits, which threads would share

 private:
  Tensor* const parameters_;
  Tensor* const gradient_;
};

// Taken parts and the rest make up the gradient, to the bit. Rows of heads are in the rest; with many heads, or with
// relation prediction, all is.
TEST_P(ConveKernelUseTest, HandsOverWhatItNeedsNoMore) {
  ConveKernel kernel(shape_);
  const KgeShape::Offsets at = shape_.offsets();
  for (const int64_t size : {3, 0, 2, 16}) {
    SCOPED_TRACE(size);
    Tensor parameters = ParametersOf(shape_);
    const OwnedKgeBatch batch = RandomKgeBatch(shape_, size, 4, size);
    Outcome outcome;
    outcome.gradient = NansLike(parameters);
    SpoilingTaker sink(&parameters, &outcome.gradient);
    ASSERT_TRUE(kernel
                    .AccumulateGradients(parameters, batch.View(true), &outcome.gradient, &outcome.loss, nullptr,
                                         GradientDelivery::Stream(&sink))
                    .ok());
    std::vector<double> found = outcome.gradient.ToDoubles();
    for (size_t i = 0; i < found.size(); ++i) {
      if (sink.was_taken[i]) found[i] = sink.taken[i];
    }
    for (int64_t e = 0; e < shape_.num_entities; ++e) {
      const bool is_head = std::find(batch.head.begin(), batch.head.end(), e) != batch.head.end();
      const bool early = size > 0 && size < 16 && shape_.options.relation_prediction == 0;
      EXPECT_EQ(sink.was_taken[at.entity + e * shape_.dim()], !is_head && early) << e;
    }
    if (size == 0) continue;
    EXPECT_EQ(found, FromKernel(shape_, ParametersOf(shape_), batch.View(true)).gradient.ToDoubles());
  }
}

constexpr ConveVariant kDettmers = ConveVariant::kDettmers;

INSTANTIATE_TEST_SUITE_P(
    All, ConveKernelUseTest,
    ::testing::Values(Case{KgeModel::kConvE, kDettmers, KgeLoss::kOneToN, DType::kF32},
                      Case{KgeModel::kConvE, kDettmers, KgeLoss::kOneOfN, DType::kF64},
                      Case{KgeModel::kConvE, ConveVariant::kTiepin, KgeLoss::kKvsAll, DType::kF32},
                      Case{KgeModel::kConvE, ConveVariant::kLibkge, KgeLoss::kOneVsAll, DType::kF32},
                      Case{KgeModel::kDistMult, kDettmers, KgeLoss::kOneToN, DType::kF64},
                      Case{KgeModel::kComplEx, kDettmers, KgeLoss::kOneToN, DType::kF32},
                      Case{KgeModel::kComplEx, kDettmers, KgeLoss::kKvsAll, DType::kF32},
                      Case{KgeModel::kRescal, kDettmers, KgeLoss::kOneVsAll, DType::kF32},
                      Case{KgeModel::kCp, kDettmers, KgeLoss::kOneVsAll, DType::kF32},
                      Case{KgeModel::kSimple, kDettmers, KgeLoss::kOneToN, DType::kF64},
                      Case{KgeModel::kTransE, kDettmers, KgeLoss::kKvsAll, DType::kF32},
                      Case{KgeModel::kRotatE, kDettmers, KgeLoss::kOneVsAll, DType::kF64},
                      Case{KgeModel::kTucker, kDettmers, KgeLoss::kKvsAll, DType::kF32}),
    [](const auto& info) { return absl::StrCat(kKgeModelNames.Name(info.param.model), info.index); });

// There are several blocks of entities, of which the last is short, and one thread or more.
TEST(ConveKernelUseBlocksTest, HandsOverBlockAfterBlock) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
    KgeShape shape = SmallShape(kDettmers, KgeModel::kConvE, loss, DType::kF32);
    shape.num_entities = 5000;
    const OwnedKgeBatch batch = RandomKgeBatch(shape, 600, 5, 2);
    const Outcome expected = FromKernel(shape, ParametersOf(shape), batch.View(true));
    ThreadPool pool(2);
    for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      Tensor parameters = ParametersOf(shape);
      Outcome outcome;
      outcome.gradient = NansLike(parameters);
      SpoilingTaker sink(&parameters, &outcome.gradient);
      ConveKernel kernel(shape, threads);
      ASSERT_TRUE(kernel
                      .AccumulateGradients(parameters, batch.View(true), &outcome.gradient, &outcome.loss, nullptr,
                                           GradientDelivery::Stream(&sink))
                      .ok());
      std::vector<double> found = outcome.gradient.ToDoubles();
      for (size_t i = 0; i < found.size(); ++i) {
        if (sink.was_taken[i]) found[i] = sink.taken[i];
      }
      EXPECT_EQ(found, expected.gradient.ToDoubles());
      EXPECT_EQ(outcome.loss, expected.loss);
    }
  }
}

}  // namespace
}  // namespace rutile
