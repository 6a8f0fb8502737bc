// Measures training on energies with cached features: the kernel beside LibTorch's autograd, a whole epoch, and the
// pieces.
//
// 32 structures of 21 atoms (a third Ti), 20 features, two hidden layers of 16, one thread: items are atoms. "flop/s"
// counts the products of the networks alone (forward, and two products for each layer backward but one for the first),
// two operations each; BM_FmaPeak is what the core could do.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_reference.h"
#include "lib/optimizer/optimizer_kernel.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/tensorfile/tensorfile_torch.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

template <typename T>
struct Batch {
  explicit Batch(int num_structures, int num_features = 20) : num_structures(num_structures) {
    shape = {2, num_features, {16, 16}, Activation::kTanh};
    for (const double p : InitialNetworkParameters(shape, 1)) parameters.push_back(static_cast<T>(p));
    RandomStream random(1, "benchmark");
    for (const int per_structure : {7, 14}) {
      for (int s = 0; s < num_structures; ++s) structure.insert(structure.end(), per_structure, s);
      species_offset.push_back(structure.size());
    }
    for (int64_t i = 0; i < structure.size() * shape.num_features; ++i) x.push_back(static_cast<T>(random.Normal()));
    for (size_t i = 0; i < x.size(); ++i) tangents.push_back(static_cast<T>(random.Normal()));
    x_gradients.resize(x.size());
    slopes.assign(num_structures, 0.01);
    sums.resize(num_structures);
    gradients.resize(parameters.size());
  }
  AtomRows<T> rows() const { return {x, species_offset, structure}; }

  int num_structures;
  NetworkShape shape;
  std::vector<T> parameters, x, gradients, tangents, x_gradients;
  std::vector<int64_t> species_offset = {0};
  std::vector<int32_t> structure;
  std::vector<double> slopes, sums;
};

// Returns the products for each atom and pass.
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
  NetworkKernel<T> kernel(b.shape);
  for (auto _ : state) {
    kernel.Forward(b.parameters, b.rows(), absl::MakeSpan(b.sums));
    kernel.Backward(b.parameters, b.rows(), b.slopes, absl::MakeSpan(b.gradients));
    benchmark::DoNotOptimize(b.gradients.data());
  }
  Report(state, b.structure.size(), StepProducts(b.shape));
}
BENCHMARK_TEMPLATE(BM_KernelStep, float)->Arg(1)->Arg(32)->Arg(256);
BENCHMARK_TEMPLATE(BM_KernelStep, double)->Arg(32);

// Runs the step by the definition of the task: LibTorch's operations and autograd.
template <typename T>
void BM_AutogradStep(benchmark::State& state) {
  at::set_num_threads(1);
  const Batch<T> b(state.range(0));
  const Tensor x = Tensor::Of<T>(b.x, {b.species_offset.back(), b.shape.num_features});
  const Tensor offset = Tensor::Of(b.species_offset), structure = Tensor::Of(b.structure);
  const at::Tensor slopes = ToTorch(Tensor::Of(b.slopes));
  at::Tensor parameters = ToTorch(Tensor::Of(b.parameters)).requires_grad_();
  for (auto _ : state) {
    const at::Tensor sums = ReferenceEnergySums(b.shape, parameters, x, offset, structure, b.num_structures);
    (sums * slopes).sum().backward();
    benchmark::DoNotOptimize(parameters.grad().data_ptr());
  }
  Report(state, b.structure.size(), StepProducts(b.shape));
}
BENCHMARK_TEMPLATE(BM_AutogradStep, float)->Arg(1)->Arg(32)->Arg(256);
BENCHMARK_TEMPLATE(BM_AutogradStep, double)->Arg(32);

// Computes what a force loss needs of the networks: energies and d energy / d x of all atoms, then the gradients of
// both. Tangents stand for what the descriptor's Jacobian makes of force errors. Arguments: structures, features.
double SecondOrderProducts(const NetworkShape& shape) {
  const double all = ForwardProducts(shape), last = shape.layer_inputs(shape.num_layers() - 1);
  const double first = double{1} * shape.layer_inputs(0) * shape.layer_outputs(0);
  // The products are forward, back to x, energy gradients, tangents forward and back, two outer products.
  return 3 * all + (all - last) + (all - first - last) + 2 * (all - last);
}

enum class Part { kAll, kForward, kEnergy, kTangent, kTogether };

template <typename T, Part part>
void BM_SecondOrder(benchmark::State& state) {
  Batch<T> b(state.range(0), state.range(1));
  NetworkKernel<T> kernel(b.shape);
  const auto forward = [&] {
    kernel.ForwardWithInputGradients(b.parameters, b.rows(), absl::MakeSpan(b.sums), absl::MakeSpan(b.x_gradients));
  };
  const absl::Span<T> gradients = absl::MakeSpan(b.gradients);
  forward();
  for (auto _ : state) {
    if (part == Part::kAll || part == Part::kTogether || part == Part::kForward) forward();
    if (part == Part::kAll || part == Part::kEnergy) {
      kernel.AddEnergyGradients(b.parameters, b.rows(), b.slopes, gradients);
    }
    if (part == Part::kAll || part == Part::kTangent) {
      kernel.AddTangentGradients(b.parameters, b.rows(), b.tangents, gradients);
    }
    if (part == Part::kTogether) {
      kernel.AddEnergyAndTangentGradients(b.parameters, b.rows(), b.slopes, b.tangents, gradients);
    }
    benchmark::DoNotOptimize(b.gradients.data());
  }
  if (part == Part::kAll) {
    Report(state, b.structure.size(), SecondOrderProducts(b.shape));
  } else {
    state.SetItemsProcessed(state.iterations() * b.structure.size());
  }
}
BENCHMARK_TEMPLATE(BM_SecondOrder, float, Part::kAll)->Args({1, 20})->Args({32, 20})->Args({256, 20})->Args({32, 44});
BENCHMARK_TEMPLATE(BM_SecondOrder, float, Part::kTogether)->Args({32, 20})->Args({32, 44});
BENCHMARK_TEMPLATE(BM_SecondOrder, float, Part::kForward)->Args({32, 20})->Args({32, 44});
BENCHMARK_TEMPLATE(BM_SecondOrder, float, Part::kEnergy)->Args({32, 20})->Args({32, 44});
BENCHMARK_TEMPLATE(BM_SecondOrder, float, Part::kTangent)->Args({32, 20})->Args({32, 44});
BENCHMARK_TEMPLATE(BM_SecondOrder, double, Part::kAll)->Args({32, 20})->Args({32, 44});

// Computes these by autograd of autograd.
template <typename T>
void BM_AutogradSecondOrder(benchmark::State& state) {
  using torch::autograd::grad;
  at::set_num_threads(1);
  const Batch<T> b(state.range(0), state.range(1));
  const at::Tensor x = ToTorch(Tensor::Of<T>(b.x, {b.species_offset.back(), b.shape.num_features})).requires_grad_();
  const at::Tensor tangents = ToTorch(Tensor::Of<T>(b.tangents, {b.species_offset.back(), b.shape.num_features}));
  const Tensor offset = Tensor::Of(b.species_offset), structure = Tensor::Of(b.structure);
  const at::Tensor slopes = ToTorch(Tensor::Of(b.slopes));
  const at::Tensor parameters = ToTorch(Tensor::Of(b.parameters)).requires_grad_();
  for (auto _ : state) {
    const at::Tensor sums = ReferenceEnergySums(b.shape, parameters, x, offset, structure, b.num_structures);
    const at::Tensor x_gradients = grad({sums.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    const auto gradients = grad({(sums * slopes).sum() + (x_gradients * tangents).sum()}, {parameters});
    benchmark::DoNotOptimize(gradients[0].data_ptr());
  }
  Report(state, b.structure.size(), SecondOrderProducts(b.shape));
}
BENCHMARK_TEMPLATE(BM_AutogradSecondOrder, float)->Args({1, 20})->Args({32, 20})->Args({256, 20})->Args({32, 44});
BENCHMARK_TEMPLATE(BM_AutogradSecondOrder, double)->Args({32, 20})->Args({32, 44});

template <typename T>
void BM_KernelForward(benchmark::State& state) {
  Batch<T> b(state.range(0));
  NetworkKernel<T> kernel(b.shape);
  for (auto _ : state) {
    kernel.Evaluate(b.parameters, b.rows(), absl::MakeSpan(b.sums));
    benchmark::DoNotOptimize(b.sums.data());
  }
  Report(state, b.structure.size(), ForwardProducts(b.shape));
}
BENCHMARK_TEMPLATE(BM_KernelForward, float)->Arg(32);
BENCHMARK_TEMPLATE(BM_KernelForward, double)->Arg(32);

// Runs an epoch of data/tio2-pbe as train does, in batches of 32: gathering, the kernel, the loss, Adam.
class Epoch {
 public:
  explicit Epoch(DType precision) {
    FeaturizeOptions featurize;
    featurize.descriptor.species = {22, 8};
    featurize.descriptor.rad_order = 5;
    featurize.descriptor.rad_cutoff = 4;
    featurize.descriptor.ang_cutoff = 3;
    const char* const directory = std::getenv("TMPDIR");
    const std::string path = std::string(directory ? directory : "/tmp") + "/rutile_potential_benchmark.safetensors";
    const auto stats = Featurize({"data/tio2-pbe/tio2-pbe.extxyz"}, path, featurize, {});
    CHECK(stats.ok()) << stats.status() << " (run from the root of the repository)";
    const absl::StatusOr<AtomicData> data = AtomicData::Read({path}, {});
    CHECK(data.ok()) << data.status();
    std::remove(path.c_str());
    examples_.resize(data->num_structures());
    std::iota(examples_.begin(), examples_.end(), 0);
    AtomisticTaskOptions options;
    options.hidden = {16, 16};
    options.precision = precision;
    auto task = AtomisticTask::Create(*data, options, examples_);
    CHECK(task.ok()) << task.status();
    task_ = *std::move(task);
    for (const int64_t s : examples_) atoms_ += data->num_atoms(s);
  }

  int64_t atoms() const { return atoms_; }
  Task& task() { return *task_; }

  // Calls use(batch) for each batch of an epoch in a new order.
  template <typename Use>
  void ForBatches(int epoch, const Use& use) {
    const std::vector<int64_t> order = RandomPermutation(examples_.size(), RandomStream(1, "epoch", epoch));
    for (size_t begin = 0; begin < order.size(); begin += 32) {
      CHECK(task_->MakeBatch(absl::MakeConstSpan(order).subspan(begin, 32), &batch_).ok());
      use(batch_);
    }
  }

 private:
  std::vector<int64_t> examples_;
  std::unique_ptr<AtomisticTask> task_;
  int64_t atoms_ = 0;
  NamedTensors batch_;
};

template <typename T>
void BM_Epoch(benchmark::State& state) {
  Epoch epoch(DTypeOf<T>());
  Tensor parameters = epoch.task().InitialParameters(1);
  const int64_t size = parameters.num_elements();
  Tensor gradient = Tensor::Zeros(DTypeOf<T>(), {size}), m = Tensor::Zeros(DTypeOf<T>(), {size}),
         v = Tensor::Zeros(DTypeOf<T>(), {size});
  AdamStep adam;
  adam.beta1 = 0.9;
  adam.beta2 = 0.999;
  adam.epsilon = 1e-8;
  adam.step_size = 1e-3;
  int number = 0;
  for (auto _ : state) {
    epoch.ForBatches(number++, [&](const NamedTensors& batch) {
      const absl::Span<T> g = gradient.mutable_values<T>();
      std::fill(g.begin(), g.end(), T(0));
      TermSums sums(1);
      CHECK(epoch.task().AccumulateGradients(parameters, batch, absl::MakeSpan(&gradient, 1), &sums).ok());
      const T weight = static_cast<T>(epoch.task().CombineTerms(sums).weight[0]);
      for (T& x : g) x *= weight;
      AdamUpdate(adam, g, m.mutable_values<T>(), v.mutable_values<T>(), parameters.mutable_values<T>());
    });
  }
  state.SetItemsProcessed(state.iterations() * epoch.atoms());
}
BENCHMARK_TEMPLATE(BM_Epoch, float)->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(BM_Epoch, double)->Unit(benchmark::kMicrosecond);

void BM_MakeBatches(benchmark::State& state) {
  Epoch epoch(DType::kF32);
  int number = 0;
  for (auto _ : state) {
    epoch.ForBatches(number++, [](const NamedTensors& batch) { benchmark::DoNotOptimize(batch.At("row").data()); });
  }
  state.SetItemsProcessed(state.iterations() * epoch.atoms());
}
BENCHMARK(BM_MakeBatches)->Unit(benchmark::kMicrosecond);

// Runs sixteen independent fp32 products and sums on the widest registers.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) void Multiply(int64_t n, float* values) {
  using Vec = float __attribute__((vector_size(64)));
  Vec acc[16], x, y;
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 16; ++k) acc[i][k] = values[i];
  }
  for (int k = 0; k < 16; ++k) {
    x[k] = values[16];
    y[k] = values[17];
  }
  for (int64_t r = 0; r < n; ++r) {
    for (int i = 0; i < 16; ++i) acc[i] = acc[i] * x + y;
  }
  for (int i = 0; i < 16; ++i) values[i] = acc[i][0];
}

void BM_FmaPeak(benchmark::State& state) {
  std::vector<float> values(18, 0.5f);
  constexpr int64_t kRounds = 10000;
  for (auto _ : state) {
    Multiply(kRounds, values.data());
    benchmark::DoNotOptimize(values.data());
  }
  state.counters["flop/s"] = benchmark::Counter(2.0 * 16 * 16 * kRounds, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_FmaPeak);

}  // namespace
}  // namespace rutile
