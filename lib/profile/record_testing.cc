#include "lib/profile/record_testing.h"

#include <string>

#include "lib/profile/session.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

ProfileStage MakeStage(const std::string& path, int thread, int64_t calls, double self_s) {
  ProfileStage stage;
  stage.path = path;
  stage.name = path.substr(path.rfind('/') + 1);
  stage.thread = thread;
  stage.calls = calls;
  stage.self_s = stage.total_s = self_s;
  return stage;
}

}  // namespace

ProfileRecord TrainRecord() {
  ProfileRecord record;
  record.tool = "train";
  record.version = "0.1.0";
  record.command = {"train", "--force_weight=0.1", "neighbors.safetensors"};
  record.pid = 42;
  record.parent_pid = 41;
  record.start_unix_ns = 1700000000000000000;
  record.cpu_s = 3.6;
  record.peak_rss_bytes = 300000000;
  record.machine.machine.cpu = "a processor";
  record.machine.machine.instruction_set = "AVX2";
  record.machine.machine.processors = record.machine.machine.usable_processors = 2;
  record.machine.machine.memory_bytes = 8000000000;
  ProfileData& data = record.data;
  data.wall_s = 2;
  data.threads = {{0, "main"}, {1, "loader"}, {2, "worker 1"}, {3, "worker 2"}};
  data.stages = {MakeStage("other", 0, 1, 0.3),        MakeStage("step", 0, 100, 0.1),
                 MakeStage("step/network", 0, 100, 1), MakeStage("wait_for_data", 0, 100, 0.02),
                 MakeStage("optimizer", 0, 100, 0.08), MakeStage("validation/network", 0, 10, 0.5),
                 MakeStage("make_batch", 1, 100, 0.6), MakeStage("network", 2, 100, 0.4),
                 MakeStage("network", 3, 100, 0.2)};
  auto& counters = data.stages[2].counters;
  counters[static_cast<int>(Counter::kFlop)] = 40000000000;
  counters[static_cast<int>(Counter::kBytes)] = 10000000000;
  counters[static_cast<int>(Counter::kAtoms)] = 500000;
  data.stages[2].peak_rss_bytes = 280000000;
  // Each span is stage, thread, start, duration.
  data.spans = {{1, 0, 100000000, 600000000}, {2, 0, 200000000, 500000000}, {6, 1, 100000000, 300000000}};
  return record;
}

void SetSelfTime(const char* path, double self_s, ProfileRecord* record) {
  double before = 0;
  bool found = false;
  for (ProfileStage& stage : record->data.stages) {
    if (stage.thread != 0 || stage.path != path) continue;
    found = true;
    before = stage.self_s;
    stage.self_s = stage.total_s = self_s;
  }
  if (!found) record->data.stages.push_back(MakeStage(path, 0, 100, self_s));
  record->data.stages[0].self_s += before - self_s;
}

MachinePeaks PlainPeaks() {
  MachinePeaks peaks;
  peaks.fma_fp32_all = 100e9, peaks.fma_fp32_one = 50e9;
  peaks.fma_fp64_all = 50e9, peaks.fma_fp64_one = 25e9;
  peaks.memory_read_all = 20e9, peaks.memory_read_one = 10e9;
  return peaks;
}

}  // namespace rutile
