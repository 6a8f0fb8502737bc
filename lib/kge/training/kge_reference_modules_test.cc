// Compares the reference with LibTorch's own modules for what the golden values leave out: variant libkge, the softmax
// losses, the other models, dropout.

#include <torch/csrc/autograd/autograd.h>
#include <torch/nn.h>

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/training/kge_reference.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

namespace nn = torch::nn;

constexpr int64_t kBatch = 5;

KgeShape SmallShape(ConveVariant variant, KgeModel model = KgeModel::kConvE) {
  KgeShape shape;
  KgeOptions& options = shape.options;
  options.model = model;
  options.variant = variant;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 5;
  options.kernel_height = 2;
  options.precision = DType::kF64;
  options.seed = 7;
  shape.num_entities = 11;
  shape.num_relations = 6;
  return shape;
}

at::Tensor Parameters(const KgeShape& shape) {
  const at::Tensor noise = at::linspace(-1, 1, shape.offsets().size, at::kDouble).sin().roll(17) * 0.05;
  return ToTorch(Tensor::Of(InitialKgeParameters(shape, 3))).clone() + noise;
}

at::Tensor Part(const KgeShape& shape, const at::Tensor& parameters, const std::string& name) {
  for (const ParameterSlice& slice : shape.Slices()) {
    const int64_t size = slice.num_elements();
    if (slice.name == name) return parameters.narrow(0, slice.offset, size).view(slice.shape);
  }
  return at::Tensor();
}

at::Tensor Long(const std::vector<int32_t>& values) { return at::tensor(values, at::kInt).to(at::kLong); }

at::Tensor Mask(const KgeShape& shape, const KgeBatch& batch, DropoutLayer layer, double rate, int64_t n) {
  at::Tensor mask = at::ones({batch.size(), n}, at::kDouble);
  if (!batch.training) return mask;
  for (int64_t b = 0; b < batch.size(); ++b) {
    FillDropout(shape.options.seed, batch.epoch, batch.example[b], layer, rate,
                absl::MakeSpan(mask.data_ptr<double>() + b * n, n));
  }
  return mask;
}

double MaxDifference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

// LibKGE's ConvE of torch modules, with masks multiplied in.
struct LibkgeModule {
  explicit LibkgeModule(const KgeShape& shape)
      : conv(nn::Conv2dOptions(1, shape.options.output_channels,
                               {shape.options.kernel_height, shape.options.kernel_width})),
        bn1(nn::BatchNorm2dOptions(shape.options.output_channels).affine(false)),
        fc(shape.num_features(), shape.dim()),
        bn2(nn::BatchNorm1dOptions(shape.dim()).affine(false)) {
    for (const auto& module : std::vector<std::shared_ptr<nn::Module>>{conv.ptr(), bn1.ptr(), fc.ptr(), bn2.ptr()}) {
      module->to(at::kDouble);
    }
  }

  nn::Conv2d conv;
  nn::BatchNorm2d bn1;
  nn::Linear fc;
  nn::BatchNorm1d bn2;
};

TEST(LibkgeTest, AgreesWithModules) {
  const KgeShape shape = SmallShape(ConveVariant::kLibkge);
  const OwnedKgeBatch owned = RandomKgeBatch(shape, kBatch, 3, 1);
  for (const bool training : {false, true}) {
    const KgeBatch batch = owned.View(training, /*epoch=*/2);
    const at::Tensor parameters = Parameters(shape).requires_grad_(true);
    LibkgeModule net(shape);
    {
      const at::NoGradGuard no_grad;
      net.conv->weight.copy_(Part(shape, parameters, "conv.weight"));
      net.conv->bias.copy_(Part(shape, parameters, "conv.bias"));
      net.fc->weight.copy_(Part(shape, parameters, "fc.weight"));
      net.fc->bias.copy_(Part(shape, parameters, "fc.bias"));
      net.bn1->running_mean.copy_(Part(shape, parameters, "bn1.running_mean"));
      net.bn1->running_var.copy_(Part(shape, parameters, "bn1.running_var"));
      net.bn2->running_mean.copy_(Part(shape, parameters, "bn2.running_mean"));
      net.bn2->running_var.copy_(Part(shape, parameters, "bn2.running_var"));
    }
    net.bn1->train(training);
    net.bn2->train(training);
    const at::Tensor entity = Part(shape, parameters, "entity.weight").detach().clone().requires_grad_(true);
    const at::Tensor relation = Part(shape, parameters, "relation.weight").detach();
    const at::Tensor e = entity.index_select(0, Long(owned.head)), r = relation.index_select(0, Long(owned.relation));
    at::Tensor x = at::cat({e, r}, 1) * Mask(shape, batch, DropoutLayer::kInput, 0.2, 24);
    x = net.conv(x.view({kBatch, 1, 6, 4}));
    x = net.bn1(x).relu();
    x = x * Mask(shape, batch, DropoutLayer::kFeatureMap, 0.2, 5).view({kBatch, 5, 1, 1});
    x = net.fc(x.flatten(1)) * Mask(shape, batch, DropoutLayer::kOutput, 0.3, 12);
    const at::Tensor v = net.bn2(x).relu();
    const at::Tensor scores = at::matmul(v, entity.t()) + Part(shape, parameters, "entity.bias").detach();

    const KgeHidden hidden = ReferenceHidden(shape, parameters, batch);
    const at::Tensor found = ReferenceScores(shape, parameters, batch, hidden.v);
    EXPECT_LT(MaxDifference(hidden.v, v), 1e-13) << training;
    EXPECT_LT(MaxDifference(found, scores), 1e-13) << training;

    const at::Tensor seed = at::linspace(-1, 2, scores.numel(), at::kDouble).view_as(scores);
    const at::Tensor gradient = torch::autograd::grad({(found * seed).sum()}, {parameters})[0];
    const auto expected = torch::autograd::grad({(scores * seed).sum()}, {entity, net.conv->weight, net.fc->weight});
    EXPECT_LT(MaxDifference(Part(shape, gradient, "entity.weight"), expected[0]), 1e-12);
    EXPECT_LT(MaxDifference(Part(shape, gradient, "conv.weight"), expected[1]), 1e-12);
    EXPECT_LT(MaxDifference(Part(shape, gradient, "fc.weight"), expected[2]), 1e-12);

    if (!training) continue;
    EXPECT_TRUE(hidden.statistics.Fetch().bn0.mean.empty());
    const at::Tensor mean = 0.9 * Part(shape, parameters, "bn1.running_mean") +
                            0.1 * at::tensor(hidden.statistics.Fetch().bn1.mean, at::kDouble);
    const at::Tensor variance = 0.9 * Part(shape, parameters, "bn2.running_var") +
                                0.1 * at::tensor(hidden.statistics.Fetch().bn2.variance, at::kDouble);
    EXPECT_LT(MaxDifference(mean, net.bn1->running_mean), 1e-14);
    EXPECT_LT(MaxDifference(variance, net.bn2->running_var), 1e-14);
  }
}

// Masks act before or after bn0; compared with LibTorch's batch norm on masked inputs.
TEST(DropoutTest, DettmersDropsAfterTheInputNormAndTiepinBefore) {
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin}) {
    const KgeShape shape = SmallShape(variant);
    const at::Tensor parameters = Parameters(shape);
    const OwnedKgeBatch owned = RandomKgeBatch(shape, kBatch, 1, 4);
    const KgeBatch batch = owned.View(/*training=*/true, /*epoch=*/1);
    const at::Tensor e = Part(shape, parameters, "entity.weight").index_select(0, Long(owned.head)).view({-1, 3, 4});
    const at::Tensor r =
        Part(shape, parameters, "relation.weight").index_select(0, Long(owned.relation)).view({-1, 3, 4});
    const bool wide = variant == ConveVariant::kTiepin;
    at::Tensor x = at::cat({e, r}, wide ? 2 : 1);
    if (wide) x = x * Mask(shape, batch, DropoutLayer::kInput, 0.2, 24).view_as(x);
    const KgeHidden hidden = ReferenceHidden(shape, parameters, batch);
    ASSERT_EQ(hidden.statistics.Fetch().bn0.mean.size(), 1);
    EXPECT_NEAR(hidden.statistics.Fetch().bn0.mean[0], x.mean().item<double>(), 1e-15);
    EXPECT_NEAR(hidden.statistics.Fetch().bn0.variance[0], x.var().item<double>(), 1e-15);
  }
}

TEST(DropoutTest, DependsOnEpochAndExampleAlone) {
  const KgeShape shape = SmallShape(ConveVariant::kDettmers, KgeModel::kDistMult);
  const at::Tensor parameters = Parameters(shape);
  OwnedKgeBatch owned;
  owned.Add(1, 2, {3});
  owned.Add(1, 2, {3});
  owned.example = {4, 5};
  const at::Tensor v = ReferenceHidden(shape, parameters, owned.View(true, 1)).v;
  EXPECT_GT(MaxDifference(v[0], v[1]), 0);
  EXPECT_GT(MaxDifference(v, ReferenceHidden(shape, parameters, owned.View(true, 2)).v), 0);
  owned.example = {5, 4};
  const at::Tensor swapped = ReferenceHidden(shape, parameters, owned.View(true, 1)).v;
  EXPECT_EQ(MaxDifference(v[0], swapped[1]), 0);
  EXPECT_EQ(MaxDifference(v[1], swapped[0]), 0);
}

TEST(ModelsTest, DistMultAndComplExAreTheirFormulas) {
  const OwnedKgeBatch owned = RandomKgeBatch(SmallShape(ConveVariant::kDettmers), kBatch, 2, 5);
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx}) {
    const KgeShape shape = SmallShape(ConveVariant::kDettmers, model);
    const at::Tensor parameters = Parameters(shape), entities = Part(shape, parameters, "entity.weight");
    const KgeHidden hidden = ReferenceHidden(shape, parameters, owned.View(/*training=*/false));
    const at::Tensor scores = ReferenceScores(shape, parameters, owned.View(/*training=*/false), hidden.v);
    const at::Tensor h = entities.index_select(0, Long(owned.head));
    const at::Tensor r = Part(shape, parameters, "relation.weight").index_select(0, Long(owned.relation));
    at::Tensor expected;
    if (model == KgeModel::kDistMult) {
      expected = at::matmul(h * r, entities.t());
    } else {  // Re(<h, r, conj(t)>)
      const auto complex = [](const at::Tensor& x) { return at::complex(x.narrow(1, 0, 6), x.narrow(1, 6, 6)); };
      expected = at::real(at::matmul(complex(h) * complex(r), complex(entities).conj().t()));
    }
    EXPECT_LT(MaxDifference(scores, expected), 1e-14);
    EXPECT_TRUE(hidden.statistics.Fetch().bn2.mean.empty());
  }
}

TEST(LossesTest, SoftmaxLossesAgreeWithModules) {
  KgeShape shape = SmallShape(ConveVariant::kDettmers);
  const at::Tensor scores = at::linspace(-3, 4, kBatch * 11, at::kDouble).view({kBatch, 11}).sin();
  const OwnedKgeBatch many = RandomKgeBatch(shape, kBatch, 4, 6), one = RandomKgeBatch(shape, kBatch, 1, 6);
  shape.options.loss = KgeLoss::kOneVsAll;
  shape.options.smoothing_form = LabelSmoothing::kStandard;
  for (const double eps : {0.0, 0.2}) {
    shape.options.label_smoothing = eps;
    const auto options = nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone).label_smoothing(eps);
    EXPECT_LT(MaxDifference(ReferenceLosses(shape, scores, one.View(true)),
                            nn::functional::cross_entropy(scores, Long(one.positive), options)),
              1e-14);
  }
  shape.options.loss = KgeLoss::kKvsAll;
  shape.options.label_smoothing = 0;
  at::Tensor labels = at::zeros_like(scores);
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t k = many.positive_offset[b]; k < many.positive_offset[b + 1]; ++k) labels[b][many.positive[k]] = 1;
  }
  labels = nn::functional::normalize(labels, nn::functional::NormalizeFuncOptions().p(1).dim(1));
  EXPECT_LT(MaxDifference(ReferenceLosses(shape, scores, many.View(true)),
                          nn::functional::cross_entropy(
                              scores, labels, nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone))),
            1e-14);
}

TEST(BatchOfOneTest, HasNoStatisticsOfTheLastNorm) {
  const KgeShape shape = SmallShape(ConveVariant::kDettmers);
  const OwnedKgeBatch owned = RandomKgeBatch(shape, 1, 1, 8);
  const KgeHidden hidden = ReferenceHidden(shape, Parameters(shape), owned.View(/*training=*/true));
  EXPECT_TRUE(hidden.statistics.Fetch().bn2.mean.empty());
  EXPECT_EQ(hidden.statistics.Fetch().bn0.mean.size(), 1);
  EXPECT_TRUE(hidden.v.isfinite().all().item<bool>());
}

TEST(MixedTest, Bfloat16IsNear) {
  KgeShape shape = SmallShape(ConveVariant::kDettmers);
  shape.options.precision = DType::kF32;
  const at::Tensor parameters = Parameters(shape).to(at::kFloat);
  const OwnedKgeBatch owned = RandomKgeBatch(shape, kBatch, 1, 9);
  const KgeBatch batch = owned.View(/*training=*/false);
  const at::Tensor v = ReferenceHidden(shape, parameters, batch).v;
  const KgeHidden mixed = ReferenceHidden(shape, parameters, batch, Precision::kBf16Mixed);
  EXPECT_EQ(mixed.v.scalar_type(), at::kFloat);
  EXPECT_GT(MaxDifference(mixed.v, v), 0);
  EXPECT_LT(MaxDifference(mixed.v, v), 0.02 * v.abs().max().item<double>());
  EXPECT_LT(MaxDifference(ReferenceScores(shape, parameters, batch, v, Precision::kBf16Mixed),
                          ReferenceScores(shape, parameters, batch, v)),
            0.02);
}

}  // namespace
}  // namespace rutile
