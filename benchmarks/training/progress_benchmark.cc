// Measures what showing the progress of training costs each step, and a row of the log of steps.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lib/train/files/log_format.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step_log.h"
#include "tools/train/report/train_progress.h"

namespace rutile {
namespace {

StepReport Report(int64_t step) {
  StepReport report;
  report.epoch = 1;
  report.step = step;
  report.batch = step;
  report.num_batches = int64_t{1} << 40;
  report.loss = 0.012345678901234;
  report.learning_rate = 1e-3;
  report.gradient_norm = 0.5;
  return report;
}

// On a terminal most of the time is the clock's: run it in one to see that.
void BM_ProgressStep(benchmark::State& state) {
  TrainProgress progress({"train", "atoms", {}}, StopOptions(), true);
  int64_t step = 0;
  for (auto _ : state) progress.OnStep(Report(++step));
  state.SetLabel(progress.active() ? "terminal" : "no terminal");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_ProgressStep);

// With argument 1 every step is a row in both forms; with 100 one in a hundred.
void BM_StepLog(benchmark::State& state) {
  const char* directory = std::getenv("TMPDIR");
  const std::string stem = std::string(directory != nullptr ? directory : "/tmp") + "/rutile-step-log-benchmark";
  {
    StepLog log(stem, AllLogFormats(), "eV/atom", state.range(0));
    int64_t step = 0;
    for (auto _ : state) log.Observe(Report(++step));
    if (!log.status().ok()) state.SkipWithError(std::string(log.status().message()).c_str());
  }
  for (const LogFormat format : AllLogFormats()) std::remove((stem + std::string(LogFormatSuffix(format))).c_str());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_StepLog)->Arg(1)->Arg(100);

}  // namespace
}  // namespace rutile
