// Measures steps of RMSprop, Adagrad and schedule-free AdamW: the fused pass beside the formulas as separate passes,
// which is how an eager framework runs them (train_benchmark has Adam). Parameter groups measure the cost of dividing a
// step into ranges. Frozen networks measure what a step of the kernel of energies, or of forces, saves if the Ti or the
// O network of TiO2 is frozen. 1 500 parameters are two networks of two layers of 16 on 26 features; 50 000 layers of
// 200; 3 000 000 an embedding model, larger than the caches.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/random.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_shape.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_kernel.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

struct State {
  explicit State(int64_t n) : g(n), m(n), v(n), p(n), scratch(n) {
    RandomStream stream(1, "benchmark");
    for (float& value : g) value = static_cast<float>(stream.Normal());
  }
  std::vector<float> g, m, v, p, scratch;
};

struct FusedRmsprop {
  static void Run(State* s) {
    RmspropStep step;
    step.alpha = 0.99;
    step.epsilon = 1e-8;
    step.momentum = 0.9;
    step.learning_rate = 1e-2;
    RmspropUpdate(step, absl::MakeConstSpan(s->g), absl::MakeSpan(s->v), {}, absl::MakeSpan(s->m),
                  absl::MakeSpan(s->p));
  }
};

struct SeparateRmsprop {
  static void Run(State* s) {
    const size_t n = s->p.size();
    for (size_t i = 0; i < n; ++i) s->v[i] *= 0.99f;
    for (size_t i = 0; i < n; ++i) s->v[i] += 0.01f * s->g[i] * s->g[i];
    for (size_t i = 0; i < n; ++i) s->scratch[i] = std::sqrt(s->v[i]);
    for (size_t i = 0; i < n; ++i) s->scratch[i] += 1e-8f;
    for (size_t i = 0; i < n; ++i) s->m[i] *= 0.9f;
    for (size_t i = 0; i < n; ++i) s->m[i] += s->g[i] / s->scratch[i];
    for (size_t i = 0; i < n; ++i) s->p[i] -= 1e-2f * s->m[i];
  }
};

struct FusedAdagrad {
  static void Run(State* s) {
    AdagradStep step;
    step.epsilon = 1e-10;
    step.step_size = 1e-2;
    AdagradUpdate(step, absl::MakeConstSpan(s->g), absl::MakeSpan(s->v), absl::MakeSpan(s->p));
  }
};

struct SeparateAdagrad {
  static void Run(State* s) {
    const size_t n = s->p.size();
    for (size_t i = 0; i < n; ++i) s->v[i] += s->g[i] * s->g[i];
    for (size_t i = 0; i < n; ++i) s->scratch[i] = std::sqrt(s->v[i]);
    for (size_t i = 0; i < n; ++i) s->scratch[i] += 1e-10f;
    for (size_t i = 0; i < n; ++i) s->p[i] -= 1e-2f * (s->g[i] / s->scratch[i]);
  }
};

struct FusedScheduleFree {
  static void Run(State* s) {
    ScheduleFreeStep step;
    step.beta2 = 0.999;
    step.epsilon = 1e-8;
    step.root_correction2 = 0.5;
    step.share = 0.01;
    step.y_rate = 3e-4;
    step.learning_rate = 2.5e-3;
    ScheduleFreeUpdate(step, absl::MakeConstSpan(s->g), absl::MakeSpan(s->v), absl::MakeSpan(s->m),
                       absl::MakeSpan(s->p));
  }
};

struct SeparateScheduleFree {
  static void Run(State* s) {
    const size_t n = s->p.size();
    for (size_t i = 0; i < n; ++i) s->v[i] *= 0.999f;
    for (size_t i = 0; i < n; ++i) s->v[i] += 0.001f * s->g[i] * s->g[i];
    for (size_t i = 0; i < n; ++i) s->scratch[i] = std::sqrt(s->v[i]);
    for (size_t i = 0; i < n; ++i) s->scratch[i] = s->scratch[i] / 0.5f + 1e-8f;
    for (size_t i = 0; i < n; ++i) s->scratch[i] = s->g[i] / s->scratch[i];
    for (size_t i = 0; i < n; ++i) s->p[i] += 0.01f * (s->m[i] - s->p[i]);
    for (size_t i = 0; i < n; ++i) s->p[i] -= 3e-4f * s->scratch[i];
    for (size_t i = 0; i < n; ++i) s->m[i] -= 2.5e-3f * s->scratch[i];
  }
};

template <class Update>
void BM_Update(benchmark::State& state) {
  State s(state.range(0));
  for (auto _ : state) {
    Update::Run(&s);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_TEMPLATE(BM_Update, SeparateRmsprop)->Arg(1500)->Arg(50000)->Arg(3000000);
BENCHMARK_TEMPLATE(BM_Update, FusedRmsprop)->Arg(1500)->Arg(50000)->Arg(3000000);
BENCHMARK_TEMPLATE(BM_Update, SeparateAdagrad)->Arg(1500)->Arg(50000)->Arg(3000000);
BENCHMARK_TEMPLATE(BM_Update, FusedAdagrad)->Arg(1500)->Arg(50000)->Arg(3000000);
BENCHMARK_TEMPLATE(BM_Update, SeparateScheduleFree)->Arg(1500)->Arg(50000)->Arg(3000000);
BENCHMARK_TEMPLATE(BM_Update, FusedScheduleFree)->Arg(1500)->Arg(50000)->Arg(3000000);

// Measures a step of AdamW on 1 500 parameters in several ranges: 1 by default; 12, six layers whose biases do not
// decay.
void BM_Ranges(benchmark::State& state) {
  constexpr int64_t kSize = 1500;
  std::vector<ParameterRange> ranges;
  const int64_t count = state.range(0);
  for (int64_t r = 0; r < count; ++r) ranges.push_back({r * kSize / count, kSize / count, r % 2 == 0});
  const auto adamw = MakeOptimizer(DefaultOptimizerOptions("adamw").value(), DType::kF32, ranges);
  Tensor gradient = Tensor::Zeros(DType::kF32, {kSize}), parameters = Tensor::Zeros(DType::kF32, {kSize});
  for (auto _ : state) adamw->Step(1e-3, gradient, &parameters);
  state.SetItemsProcessed(state.iterations() * kSize);
}
BENCHMARK(BM_Ranges)->Arg(1)->Arg(12);

// Data are 32 structures of 21 atoms, a third of them Ti, 26 features, two hidden layers of 16, fp32, one thread; items
// are atoms. Arguments: what is frozen (0 nothing, 1 the Ti network, 2 the O network), and 0 for energies, 1 for forces
// as well.
void BM_FrozenNetwork(benchmark::State& state) {
  constexpr int kStructures = 32;
  const NetworkShape shape = {2, 26, {16, 16}, Activation::kTanh};
  std::vector<float> parameters, x, tangents;
  for (const double p : InitialNetworkParameters(shape, 1)) parameters.push_back(static_cast<float>(p));
  std::vector<int64_t> species_offset = {0};
  std::vector<int32_t> structure;
  for (const int per_structure : {7, 14}) {
    for (int s = 0; s < kStructures; ++s) structure.insert(structure.end(), per_structure, s);
    species_offset.push_back(static_cast<int64_t>(structure.size()));
  }
  RandomStream random(1, "benchmark");
  for (size_t i = 0; i < structure.size() * shape.num_features; ++i) {
    x.push_back(static_cast<float>(random.Normal()));
    tangents.push_back(static_cast<float>(random.Normal()));
  }
  std::vector<float> x_gradients(x.size()), gradients(parameters.size());
  std::vector<double> slopes(kStructures, 0.01), sums(kStructures);
  const AtomRows<float> rows = {x, species_offset, structure};
  NetworkKernel<float> kernel(shape);
  if (state.range(0) > 0) kernel.SetFrozen({state.range(0) == 1, state.range(0) == 2});
  for (auto _ : state) {
    if (state.range(1) == 0) {
      kernel.Forward(parameters, rows, absl::MakeSpan(sums));
      kernel.Backward(parameters, rows, slopes, absl::MakeSpan(gradients));
    } else {
      kernel.ForwardWithInputGradients(parameters, rows, absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
      kernel.AddEnergyGradients(parameters, rows, slopes, absl::MakeSpan(gradients));
      kernel.AddTangentGradients(parameters, rows, tangents, absl::MakeSpan(gradients));
    }
    benchmark::DoNotOptimize(gradients.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(structure.size()));
}
BENCHMARK(BM_FrozenNetwork)->ArgsProduct({{0, 1, 2}, {0, 1}});

}  // namespace
}  // namespace rutile
