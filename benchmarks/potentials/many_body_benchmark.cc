// Times the kernel of many-body potentials, in first and second order, beside LibTorch's autograd of the definition.
//
// Arguments: structures (21 atoms each, a third of the first species), channels. Two species, 8 radial functions, l <=
// 3, a network of 32 neurons with silu, one thread; items are atoms. "flop/s" counts the multiplications and
// additions of "flop_per_atom".

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include <memory>
#include <vector>

#include "lib/base/random.h"
#include "lib/many_body/atom_kernel_factory.h"
#include "lib/many_body/many_body_reference.h"
#include "lib/many_body/product_table.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/network_cost.h"
#include "lib/network/network_shape.h"
#include "lib/tensorfile/tensorfile_torch.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

template <typename T>
struct Batch {
  Batch(int64_t num_structures, int channels) : num_structures(num_structures), sums(num_structures) {
    shape = {2, 2 * 8 * 16, {32}, Activation::kSilu, {channels, 8, 3}};
    for (const double p : InitialAtomParameters(shape, 1)) parameters.push_back(static_cast<T>(p));
    RandomStream random(1, "benchmark");
    for (const int per_structure : {7, 14}) {
      for (int s = 0; s < num_structures; ++s) structure.insert(structure.end(), per_structure, s);
      species_offset.push_back(structure.size());
    }
    for (size_t i = 0; i < structure.size() * shape.num_features; ++i) {
      x.push_back(static_cast<T>(random.Normal()));
      tangents.push_back(static_cast<T>(random.Normal()));
    }
    for (int s = 0; s < num_structures; ++s) slopes.push_back(random.Normal());
    gradients.resize(parameters.size());
    x_gradients.resize(x.size());
  }
  AtomRows<T> rows() const { return {x, species_offset, structure}; }

  NetworkShape shape;
  int64_t num_structures;
  std::vector<T> parameters, x, tangents, gradients, x_gradients;
  std::vector<int64_t> species_offset = {0};
  std::vector<int32_t> structure;
  std::vector<double> slopes, sums;
};

// Operations for each atom, counted from the formulas: two for each term of a product with C, three for each term of a
// derivative of a cubic product, and those of the networks.
struct Operations {
  explicit Operations(const NetworkShape& shape) {
    const NetworkCost networks(shape.Networks());
    const ProductTable<double> table(shape.moments.max_l, 1);
    const double k = shape.moments.channels, q = shape.moments.num_components();
    const double product = 2 * k * shape.num_features;
    double value_terms = 0, terms = 0;
    for (const auto& group : table.groups) {
      terms += group.end - group.begin + 1;
      if (group.value_scale != 0) value_terms += group.end - group.begin + 1;
    }
    const double value = k * (3 * value_terms + 2 * q), slopes = k * (3 * terms + 4 * q);
    evaluate = product + value + networks.forward;
    forward = evaluate + slopes + product + networks.input_gradients;
    // In numbers with tangents a product takes three times as many operations.
    tangents = product + 2.5 * value + 2.5 * slopes + 2 * product + networks.tangent_gradients;
  }
  double evaluate, forward, tangents;
};

void Report(benchmark::State& state, int64_t atoms, double operations) {
  using benchmark::Counter;
  state.SetItemsProcessed(state.iterations() * atoms);
  state.counters["flop/s"] = Counter(operations * atoms, Counter::kIsIterationInvariantRate);
  state.counters["flop_per_atom"] = operations;
  state.counters["time_per_atom"] = Counter(atoms, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

template <typename T>
void BM_Evaluate(benchmark::State& state) {
  Batch<T> b(state.range(0), state.range(1));
  const std::unique_ptr<AtomKernel<T>> kernel = MakeAtomKernel<T>(b.shape);
  for (auto _ : state) {
    kernel->Evaluate(b.parameters, b.rows(), absl::MakeSpan(b.sums));
    benchmark::DoNotOptimize(b.sums.data());
  }
  Report(state, b.structure.size(), Operations(b.shape).evaluate);
}

template <typename T>
void BM_ForwardWithInputGradients(benchmark::State& state) {
  Batch<T> b(state.range(0), state.range(1));
  const std::unique_ptr<AtomKernel<T>> kernel = MakeAtomKernel<T>(b.shape);
  for (auto _ : state) {
    kernel->ForwardWithInputGradients(b.parameters, b.rows(), absl::MakeSpan(b.sums), absl::MakeSpan(b.x_gradients));
    benchmark::DoNotOptimize(b.x_gradients.data());
  }
  Report(state, b.structure.size(), Operations(b.shape).forward);
}

template <typename T>
void BM_AddEnergyAndTangentGradients(benchmark::State& state) {
  Batch<T> b(state.range(0), state.range(1));
  const std::unique_ptr<AtomKernel<T>> kernel = MakeAtomKernel<T>(b.shape);
  kernel->ForwardWithInputGradients(b.parameters, b.rows(), absl::MakeSpan(b.sums), absl::MakeSpan(b.x_gradients));
  for (auto _ : state) {
    kernel->AddEnergyAndTangentGradients(b.parameters, b.rows(), b.slopes, b.tangents, absl::MakeSpan(b.gradients));
    benchmark::DoNotOptimize(b.gradients.data());
  }
  Report(state, b.structure.size(), Operations(b.shape).tangents);
}

// A whole step: what the two before it do together.
template <typename T>
void BM_SecondOrder(benchmark::State& state) {
  Batch<T> b(state.range(0), state.range(1));
  const std::unique_ptr<AtomKernel<T>> kernel = MakeAtomKernel<T>(b.shape);
  for (auto _ : state) {
    kernel->ForwardWithInputGradients(b.parameters, b.rows(), absl::MakeSpan(b.sums), absl::MakeSpan(b.x_gradients));
    kernel->AddEnergyAndTangentGradients(b.parameters, b.rows(), b.slopes, b.tangents, absl::MakeSpan(b.gradients));
    benchmark::DoNotOptimize(b.gradients.data());
  }
  const Operations operations(b.shape);
  Report(state, b.structure.size(), operations.forward + operations.tangents);
}

template <typename T>
void BM_SecondOrderLibTorch(benchmark::State& state) {
  using torch::autograd::grad;
  at::set_num_threads(1);
  const Batch<T> b(state.range(0), state.range(1));
  const at::Tensor x = ToTorch(Tensor::Of<T>(b.x, {b.species_offset.back(), b.shape.num_features})).requires_grad_();
  const at::Tensor tangents = ToTorch(Tensor::Of<T>(b.tangents, {b.species_offset.back(), b.shape.num_features}));
  const Tensor offset = Tensor::Of(b.species_offset), structure = Tensor::Of(b.structure);
  const at::Tensor slopes = ToTorch(Tensor::Of(b.slopes));
  const at::Tensor parameters = ToTorch(Tensor::Of(b.parameters)).requires_grad_();
  for (auto _ : state) {
    const at::Tensor sums = ReferenceSumsOfAtoms(b.shape, parameters, x, offset, structure, b.num_structures);
    const at::Tensor x_gradients = grad({sums.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    const auto gradients = grad({(sums * slopes).sum() + (x_gradients * tangents).sum()}, {parameters});
    benchmark::DoNotOptimize(gradients[0].data_ptr());
  }
  const Operations operations(b.shape);
  Report(state, b.structure.size(), operations.forward + operations.tangents);
}

void Sizes(benchmark::internal::Benchmark* b) {
  for (const int structures : {1, 6, 64}) {
    for (const int channels : {16, 32, 64}) b->Args({structures, channels});
  }
}

BENCHMARK_TEMPLATE(BM_Evaluate, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_ForwardWithInputGradients, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_AddEnergyAndTangentGradients, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, double)->Args({6, 32})->Args({6, 64});
BENCHMARK_TEMPLATE(BM_SecondOrderLibTorch, float)->Args({6, 32})->Args({6, 64});

}  // namespace
}  // namespace rutile
