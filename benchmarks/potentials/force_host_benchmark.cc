// Measures what force training on a GPU costs the host: a whole run of the trainer with a step whose device does
// nothing (idle_force_step_testing.h), so that batches, uploads, downloads, sums, the optimizer and the log are left.
// Copies are plain ones in memory, and launches only counted: with some 3 us each on a GPU they come on top, and are
// the host's as well.
//
// Random crystals of Ti and O of 2/3 to 4/3 of the mean size, about 250,000 atoms in all; train's default descriptor
// and networks. Arguments: atoms in a mean structure, structures in a batch, 1 to learn stresses too, 1 to learn the
// forces of a tenth of the atoms alone, the loader's threads. Items are atoms; us_step is the time of a step, and the
// other counters are of one step.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/random.h"
#include "lib/file/file.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/gpu/force_step.h"
#include "lib/potential/gpu/idle_force_step_testing.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_task.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kAtoms = 250'000;

std::string Temporary() {
  const char* temporary = std::getenv("TMPDIR");
  return absl::StrCat(temporary != nullptr ? temporary : "/tmp", "/force_host_benchmark_", ::getpid());
}

// Returns structures with neighbors so far apart that a model takes little time to be set up.
AtomicData RandomData(int64_t mean_atoms) {
  std::string text;
  RandomStream stream(1, "structures");
  for (int64_t atoms = 0; atoms < kAtoms;) {
    const auto n = static_cast<int64_t>(static_cast<double>(mean_atoms) * (2.0 / 3 + stream.Uniform() * 2 / 3));
    // The atoms are near points of a lattice, so that no two meet.
    const auto side = static_cast<int64_t>(std::ceil(std::cbrt(static_cast<double>(n))));
    const double edge = 4.5 * static_cast<double>(side);
    absl::StrAppend(&text, n, "\nLattice=\"", edge, " 0 0 0 ", edge, " 0 0 0 ", edge,
                    "\" energy=", -5 * static_cast<double>(n) - stream.Uniform(),
                    " stress=\"1e-3 0 0 0 2e-3 0 0 0 1e-3\" ",
                    "pbc=\"T T T\" Properties=species:S:1:pos:R:3:forces:R:3\n");
    for (int64_t i = 0; i < n; ++i) {
      absl::StrAppend(&text, i % 3 == 0 ? "Ti" : "O");
      for (const int64_t point : {i % side, i / side % side, i / (side * side)}) {
        absl::StrAppend(&text, " ", 4.5 * static_cast<double>(point) + stream.Uniform());
      }
      absl::StrAppend(&text, " 0.1 -0.1 0.2\n");
    }
    atoms += n;
  }
  const std::string path = Temporary() + ".extxyz";
  CHECK(WriteFileAtomically(path, text).ok());
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().ang_order = 4;
  options.descriptor->chebyshev().ang_cutoff = 5;
  options.descriptor->chebyshev().nearer = {{4, 3}};
  absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  CHECK(data.ok()) << data.status();
  ::unlink(path.c_str());
  const absl::Status cached = data->CacheNeighbors(false, "", int64_t{1} << 32, 2);
  CHECK(cached.ok()) << cached;
  return *data;
}

// traffic: set to what the device was asked for by the training of `state`'s iterations.
void TrainOn(const ForceStepMakers& steps, DeviceTraffic* traffic, benchmark::State& state) {
  static auto& sets = *new std::map<int64_t, AtomicData>();  // by the size of structures
  const int64_t mean_atoms = state.range(0), batch = state.range(1);
  if (sets.count(mean_atoms) == 0) sets.emplace(mean_atoms, RandomData(mean_atoms));
  const AtomicData& data = sets.at(mean_atoms);
  AtomisticTaskOptions options;
  options.hidden = {32, 32};
  options.activation = Activation::kSilu;
  options.gpu = 0;
  options.num_threads = 2;
  options.loss.energy_weight = 0.5;
  options.loss.force_weight = 0.4;
  options.loss.stress_weight = state.range(2) != 0 ? 0.1 : 0;
  if (state.range(3) != 0) {
    options.force_sampling.fraction = 0.1;
    options.force_sampling.unit = ForceSampleUnit::kAtom;
  }
  Split split;
  split.train.resize(data.num_structures());
  std::iota(split.train.begin(), split.train.end(), 0);
  const std::unique_ptr<ForceTask> task = *ForceTask::Create(data, options, split.train, steps);
  TrainerOptions trainer;
  trainer.optimizer = DefaultOptimizerOptions("adam").value();
  trainer.check_gradient = false;
  trainer.save_interval = absl::InfiniteDuration();
  trainer.batch_size = batch;
  trainer.num_workers = static_cast<int>(state.range(4));
  trainer.mode = RunMode::kOverwrite;
  trainer.stop.max_epochs = batch < 1024 ? 10 : 60;  // so that the start and the end of a run are a small part
  int64_t num_steps = 0;
  *traffic = {};
  for (auto _ : state) {
    const auto result = Train(*task, split, trainer, Temporary(), {});
    CHECK(result.ok()) << result.status();
    num_steps += result->steps;
  }
  int64_t atoms = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) atoms += data.num_atoms(s);
  state.SetItemsProcessed(state.iterations() * trainer.stop.max_epochs * atoms);
  state.counters["us_step"] = benchmark::Counter(1e-6 * static_cast<double>(num_steps),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  if (traffic->launches == 0) return;
  const auto of_step = [&](int64_t count) { return static_cast<double>(count) / static_cast<double>(num_steps); };
  state.counters["launches"] = of_step(traffic->launches);
  state.counters["copies"] = of_step(traffic->uploads + traffic->downloads);
  state.counters["kB_up"] = 1e-3 * of_step(traffic->upload_bytes);
  state.counters["kB_down"] = 1e-3 * of_step(traffic->download_bytes);
}
void BM_HostOfForceStep(benchmark::State& state) {
  DeviceTraffic traffic;
  ForceStepMakers steps;
  steps.f32 = [&traffic](const StepModel& model, int /*device*/, std::string* /*error*/) {
    return MakeIdleForceStep<float>(model, &traffic);
  };
  TrainOn(steps, &traffic, state);
}
BENCHMARK(BM_HostOfForceStep)
    ->ArgNames({"atoms", "batch", "stress", "sample", "workers"})
    ->Args({10, 64, 0, 0, 0})
    ->Args({10, 1024, 0, 0, 0})
    ->Args({30, 64, 0, 0, 0})
    ->Args({30, 1024, 0, 0, 0})
    ->Args({10, 1024, 1, 0, 0})
    ->Args({10, 1024, 0, 1, 0})
    ->Args({10, 1024, 0, 0, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void BM_ForceTrainingOnGpu(benchmark::State& state) {
  if (NumCudaGpus() == 0) return state.SkipWithError("there is no GPU");
  DeviceTraffic traffic;
  TrainOn({}, &traffic, state);
}
BENCHMARK(BM_ForceTrainingOnGpu)
    ->ArgNames({"atoms", "batch", "stress", "sample", "workers"})
    ->Args({10, 8, 0, 0, 0})
    ->Args({10, 64, 0, 0, 0})
    ->Args({10, 1024, 0, 0, 0})
    ->Args({30, 64, 0, 0, 0})
    ->Args({30, 1024, 0, 0, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace rutile
