// Measures training on energies and forces: the fused step beside LibTorch, and whole epochs as train runs them.
//
// data/tio2-pbe (403 structures), networks of two hidden layers of 16, batches of 32, one thread: items are atoms.
// Descriptors: 0 is rad 4.0/5, ang 3.0/3; 1 is rad 8.0/16, ang 6.5/4.

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_task.h"
#include "lib/task/task.h"
#include "lib/task/torch/reference_gradients.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/step/gradient_step.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

ChebyshevOptions DescriptorOf(int64_t which) {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_order = which == 0 ? 5 : 16;
  options.rad_cutoff = which == 0 ? 4.0 : 8.0;
  options.ang_order = which == 0 ? 3 : 4;
  options.ang_cutoff = which == 0 ? 3.0 : 6.5;
  return options;
}

AtomicData DataOf(int64_t which) {
  AtomicDataOptions options;
  options.descriptor = DescriptorOf(which);
  AtomicData data = *AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
  CHECK(data.CacheNeighbors(false, "", int64_t{1} << 32, 1).ok());
  return data;
}

// A task, parameters, and room for gradients.
struct Setup {
  Setup(int64_t descriptor, DType precision, double force_weight, double fraction = 1, bool cached_features = false)
      : data(DataOf(descriptor)) {
    AtomisticTaskOptions options;
    options.hidden = {16, 16};
    options.precision = precision;
    options.loss.energy_weight = 1 - force_weight;
    options.loss.force_weight = force_weight;
    options.force_sampling.fraction = fraction;
    options.cached_features = cached_features;
    all.resize(data.num_structures());
    std::iota(all.begin(), all.end(), 0);
    task = *ForceTask::Create(data, options, all);
    parameters = task->InitialParameters(1);
    for (size_t t = 0; t < task->terms().size(); ++t) {
      gradients.push_back(Tensor::Zeros(precision, {task->num_parameters()}));
    }
    combined = Tensor::Zeros(precision, {task->num_parameters()});
  }

  // Runs a step and returns its number of atoms.
  int64_t Step(absl::Span<const int64_t> examples) {
    SetToZero(absl::MakeSpan(gradients));
    TermSums sums(static_cast<int>(gradients.size()));
    CHECK(task->MakeBatch(examples, &batch).ok());
    CHECK(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
    CombineGradients(task->CombineTerms(sums).weight, gradients, &combined);
    int64_t atoms = 0;
    for (const int64_t s : examples) atoms += data.num_atoms(s);
    return atoms;
  }

  AtomicData data;
  std::vector<int64_t> all;
  std::unique_ptr<ForceTask> task;
  Tensor parameters, combined;
  std::vector<Tensor> gradients;
  NamedTensors batch;
};

void RunEpochs(benchmark::State& state, Setup* setup) {
  int64_t atoms = 0;
  int64_t epoch = 0;
  for (auto _ : state) {
    setup->task->StartEpoch(epoch++, true);
    for (size_t begin = 0; begin < setup->all.size(); begin += 32) {
      atoms += setup->Step(absl::MakeConstSpan(setup->all).subspan(begin, 32));
    }
  }
  state.SetItemsProcessed(atoms);
}

template <typename T>
void BM_ForceEpoch(benchmark::State& state) {
  Setup setup(state.range(0), DTypeOf<T>(), 0.1);
  RunEpochs(state, &setup);
}
BENCHMARK_TEMPLATE(BM_ForceEpoch, float)->Arg(0)->Arg(1);
BENCHMARK_TEMPLATE(BM_ForceEpoch, double)->Arg(0)->Arg(1);

// The arguments are the percentage of structures whose forces are learned, and whether features of the others are
// cached.
void BM_ForceFraction(benchmark::State& state) {
  Setup setup(0, DType::kF32, 0.1, static_cast<double>(state.range(0)) / 100, state.range(1) != 0);
  RunEpochs(state, &setup);
}
BENCHMARK(BM_ForceFraction)->ArgsProduct({{100, 30, 10}, {0, 1}});

// Trains on energies alone through the same kernel, computing features each time.
void BM_EnergyEpoch(benchmark::State& state) {
  Setup setup(state.range(0), DType::kF32, 0);
  RunEpochs(state, &setup);
}
BENCHMARK(BM_EnergyEpoch)->Arg(0)->Arg(1);

void BM_MakeBatch(benchmark::State& state) {
  Setup setup(state.range(0), DType::kF32, 0.1);
  int64_t atoms = 0;
  for (const int64_t s : absl::MakeConstSpan(setup.all).first(32)) atoms += setup.data.num_atoms(s);
  for (auto _ : state) {
    CHECK(setup.task->MakeBatch(absl::MakeConstSpan(setup.all).first(32), &setup.batch).ok());
  }
  state.SetItemsProcessed(state.iterations() * atoms);
}
BENCHMARK(BM_MakeBatch)->Arg(0)->Arg(1);

// Runs a step of force training by its definition, LibTorch's network and autograd over the plain descriptor, to
// compare with BM_ForceEpoch.
template <typename T>
void BM_ReferenceStep(benchmark::State& state) {
  at::set_num_threads(1);
  Setup setup(0, DTypeOf<T>(), 0.1);
  const int64_t atoms = setup.Step(absl::MakeConstSpan(setup.all).first(32));
  for (auto _ : state) {
    TermSums sums(2);
    CHECK(ReferenceGradients(*setup.task, setup.parameters, setup.batch, absl::MakeSpan(setup.gradients), &sums).ok());
  }
  state.SetItemsProcessed(state.iterations() * atoms);
}
BENCHMARK_TEMPLATE(BM_ReferenceStep, float);
BENCHMARK_TEMPLATE(BM_ReferenceStep, double);

}  // namespace
}  // namespace rutile
