// Influence of training triples on test triples: our products of gradients beside one LibTorch backward per triple.
//
// Arguments: embedding dimension, held tests, bf16. The sizes are FB15k-237's (14541 entities, 237 relations, a key
// with 2.9 tails); dimension 200 is the published model (20 x 10), 32 is what users of TiePin train (8 x 4, stacked in
// width). Random weights and triples, fp32, one thread, one checkpoint, all parameters; items are training triples.
// "all_s" is what the 272115 training triples of FB15k-237 would take; "ratio" is how many times the naive loop takes
// for a triple (its gradient with that of every test, as a matrix product: the tests' gradients lie in memory).

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/random.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"
#include "lib/task/projection_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kTriplesOfFb15k237 = 272115;
constexpr int64_t kTriples = 4096;

// Returns the processor time of this process, which other work on the machine does not change.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

KgeShape Shape(int64_t dim) {
  KgeShape shape;
  shape.options.embedding_dim = dim;
  shape.num_entities = 14541;
  shape.num_relations = 237;
  if (dim == 32) {
    shape.options.variant = ConveVariant::kTiepin;
    shape.options.embedding_height = 8;
    shape.options.embedding_width = 4;
    shape.options.smoothing_form = LabelSmoothing::kStandard;
  }
  return shape;
}

struct Data {
  explicit Data(const benchmark::State& state) : shape(Shape(state.range(0))) {
    RandomStream random(1, "benchmark");
    const auto id = [&](int64_t n) { return static_cast<int32_t>(random.Below(n)); };
    // Six in ten keys have one tail, the others 2 to 9.
    while (static_cast<int64_t>(train.size()) < kTriples) {
      const int32_t head = id(shape.num_entities), relation = id(shape.num_relations);
      const int32_t tails = random.Below(10) < 6 ? 1 : 2 + id(8);
      for (int32_t k = 0; k < tails; ++k) train.push_back({head, relation, id(shape.num_entities)});
    }
    train.resize(kTriples);
    for (int64_t j = 0; j < state.range(1); ++j) {
      tests.push_back({id(shape.num_entities), id(shape.num_relations), id(shape.num_entities)});
    }
    known = KnownTails::Build({train}, shape.num_relations, /*inverse_relations=*/false);
    const std::vector<double> initial = InitialKgeParameters(shape, /*seed=*/1);
    point.parameters = Tensor::Of<float>(std::vector<float>(initial.begin(), initial.end()));
  }

  std::unique_ptr<GradientProducts> Make(const KgeInfluenceOptions& options) const {
    KgeInfluenceData data;
    data.train = train;
    data.tests = tests;
    data.known = &known;
    return std::move(*MakeKgeProducts(shape, point, data, options, nullptr));
  }

  KgeShape shape;
  std::vector<Triple> train, tests;
  KnownTails known;
  WeightedCheckpoint point;
};

// The loop that a user would write: a leaf for each tensor, one triple at a time, softplus(-score).
class NaiveLoop {
 public:
  explicit NaiveLoop(const Data& data) : shape_(data.shape) {
    const at::Tensor flat = ToTorch(data.point.parameters);
    for (const ParameterSlice& slice : shape_.Slices()) {
      at::Tensor leaf = flat.narrow(0, slice.offset, slice.num_elements()).view(slice.shape).clone();
      if (!slice.buffer) leaves_.push_back(leaf.set_requires_grad(true));
      all_.push_back({slice.name, leaf});
    }
    std::vector<at::Tensor> gradients;
    for (const Triple& test : data.tests) gradients.push_back(Gradient(test));
    tests_ = at::stack(gradients);
  }

  at::Tensor Gradient(const Triple& triple) const {
    const int64_t h = shape_.options.embedding_height, w = shape_.options.embedding_width;
    const at::Tensor image = at::cat({Row("entity.weight", triple.head).view({1, 1, h, w}),
                                      Row("relation.weight", triple.relation).view({1, 1, h, w})},
                                     shape_.stacked_in_width() ? 3 : 2);
    at::Tensor x = at::conv2d(Norm("bn0", image), Get("conv.weight"), Get("conv.bias"));
    x = at::linear(at::relu(Norm("bn1", x)).flatten(1), Get("fc.weight"), Get("fc.bias"));
    at::Tensor score = (at::relu(Norm("bn2", x)) * Row("entity.weight", triple.tail)).sum();
    if (shape_.has_entity_bias()) score = score + Get("entity.bias")[triple.tail];
    std::vector<at::Tensor> parts = torch::autograd::grad({at::softplus(-score)}, leaves_);
    for (at::Tensor& part : parts) part = part.flatten();
    return at::cat(parts);
  }

  // [H]
  at::Tensor Products(const Triple& triple) const { return at::mv(tests_, Gradient(triple)); }

 private:
  at::Tensor Get(const std::string& name) const {
    for (const auto& item : all_) {
      if (item.first == name) return item.second;
    }
    return at::Tensor();
  }
  at::Tensor Row(const std::string& name, int64_t row) const { return Get(name)[row]; }
  at::Tensor Norm(const std::string& name, const at::Tensor& x) const {
    return at::batch_norm(x, Get(name + ".weight"), Get(name + ".bias"), Get(name + ".running_mean"),
                          Get(name + ".running_var"), /*training=*/false, 0.1, kBatchNormEpsilon, false);
  }

  const KgeShape shape_;
  std::vector<at::Tensor> leaves_;
  std::vector<std::pair<std::string, at::Tensor>> all_;
  at::Tensor tests_;  // [H, P]
};

// Seconds that the naive loop took for a triple, by dimension and tests, if it has run before.
std::map<std::pair<int64_t, int64_t>, double>& NaiveSeconds() {
  static auto& seconds = *new std::map<std::pair<int64_t, int64_t>, double>();
  return seconds;
}

void BM_NaiveLoop(benchmark::State& state) {
  at::set_num_threads(1);
  const Data data(state);
  const NaiveLoop naive(data);
  benchmark::DoNotOptimize(naive.Products(data.train[0]));
  const double start = CpuSeconds();
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(naive.Products(data.train[i++ % data.train.size()]));
  const double of_triple = (CpuSeconds() - start) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations());
  state.counters["us"] = 1e6 * of_triple;
  state.counters["all_s"] = of_triple * kTriplesOfFb15k237;
  NaiveSeconds()[{state.range(0), state.range(1)}] = of_triple;
}
BENCHMARK(BM_NaiveLoop)
    ->ArgNames({"dim", "tests", "bf16"})
    ->Args({200, 1, 0})
    ->Args({200, 100, 0})
    ->Args({32, 1, 0})
    ->Args({32, 100, 0})
    ->Unit(benchmark::kMillisecond);

void Run(benchmark::State& state, const KgeInfluenceOptions& options) {
  at::set_num_threads(1);
  const Data data(state);
  const std::unique_ptr<GradientProducts> products = data.Make(options);
  std::vector<int64_t> tests(data.tests.size());
  for (size_t j = 0; j < tests.size(); ++j) tests[j] = static_cast<int64_t>(j);
  CHECK(products->SetTests(tests).ok());
  const std::vector<int64_t> order = PreferredOrder(data.train);
  const int64_t step = products->tile_size();
  ProductTile tile;
  double seconds = 0;
  for (auto _ : state) {
    const double start = CpuSeconds();
    for (int64_t first = 0; first < kTriples; first += step) {
      CHECK(products->Products(absl::MakeConstSpan(order).subspan(first, step), /*squares=*/true, &tile).ok());
      benchmark::DoNotOptimize(tile.product.data());
    }
    seconds += CpuSeconds() - start;
  }
  state.SetItemsProcessed(state.iterations() * kTriples);
  const double of_triple = seconds / static_cast<double>(state.iterations() * kTriples);
  state.counters["us"] = 1e6 * of_triple;
  state.counters["all_s"] = of_triple * kTriplesOfFb15k237;
  const auto naive = NaiveSeconds().find({state.range(0), state.range(1)});
  if (options.loss == KgeInfluenceLoss::kTriple && naive != NaiveSeconds().end()) {
    state.counters["ratio"] = naive->second / of_triple;
  }
}

void BM_TripleLoss(benchmark::State& state) {
  KgeInfluenceOptions options;
  options.bf16 = state.range(2) != 0;
  Run(state, options);
}
BENCHMARK(BM_TripleLoss)
    ->ArgNames({"dim", "tests", "bf16"})
    ->Args({200, 1, 0})
    ->Args({200, 100, 0})
    ->Args({200, 100, 1})
    ->Args({200, 2000, 0})
    ->Args({32, 1, 0})
    ->Args({32, 100, 0})
    ->Unit(benchmark::kMillisecond);

// Measures products of maps that are projected to that many numbers each.
void BM_Projected(benchmark::State& state) {
  KgeInfluenceOptions options;
  options.projection = {state.range(3) != 0 ? ProjectionKind::kSparse : ProjectionKind::kGaussian, state.range(2), 0};
  Run(state, options);
}
BENCHMARK(BM_Projected)
    ->ArgNames({"dim", "tests", "numbers", "sparse"})
    ->Args({200, 100, 64, 1})
    ->Args({200, 2000, 64, 0})
    ->Args({200, 2000, 64, 1})
    ->Args({200, 2000, 256, 1})
    ->Unit(benchmark::kMillisecond);

void BM_OneToN(benchmark::State& state) {
  KgeInfluenceOptions options;
  options.loss = KgeInfluenceLoss::kOneToN;
  options.bf16 = state.range(2) != 0;
  Run(state, options);
}
BENCHMARK(BM_OneToN)
    ->ArgNames({"dim", "tests", "bf16"})
    ->Args({200, 100, 0})
    ->Args({32, 100, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rutile
