// Compares the networks of a potential at all widths: the kernel, in each of its forms, beside LibTorch's autograd, in
// first and second order; with bf16, in mixed precision.
//
// Arguments: structures (21 atoms each, a third Ti), neurons of each of two hidden layers. 44 features, tanh, one
// thread; items are atoms. "flop/s" counts the products alone, two operations each.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "lib/base/random.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_reference.h"
#include "lib/network/network_shape.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/tensorfile_torch.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

template <typename T>
struct Batch {
  Batch(int64_t num_structures, int width) : num_structures(num_structures) {
    shape = {2, 44, {width, width}, Activation::kTanh};
    for (const double p : InitialNetworkParameters(shape, 1)) parameters.push_back(static_cast<T>(p));
    RandomStream random(1, "benchmark");
    for (const int per_structure : {7, 14}) {
      for (int s = 0; s < num_structures; ++s) structure.insert(structure.end(), per_structure, s);
      species_offset.push_back(structure.size());
    }
    for (size_t i = 0; i < structure.size() * shape.num_features; ++i) x.push_back(static_cast<T>(random.Normal()));
    for (size_t i = 0; i < x.size(); ++i) tangents.push_back(static_cast<T>(random.Normal()));
    x_gradients.resize(x.size());
    slopes.assign(num_structures, 0.01);
    sums.resize(num_structures);
    gradients.resize(parameters.size());
  }
  AtomRows<T> rows() const { return {x, species_offset, structure}; }

  int64_t num_structures;
  NetworkShape shape;
  std::vector<T> parameters, x, gradients, tangents, x_gradients;
  std::vector<int64_t> species_offset = {0};
  std::vector<int32_t> structure;
  std::vector<double> slopes, sums;
};

// Returns the products for each atom: forward, and two for each layer backward but one for the first.
double Products(const NetworkShape& shape) {
  double products = 0;
  for (int l = 0; l < shape.num_layers(); ++l) products += double{1} * shape.layer_inputs(l) * shape.layer_outputs(l);
  return products;
}
double StepProducts(const NetworkShape& shape) {
  return 3 * Products(shape) - double{1} * shape.layer_inputs(0) * shape.layer_outputs(0);
}
// Returns the products forward, back to x, of tangents forward and back, and of two outer products.
double SecondOrderProducts(const NetworkShape& shape) {
  const double all = Products(shape), last = shape.layer_inputs(shape.num_layers() - 1);
  const double first = double{1} * shape.layer_inputs(0) * shape.layer_outputs(0);
  return 2 * all + (all - last) + (all - first - last) + 2 * (all - last);
}

void Report(benchmark::State& state, int64_t atoms, double products) {
  state.SetItemsProcessed(state.iterations() * atoms);
  state.counters["flop/s"] = benchmark::Counter(2 * products * atoms, benchmark::Counter::kIsIterationInvariantRate);
}

// The kernel's forms: its own choice, blocks, matrices, and matrices with rounded factors.
enum Form { kChosen, kBlocks, kMatrices, kBf16 };

template <typename T>
void SetForm(Form form, NetworkKernel<T>* kernel) {
  KernelPlan plan;
  if (form == kBlocks) plan.algorithm = NetworkAlgorithm::kFused;
  if (form == kMatrices) plan = {kWideAtoms, GradientForm::kAuto, NetworkAlgorithm::kGemm};
  kernel->SetPlan(plan);
  if (form == kBf16) kernel->SetRounding(true);
}

template <typename T, Form kForm = kChosen>
void BM_Step(benchmark::State& state) {
  Batch<T> b(state.range(0), state.range(1));
  NetworkKernel<T> kernel(b.shape);
  SetForm(kForm, &kernel);
  for (auto _ : state) {
    kernel.Forward(b.parameters, b.rows(), absl::MakeSpan(b.sums));
    kernel.Backward(b.parameters, b.rows(), b.slopes, absl::MakeSpan(b.gradients));
    benchmark::DoNotOptimize(b.gradients.data());
  }
  Report(state, b.structure.size(), StepProducts(b.shape));
}

EagerOptions Eager(bool bf16) {
  EagerOptions eager;
  if (bf16) eager.precision = Precision::kBf16Mixed;
  return eager;
}

template <typename T, bool kBf16 = false>
void BM_StepLibTorch(benchmark::State& state) {
  at::set_num_threads(1);
  const Batch<T> b(state.range(0), state.range(1));
  const Tensor x = Tensor::Of<T>(b.x, {b.species_offset.back(), b.shape.num_features});
  const Tensor offset = Tensor::Of(b.species_offset), structure = Tensor::Of(b.structure);
  const at::Tensor slopes = ToTorch(Tensor::Of(b.slopes));
  at::Tensor parameters = ToTorch(Tensor::Of(b.parameters)).requires_grad_();
  for (auto _ : state) {
    const at::Tensor sums =
        ReferenceEnergySums(b.shape, parameters, x, offset, structure, b.num_structures, Eager(kBf16));
    (sums * slopes).sum().backward();
    benchmark::DoNotOptimize(parameters.grad().data_ptr());
  }
  Report(state, b.structure.size(), StepProducts(b.shape));
}

template <typename T, Form kForm = kChosen>
void BM_SecondOrder(benchmark::State& state) {
  Batch<T> b(state.range(0), state.range(1));
  NetworkKernel<T> kernel(b.shape);
  SetForm(kForm, &kernel);
  for (auto _ : state) {
    kernel.ForwardWithInputGradients(b.parameters, b.rows(), absl::MakeSpan(b.sums), absl::MakeSpan(b.x_gradients));
    kernel.AddEnergyAndTangentGradients(b.parameters, b.rows(), b.slopes, b.tangents, absl::MakeSpan(b.gradients));
    benchmark::DoNotOptimize(b.gradients.data());
  }
  Report(state, b.structure.size(), SecondOrderProducts(b.shape));
}

template <typename T, bool kBf16 = false>
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
    const at::Tensor sums =
        ReferenceEnergySums(b.shape, parameters, x, offset, structure, b.num_structures, Eager(kBf16));
    const at::Tensor x_gradients = grad({sums.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    const auto gradients = grad({(sums * slopes).sum() + (x_gradients * tangents).sum()}, {parameters});
    benchmark::DoNotOptimize(gradients[0].data_ptr());
  }
  Report(state, b.structure.size(), SecondOrderProducts(b.shape));
}

void Sizes(benchmark::internal::Benchmark* b) {
  for (const int structures : {1, 6, 32, 512}) {
    for (const int width : {15, 32, 64, 128, 200, 256, 384, 512, 1024}) b->Args({structures, width});
  }
}

BENCHMARK_TEMPLATE(BM_Step, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_StepLibTorch, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrderLibTorch, float)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Step, double)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_StepLibTorch, double)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, double)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrderLibTorch, double)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Step, float, kBlocks)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Step, float, kMatrices)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Step, float, kBf16)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_StepLibTorch, float, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, float, kBlocks)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, float, kMatrices)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, float, kBf16)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrderLibTorch, float, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Step, double, kBlocks)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Step, double, kMatrices)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, double, kBlocks)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_SecondOrder, double, kMatrices)->Apply(Sizes);

}  // namespace
}  // namespace rutile
