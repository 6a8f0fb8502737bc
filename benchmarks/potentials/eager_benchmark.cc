// Measures a training step on energies by each compile mode and precision: fused kernels beside LibTorch's operations.
//
// data/tio2-pbe, rad 8.0/16, ang 6.5/4 (44 features), two hidden layers of the first argument, batches of the second
// argument (512: some structures twice), one thread; items are atoms.

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/task/eager_options.h"
#include "lib/task/task.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/step/gradient_step.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

AtomicData ReadData() {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_order = 16;
  options.descriptor->chebyshev().rad_cutoff = 8.0;
  options.descriptor->chebyshev().ang_order = 4;
  options.descriptor->chebyshev().ang_cutoff = 6.5;
  return *AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
}

std::unique_ptr<AtomisticTask> MakeTask(const AtomicData& data, int width, bool mixed_precision = false) {
  AtomisticTaskOptions options;
  options.mixed_precision = mixed_precision;
  options.hidden = {width, width};
  std::vector<int64_t> all(data.num_structures());
  std::iota(all.begin(), all.end(), 0);
  return *AtomisticTask::Create(data, options, all);
}

// Runs steps; add() adds a batch's gradients.
template <typename Add>
void RunSteps(benchmark::State& state, const AtomicData& data, AtomisticTask* task, const Add& add) {
  at::set_num_threads(1);
  std::vector<int64_t> examples(state.range(1));
  int64_t atoms = 0;
  for (size_t i = 0; i < examples.size(); ++i) {
    examples[i] = static_cast<int64_t>(i * 7) % data.num_structures();
    atoms += data.num_atoms(examples[i]);
  }
  NamedTensors batch;
  CHECK(task->MakeBatch(examples, &batch).ok());
  const Tensor parameters = task->InitialParameters(1);
  std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF32, {task->num_parameters()})};
  for (auto _ : state) {
    SetToZero(absl::MakeSpan(gradients));
    TermSums sums(1);
    CHECK(add(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
  }
  state.SetItemsProcessed(state.iterations() * atoms);
}

void RunKernel(benchmark::State& state, bool mixed_precision) {
  const AtomicData data = ReadData();
  const auto task = MakeTask(data, static_cast<int>(state.range(0)), mixed_precision);
  RunSteps(state, data, task.get(),
           [&](const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients, TermSums* sums) {
             return task->AccumulateGradients(parameters, batch, gradients, sums);
           });
}

void BM_Eager(benchmark::State& state, bool script, Precision mixed) {
  const AtomicData data = ReadData();
  const auto task = MakeTask(data, static_cast<int>(state.range(0)));
  EagerOptions options;
  options.script = script;
  options.precision = mixed;
  if (const absl::Status status = CheckEager(*task, options); !status.ok()) {
    return state.SkipWithError(std::string(status.message()).c_str());
  }
  EagerGradients eager(*task, options);
  RunSteps(state, data, task.get(),
           [&](const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients, TermSums* sums) {
             return eager.Add(parameters, batch, /*scale=*/1, gradients, sums);
           });
}

void BM_Compile(benchmark::State& state) { RunKernel(state, /*mixed_precision=*/false); }
void BM_CompileBf16(benchmark::State& state) { RunKernel(state, /*mixed_precision=*/true); }

void Sizes(benchmark::internal::Benchmark* b) { b->ArgsProduct({{15, 64, 200, 512}, {32, 512}}); }
BENCHMARK(BM_Compile)->Apply(Sizes);
BENCHMARK(BM_CompileBf16)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Eager, none, false, Precision::kAuto)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Eager, script, true, Precision::kAuto)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Eager, none_bf16, false, Precision::kBf16Mixed)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Eager, script_bf16, true, Precision::kBf16Mixed)->Apply(Sizes);

}  // namespace
}  // namespace rutile
