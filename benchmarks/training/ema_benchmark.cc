// Measures what the moving average of the parameters costs beside the optimizer: a step of Adam alone, and with EMA.
// Energies of a small potential have 2 000 parameters, a wide one 50 000, an embedding model 1 000 000. The last
// benchmark is the average as two passes, which is how an eager framework runs it (without its cost per operation).

#include <benchmark/benchmark.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "lib/base/random.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

constexpr int64_t kRunSteps = 1000000;

Tensor RandomTensor(DType dtype, int64_t n, absl::string_view purpose) {
  Tensor tensor = Tensor::Zeros(dtype, {n});
  RandomStream stream(1, purpose);
  for (int64_t i = 0; i < n; ++i) {
    const double value = stream.Normal();
    if (dtype == DType::kF32) {
      tensor.mutable_values<float>()[i] = static_cast<float>(value);
    } else {
      tensor.mutable_values<double>()[i] = value;
    }
  }
  return tensor;
}

enum Work { kAdam = 1, kEma = 2 };

template <DType kDType, int kWork>
void BM_Step(benchmark::State& state) {
  const int64_t n = state.range(0);
  Tensor parameters = RandomTensor(kDType, n, "parameters");
  const Tensor gradient = RandomTensor(kDType, n, "gradient");
  const auto adam = MakeOptimizer(OptimizerOptions(), kDType, n);
  Ema ema(EmaOptions(), kDType, n, kRunSteps);
  int64_t step = 0;
  for (auto _ : state) {
    ++step;
    if ((kWork & kAdam) != 0) adam->Step(1e-6, gradient, &parameters);
    if ((kWork & kEma) != 0) ema.Update(parameters, step);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK_TEMPLATE(BM_Step, DType::kF32, kAdam)->Arg(2000)->Arg(50000)->Arg(1000000);
BENCHMARK_TEMPLATE(BM_Step, DType::kF32, kAdam | kEma)->Arg(2000)->Arg(50000)->Arg(1000000);
BENCHMARK_TEMPLATE(BM_Step, DType::kF32, kEma)->Arg(2000)->Arg(50000)->Arg(1000000);
BENCHMARK_TEMPLATE(BM_Step, DType::kF64, kAdam)->Arg(2000)->Arg(50000)->Arg(1000000);
BENCHMARK_TEMPLATE(BM_Step, DType::kF64, kAdam | kEma)->Arg(2000)->Arg(50000)->Arg(1000000);

void BM_EmaTwoPasses(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor parameters = RandomTensor(DType::kF32, n, "parameters");
  Tensor average = RandomTensor(DType::kF32, n, "average");
  const float* p = parameters.values<float>().data();
  float* a = average.mutable_values<float>().data();
  for (auto _ : state) {
    for (int64_t i = 0; i < n; ++i) a[i] *= 0.999F;
    for (int64_t i = 0; i < n; ++i) a[i] += 0.001F * p[i];
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(BM_EmaTwoPasses)->Arg(2000)->Arg(50000)->Arg(1000000);

}  // namespace
}  // namespace rutile
