// Measures what a checkpoint costs training, and what resuming from one costs.
//
// There are 658 parameters (a small potential) or 5 million (a wide one, or 25 000 entities of an embedding in 200
// dimensions), in fp32 with Adam's moments, the best parameters and a moving average: 100 MB of state, and two models
// of 20 MB. save/in_the_way lasts until all is on the device. save/beside_training lasts until training goes on; the
// rest of the write is not timed, so that each save finds the writer idle. resume reads and verifies checksums.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/files/run_writer.h"

namespace rutile {
namespace {

// Returns the directory in CHECKPOINT_DIR, which selects the device, or else one in the current directory.
std::string Directory() {
  const char* const path = std::getenv("CHECKPOINT_DIR");
  return absl::StrCat(path != nullptr ? path : ".", "/checkpoint_benchmark.", ::getpid());
}

struct Run {
  explicit Run(int64_t size) : task(Options(size)), directory(Directory()) {
    CHECK(directory.Open(RunMode::kOverwrite).ok());
    for (Tensor* tensor : {&state.parameters, &state.best_parameters, &state.ema_parameters}) *tensor = Random(size);
    state.epoch_sums = TermSums(2);
    state.loss_weight = {0, 0};
    state.best_epoch = 1;
    for (const char* name : {"exp_avg", "exp_avg_sq"}) state.optimizer.Set(name, Random(size));
  }
  ~Run() {
    CHECK(directory.RemoveRun().ok());
    for (const char* folder : {"/checkpoints", ""}) ::rmdir((directory.path() + folder).c_str());
  }

  static ToyTaskOptions Options(int64_t size) {
    ToyTaskOptions options;
    options.num_examples = 1;
    options.num_features = size - 1;
    options.dtype = DType::kF32;
    return options;
  }
  static Tensor Random(int64_t size) {
    Tensor tensor = Tensor::Zeros(DType::kF32, {size});
    float value = 1;
    for (float& x : tensor.mutable_values<float>()) x = value = value * 1.7f - static_cast<int>(value * 1.7f) + 0.1f;
    return tensor;
  }

  ToyTask task;
  RunDirectory directory;
  Checkpoint state;
};

void Save(benchmark::State& bench, bool beside_training) {
  Run run(bench.range(0));
  RunWriterOptions options;
  options.beside_training = beside_training;
  RunWriter writer(run.task, run.directory, {}, options);
  for (auto _ : bench) {
    writer.SetBestChanged();
    CHECK(writer.Save(run.state, run.state.ema_parameters, 1).ok());
    bench.PauseTiming();
    while (writer.busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    bench.ResumeTiming();
  }
  bench.SetBytesProcessed(bench.iterations() * 7 * 4 * bench.range(0));
}
void BM_InTheWay(benchmark::State& bench) { Save(bench, false); }
void BM_BesideTraining(benchmark::State& bench) { Save(bench, true); }

void BM_Resume(benchmark::State& bench) {
  Run run(bench.range(0));
  CHECK(SaveCheckpoint(run.directory.checkpoint(), run.state, run.task.parameter_slices(), {}).ok());
  for (auto _ : bench) {
    CHECK(LoadCheckpoint(run.directory.checkpoint(), run.task.parameter_slices(), DType::kF32).ok());
  }
  bench.SetBytesProcessed(bench.iterations() * 5 * 4 * bench.range(0));
}

BENCHMARK(BM_InTheWay)->Name("save/in_the_way")->Arg(658)->Arg(5'000'000)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_BesideTraining)
    ->Name("save/beside_training")
    ->Arg(658)
    ->Arg(5'000'000)
    ->UseRealTime()
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Resume)->Name("resume")->Arg(658)->Arg(5'000'000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rutile
