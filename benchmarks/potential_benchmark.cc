// Training of energies on cached features: the kernel, and its pieces.
//
// 32 structures of the TiO2 set (21 atoms, a third Ti), 20 features, two hidden layers of 16: items are atoms. "flop/s"
// counts the products of the networks alone (forward, and two products for each layer backward but one for the first),
// two operations each.

#include <benchmark/benchmark.h>

#include <vector>

#include "lib/base/random.h"
#include "lib/potential/energy_kernel.h"
#include "lib/potential/network_init.h"

namespace rutile {
namespace {

template <typename T>
struct Batch {
  explicit Batch(int num_structures) : num_structures(num_structures) {
    shape = {2, 20, {16, 16}, Activation::kTanh};
    for (const double p : InitialNetworkParameters(shape, 1)) parameters.push_back(static_cast<T>(p));
    RandomStream random(1, "benchmark");
    for (const int per_structure : {7, 14}) {
      for (int s = 0; s < num_structures; ++s) structure.insert(structure.end(), per_structure, s);
      species_offset.push_back(structure.size());
    }
    for (int64_t i = 0; i < structure.size() * shape.num_features; ++i) x.push_back(static_cast<T>(random.Normal()));
    slopes.assign(num_structures, 0.01);
    sums.resize(num_structures);
    gradients.resize(parameters.size());
  }
  AtomRows<T> rows() const { return {x, species_offset, structure}; }

  int num_structures;
  NetworkShape shape;
  std::vector<T> parameters, x, gradients;
  std::vector<int64_t> species_offset = {0};
  std::vector<int32_t> structure;
  std::vector<double> slopes, sums;
};

// Products for each atom and pass.
double ForwardProducts(const NetworkShape& shape) {
  double products = 0;
  for (int l = 0; l < shape.num_layers(); ++l) products += double{1} * shape.layer_inputs(l) * shape.layer_outputs(l);
  return products;
}
double StepProducts(const NetworkShape& shape) {
  return 3 * ForwardProducts(shape) - double{1} * shape.layer_inputs(0) * shape.layer_outputs(0);
}

void Report(benchmark::State& state, int64_t atoms, double products) {
  state.SetItemsProcessed(state.iterations() * atoms);
  state.counters["flop/s"] = benchmark::Counter(2 * products * atoms, benchmark::Counter::kIsIterationInvariantRate);
}

template <typename T>
void BM_KernelStep(benchmark::State& state) {
  Batch<T> b(state.range(0));
  EnergyKernel<T> kernel(b.shape);
  for (auto _ : state) {
    kernel.Forward(b.parameters, b.rows(), absl::MakeSpan(b.sums));
    kernel.Backward(b.parameters, b.rows(), b.slopes, absl::MakeSpan(b.gradients));
    benchmark::DoNotOptimize(b.gradients.data());
  }
  Report(state, b.structure.size(), StepProducts(b.shape));
}
BENCHMARK_TEMPLATE(BM_KernelStep, float)->Arg(1)->Arg(32)->Arg(256);
BENCHMARK_TEMPLATE(BM_KernelStep, double)->Arg(32);

template <typename T>
void BM_KernelForward(benchmark::State& state) {
  Batch<T> b(state.range(0));
  EnergyKernel<T> kernel(b.shape);
  for (auto _ : state) {
    kernel.Evaluate(b.parameters, b.rows(), absl::MakeSpan(b.sums));
    benchmark::DoNotOptimize(b.sums.data());
  }
  Report(state, b.structure.size(), ForwardProducts(b.shape));
}
BENCHMARK_TEMPLATE(BM_KernelForward, float)->Arg(32);
BENCHMARK_TEMPLATE(BM_KernelForward, double)->Arg(32);

}  // namespace
}  // namespace rutile
