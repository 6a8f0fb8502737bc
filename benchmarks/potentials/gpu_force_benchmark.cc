// Measures steps of force training on a GPU: from parameters on the host to gradients on the host.
//
// data/tio2-pbe (403 structures, 2418 atoms) is loaded as many times as the batch needs, each time as structures of its
// own, so that no two of a batch share memory. Networks of two hidden layers; items are atoms. Arguments: descriptor (0
// is rad 4.0/5, ang 3.0/3; 1 is train's default), width of the hidden layers, copies of the data in a batch.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "lib/potential/data/atomic_data.h"
#include "lib/potential/gpu/force_step.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/device_force_kernel.h"
#include "lib/potential/training/force_task.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

AtomicData DataOf(int64_t which) {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  if (which == 0) {
    options.descriptor->chebyshev().rad_order = 5;
    options.descriptor->chebyshev().rad_cutoff = 4.0;
    options.descriptor->chebyshev().ang_order = 3;
    options.descriptor->chebyshev().ang_cutoff = 3.0;
  } else {
    options.descriptor->chebyshev().ang_order = 4;
    options.descriptor->chebyshev().ang_cutoff = 5;
    options.descriptor->chebyshev().nearer = {{4, 3}};
  }
  AtomicData data = *AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
  CHECK(data.CacheNeighbors(false, "", int64_t{1} << 32, 1).ok());
  return data;
}

template <typename T>
void BM_GpuForceStep(benchmark::State& state) {
  const AtomicData data = DataOf(state.range(0));
  AtomisticTaskOptions options;
  const auto width = static_cast<int>(state.range(1));
  options.hidden = {width, width};
  options.activation = state.range(0) == 0 ? Activation::kTanh : Activation::kSilu;
  options.precision = DTypeOf<T>();
  options.loss.energy_weight = 0.7;
  options.loss.force_weight = 0.3;
  std::vector<int64_t> all(data.num_structures());
  std::iota(all.begin(), all.end(), 0);
  const std::unique_ptr<ForceTask> task = *ForceTask::Create(data, options, all);
  std::string error;
  const std::unique_ptr<ForceStep<T>> step =
      MakeCudaForceStep<T>(MakeStepModel(task->model(), options.loss), 0, &error);
  if (step == nullptr) return state.SkipWithError(error.c_str());

  const int64_t copies = state.range(2), n = data.num_structures(), b = copies * n;
  std::vector<Matrix3> cells(n);
  std::vector<StepStructure> structures(b);
  std::vector<int64_t> structure(b);
  const std::vector<uint8_t> learns_forces(b, 1);
  int64_t atoms = 0;
  for (int64_t k = 0; k < b; ++k) {
    const int64_t s = k % n;
    const PairView pairs = data.pairs(s);
    cells[s] = data.cell(s);
    structures[k].pairs = {data.num_atoms(s),   data.position(s).data(),
                           cells[s].data(),     data.species(s).data(),
                           pairs.offset.data(), pairs.j,
                           pairs.shift,         pairs.first_atom};
    structures[k].force = data.force(s).data();
    structures[k].target = task->model().targets()[s];
    structure[k] = k;
    atoms += data.num_atoms(s);
  }
  if (const std::string failure = step->Load(structures); !failure.empty()) {
    return state.SkipWithError(failure.c_str());
  }
  const StepBatch batch = {b, structure.data(), learns_forces.data(), nullptr};
  const Tensor parameters = task->InitialParameters(1);
  std::vector<T> gradients(2 * parameters.num_elements());
  std::vector<StepResult> results(b);
  std::string failure;
  for (auto _ : state) {
    failure = step->Run(parameters.values<T>().data(), batch, gradients.data(), results.data());
    if (!failure.empty()) return state.SkipWithError(failure.c_str());
  }
  state.SetItemsProcessed(state.iterations() * atoms);
  state.counters["atoms"] = static_cast<double>(atoms);
  state.counters["MB"] = static_cast<double>(step->bytes()) / 1e6;
}
BENCHMARK_TEMPLATE(BM_GpuForceStep, float)
    ->Args({0, 16, 1})
    ->Args({0, 16, 4})
    ->Args({0, 16, 32})
    ->Args({0, 16, 128})
    ->Args({1, 32, 1})
    ->Args({1, 32, 32})
    ->Args({1, 32, 128})
    ->UseRealTime();
BENCHMARK_TEMPLATE(BM_GpuForceStep, double)->Args({0, 16, 32})->UseRealTime();

}  // namespace
}  // namespace rutile
