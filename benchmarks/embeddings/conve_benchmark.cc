// Compares a training step of ConvE by our kernel and optimizer with plain LibTorch modules, autograd and torch::optim.
//
// Arguments: entities, embedding dimension, batch. Dimension 200 is the published model (20 x 10, key with 2 true tails
// on average, 1-N) on UMLS (135 entities), FB15k-237 (14541) and WN18RR (40943); dimension 32 is what users of TiePin
// train (8 x 4, stacked in width, batch 32768, one-of-N). Random data, fp32, one thread; items are queries. LibTorch's
// step makes its dense labels, too, as a loader must. "flop/s" counts matrix products alone.

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/nn.h>
#include <torch/optim/adam.h>

#include <cmath>
#include <memory>
#include <vector>

#include "lib/base/random.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/conve_kernel.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/optimizer/fused_step.h"
#include "lib/optimizer/gradient_norm.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/tensorfile/named_tensors.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

struct Data {
  explicit Data(const benchmark::State& state, KgeLoss loss = KgeLoss::kOneToN) {
    const int64_t size = state.range(2);
    KgeOptions& options = shape.options;
    options.embedding_dim = state.range(1);
    options.loss = loss;
    if (options.embedding_dim == 32) {
      options.variant = ConveVariant::kTiepin;
      options.embedding_height = 8;
      options.embedding_width = 4;
      options.smoothing_form = LabelSmoothing::kStandard;
      options.loss = KgeLoss::kOneOfN;
    }
    shape.num_entities = state.range(0);
    shape.num_relations = 474;
    RandomStream random(1, "benchmark");
    const bool own = options.loss == KgeLoss::kOneOfN || options.loss == KgeLoss::kOneVsAll;
    for (int64_t q = 0; q < size; ++q) {
      head.push_back(random.Below(shape.num_entities));
      relation.push_back(random.Below(shape.num_relations));
      example.push_back(q);
      const int32_t first = random.Below(shape.num_entities / 2);
      positive.push_back(first);
      for (int64_t k = own ? 0 : random.Below(3); k > 0; --k) positive.push_back(positive.back() + 1 + random.Below(9));
      positive_offset.push_back(positive.size());
    }
  }
  KgeBatch View(int64_t epoch) const {
    KgeBatch batch;
    batch.head = head;
    batch.relation = relation;
    batch.example = example;
    batch.positive_offset = positive_offset;
    batch.positive = positive;
    batch.epoch = epoch;
    return batch;
  }
  // Returns the operations of the products with fc and the table, forward and both ways backward.
  double Flops() const { return 6.0 * head.size() * shape.dim() * (shape.num_features() + shape.num_entities); }
  void Report(benchmark::State& state) const {
    state.SetItemsProcessed(state.iterations() * head.size());
    state.counters["flop/s"] = benchmark::Counter(Flops(), benchmark::Counter::kIsIterationInvariantRate);
  }

  KgeShape shape;
  std::vector<int32_t> head, relation, positive;
  std::vector<int64_t> example, positive_offset = {0};
};

// The model as a user would write it: TimDettmers/ConvE and TiePin in C++.
struct PlainConve : nn::Module {
  explicit PlainConve(const KgeShape& shape) : shape(shape) {
    const int64_t d = shape.dim(), channels = shape.options.output_channels;
    entity = register_module("entity", nn::Embedding(shape.num_entities, d));
    relation = register_module("relation", nn::Embedding(shape.num_relations, d));
    bn0 = register_module("bn0", nn::BatchNorm2d(1));
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, channels, 3).bias(shape.has_conv_bias())));
    bn1 = register_module("bn1", nn::BatchNorm2d(channels));
    fc = register_module("fc", nn::Linear(shape.num_features(), d));
    bn2 = register_module("bn2", nn::BatchNorm1d(d));
    if (shape.has_entity_bias()) bias = register_parameter("bias", torch::zeros(shape.num_entities));
    nn::init::xavier_normal_(entity->weight);
    nn::init::xavier_normal_(relation->weight);
  }

  torch::Tensor forward(const torch::Tensor& heads, const torch::Tensor& relations) {
    const KgeOptions& options = shape.options;
    const int64_t h = options.embedding_height, w = options.embedding_width;
    torch::Tensor x = torch::cat({entity(heads).view({-1, 1, h, w}), relation(relations).view({-1, 1, h, w})},
                                 shape.stacked_in_width() ? 3 : 2);
    const bool norm_first = options.variant == ConveVariant::kDettmers;
    if (norm_first) x = bn0(x);
    x = torch::dropout(x, options.input_dropout, is_training());
    if (!norm_first) x = bn0(x);
    x = torch::relu(bn1(conv(x)));
    x = torch::feature_dropout(x, options.feature_map_dropout, is_training());
    x = torch::dropout(fc(x.flatten(1)), options.output_dropout, is_training());
    x = torch::mm(torch::relu(bn2(x)), entity->weight.t());
    return bias.defined() ? x + bias : x;
  }

  const KgeShape shape;
  nn::Embedding entity{nullptr}, relation{nullptr};
  nn::BatchNorm2d bn0{nullptr}, bn1{nullptr};
  nn::Conv2d conv{nullptr};
  nn::Linear fc{nullptr};
  nn::BatchNorm1d bn2{nullptr};
  torch::Tensor bias;
};

torch::Tensor Labels(const Data& data, const SmoothedLabels& smoothed) {
  torch::Tensor labels =
      torch::full({static_cast<int64_t>(data.head.size()), data.shape.num_entities}, smoothed.base, torch::kFloat);
  for (size_t q = 0; q < data.head.size(); ++q) {
    float* const row = labels.data_ptr<float>() + q * data.shape.num_entities;
    for (int64_t k = data.positive_offset[q]; k < data.positive_offset[q + 1]; ++k) {
      row[data.positive[k]] += smoothed.extra;
    }
  }
  return labels;
}

void BM_PlainLibTorch(benchmark::State& state) {
  at::set_num_threads(1);
  const Data data(state);
  PlainConve model(data.shape);
  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(0.003));
  const torch::Tensor heads = torch::tensor(data.head, torch::kInt),
                      relations = torch::tensor(data.relation, torch::kInt);
  const SmoothedLabels smoothed = SmoothLabels(data.shape.options, data.shape.num_entities, 1);
  for (auto _ : state) {
    optimizer.zero_grad();
    const torch::Tensor labels = Labels(data, smoothed);
    F::binary_cross_entropy_with_logits(model.forward(heads, relations), labels).backward();
    optimizer.step();
  }
  data.Report(state);
}

// Computes gradients alone, or also updates by Adam as the trainer does: after the whole gradient, or early.
enum class Update { kNone, kWhole, kEarly };

void Step(benchmark::State& state, KgeLoss loss, Update update, FactorRounding factors = FactorRounding::kNone) {
  at::set_num_threads(1);
  const Data data(state, loss);
  const std::vector<double> initial = InitialKgeParameters(data.shape, 1);
  Tensor parameters = Tensor::Of(std::vector<float>(initial.begin(), initial.end())),
         gradient = Tensor::Zeros(DType::kF32, parameters.shape());
  const std::unique_ptr<Optimizer> optimizer =
      MakeOptimizer(OptimizerOptions(), DType::kF32, parameters.num_elements());
  ConveKernel kernel(data.shape, /*pool=*/nullptr, factors);
  FusedStep early;
  constexpr double kRate = 0.003;
  const double weight = 1 / static_cast<double>(data.head.size());
  int64_t epoch = 0;
  for (auto _ : state) {
    double sum = 0;
    BatchStatistics statistics;
    GradientDelivery delivery = GradientDelivery::Overwrite();
    if (update == Update::kEarly) {
      early.Begin(optimizer.get(), kRate, weight, &parameters, &gradient, 0);
      delivery = GradientDelivery::Stream(&early);
    }
    CHECK(kernel.AccumulateGradients(parameters, data.View(epoch++), &gradient, &sum, &statistics, delivery).ok());
    if (update == Update::kEarly) {
      CHECK(std::isfinite(early.Norm()));
      early.Finish();
    } else if (update == Update::kWhole) {
      CHECK(std::isfinite(SumOfSquares(weight, gradient)));
      optimizer->Step(kRate, gradient, &parameters, weight);
    }
    benchmark::DoNotOptimize(sum);
  }
  data.Report(state);
}

void BM_Kernel(benchmark::State& state) { Step(state, KgeLoss::kOneToN, Update::kEarly); }
void BM_KernelGradientsAlone(benchmark::State& state) { Step(state, KgeLoss::kOneToN, Update::kNone); }
void BM_KernelWholeStep(benchmark::State& state) { Step(state, KgeLoss::kOneToN, Update::kWhole); }
void BM_KernelSoftmax(benchmark::State& state) { Step(state, KgeLoss::kKvsAll, Update::kEarly); }

void BM_KernelTwoParts(benchmark::State& state) {
  Step(state, KgeLoss::kOneToN, Update::kEarly, FactorRounding::kTwoParts);
}
void BM_KernelBf16(benchmark::State& state) { Step(state, KgeLoss::kOneToN, Update::kEarly, FactorRounding::kBf16); }
void BM_KernelBf16WholeStep(benchmark::State& state) {
  Step(state, KgeLoss::kOneToN, Update::kWhole, FactorRounding::kBf16);
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMillisecond)->Args({135, 200, 128})->Args({14541, 200, 128})->Args({40943, 200, 128});
}
BENCHMARK(BM_PlainLibTorch)->Apply(Sizes);
BENCHMARK(BM_Kernel)->Apply(Sizes)->Args({14541, 32, 8192})->Args({14541, 32, 32768});
BENCHMARK(BM_KernelBf16)->Apply(Sizes)->Args({14541, 32, 8192})->Args({14541, 32, 32768});
BENCHMARK(BM_KernelTwoParts)->Apply(Sizes);
BENCHMARK(BM_KernelWholeStep)->Apply(Sizes);
BENCHMARK(BM_KernelBf16WholeStep)->Apply(Sizes);
BENCHMARK(BM_KernelGradientsAlone)->Apply(Sizes);
BENCHMARK(BM_KernelSoftmax)->Apply(Sizes);
// LibTorch's arrays of [batch, entities] take 3 GB here, and 11 GB with the batch of 32768.
BENCHMARK(BM_PlainLibTorch)->Unit(benchmark::kMillisecond)->Args({14541, 32, 8192})->Iterations(2);

}  // namespace
}  // namespace rutile
