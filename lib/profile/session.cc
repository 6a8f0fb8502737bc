#include "lib/profile/session.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/trace/allocation_count.h"
#include "lib/trace/device_times.h"
#include "lib/trace/thread_log.h"

namespace rutile {
namespace {

using profile_internal::Node;
using profile_internal::settings;
using profile_internal::Span;
using profile_internal::ThreadLog;
using profile_internal::Ticks;

int64_t NanosecondsOf(clockid_t clock) {
  timespec time = {};
  ::clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

// Returns the age of this process. The kernel reports it in steps of 10 ms; within a step its processor time decides.
int64_t AgeOfProcess() {
  const int64_t cpu = NanosecondsOf(CLOCK_PROCESS_CPUTIME_ID);
  FILE* const file = std::fopen("/proc/self/stat", "re");
  if (file == nullptr) return cpu;
  char text[2048];
  text[std::fread(text, 1, sizeof(text) - 1, file)] = '\0';
  std::fclose(file);
  // The name, in parentheses, may contain any characters. The start time is the 20th number after the state.
  const char* const end = std::strrchr(text, ')');
  unsigned long long start = 0;
  if (end == nullptr ||
      std::sscanf(end + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                  &start) != 1) {
    return cpu;
  }
  const int64_t step = 1000000000 / std::max<int64_t>(1, ::sysconf(_SC_CLK_TCK));
  const int64_t age = NanosecondsOf(CLOCK_BOOTTIME) - static_cast<int64_t>(start) * step;
  // A shell that became this program by exec may be minutes old: that is not the loading of libraries.
  constexpr int64_t kMost = int64_t{30} * 1000000000;
  if (age < 0 || age > kMost) return cpu;
  return std::clamp(cpu, std::max<int64_t>(0, age - step), age);
}

// State of the session in progress.
struct Session {
  ThreadLog* main = nullptr;
  uint64_t start_ticks = 0;
  int64_t start_ns = 0;    // CLOCK_MONOTONIC
  int64_t startup_ns = 0;  // duration of the process before it
  ProfileOptions options;
  std::unique_ptr<DeviceTimes> device;  // of the main thread's scopes; null: no device is timed
};
Session session;
bool startup_is_counted = false;

// Scales sampled times of inner stages, which may overestimate them, so that `inside_s`, the sum of stages from `first`
// on, becomes the `total_s` of the stage around them.
void ScaleInside(size_t first, double total_s, double inside_s, ProfileData* data) {
  const double factor = inside_s > 0 ? std::clamp(total_s / inside_s, 0.0, 1.0) : 1;
  for (size_t s = first; s < data->stages.size(); ++s) {
    data->stages[s].self_s *= factor;
    data->stages[s].total_s *= factor;
  }
}

// Estimates the tick rate at the start; StopProfile measures it over the whole session.
double RoughTicksPerNanosecond() {
  const int64_t begin = NanosecondsOf(CLOCK_MONOTONIC);
  const uint64_t ticks = Ticks();
  int64_t now = begin;
  while (now - begin < 100000) now = NanosecondsOf(CLOCK_MONOTONIC);
  return static_cast<double>(Ticks() - ticks) / static_cast<double>(now - begin);
}

struct Scale {
  double ns_per_tick = 1;
  double Seconds(int64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick * 1e-9; }
};

// Appends the paths in `node`, itself before those inside it. Sets `index` to the stage of each node.
void AddStages(const ThreadLog& log, int node, const std::string& path, int thread, const Scale& scale,
               ProfileData* data, std::vector<int>* index) {
  const Node& from = log.nodes[node];
  ProfileStage stage;
  stage.name = std::string(StageName(from.stage));
  stage.path = path;
  stage.thread = thread;
  stage.calls = from.calls;
  stage.self_s = scale.Seconds(from.self);
  stage.total_s = scale.Seconds(from.total);
  for (int c = 0; c < kNumCounters; ++c) stage.counters[c] = from.counters[c];
  stage.peak_rss_bytes = from.peak_rss;
  if (log.device != nullptr) stage.device_s = log.device->Seconds(node);
  if (profile_internal::allocations_are_counted) stage.allocations = from.allocations;
  const size_t place = data->stages.size();
  (*index)[node] = static_cast<int>(place);
  // A path being left for the first time has no times yet, but paths inside it may.
  data->stages.push_back(std::move(stage));
  for (size_t inner = 1; inner < index->size(); ++inner) {
    if (log.nodes[inner].outer != node) continue;
    AddStages(log, static_cast<int>(inner), absl::StrCat(path, "/", StageName(log.nodes[inner].stage)), thread, scale,
              data, index);
  }
  const double self_s = data->stages[place].self_s, total_s = data->stages[place].total_s;
  if (self_s < 0 && from.calls > 0) ScaleInside(place + 1, total_s, total_s - self_s, data);
  data->stages[place].self_s = std::max(0.0, self_s);
}

void AddThread(ThreadLog* log, const Scale& scale, ProfileData* data) {
  const int thread = static_cast<int>(data->threads.size());
  const int num_nodes = log->num_nodes.load(std::memory_order_acquire);
  data->threads.push_back({thread, log == session.main ? "main" : log->name});
  std::vector<int> index(num_nodes, 0);
  const Node& root = log->nodes[0];
  const bool has_root = log == session.main || std::any_of(root.counters.begin(), root.counters.end(),
                                                           [](const auto& counter) { return counter.load() != 0; });
  if (has_root) {
    ProfileStage other;
    other.name = other.path = std::string(StageName(Stage::kOther));
    other.thread = thread;
    other.calls = 1;
    for (int c = 0; c < kNumCounters; ++c) other.counters[c] = root.counters[c];
    if (profile_internal::allocations_are_counted) other.allocations = root.allocations;
    data->stages.push_back(std::move(other));
  }
  for (int node = 1; node < num_nodes; ++node) {
    if (log->nodes[node].outer != 0) continue;
    AddStages(*log, node, std::string(StageName(log->nodes[node].stage)), thread, scale, data, &index);
  }
  const std::lock_guard<std::mutex> lock(log->mutex);
  int64_t calls = 0;
  for (int node = 1; node < num_nodes; ++node) calls += log->nodes[node].calls;
  data->spans_dropped += std::max<int64_t>(0, calls - static_cast<int64_t>(log->spans.size()));
  for (const Span& span : log->spans) {
    if (span.node >= num_nodes || span.start < session.start_ticks) continue;
    const double start = static_cast<double>(span.start - session.start_ticks) * scale.ns_per_tick;
    data->spans.push_back({index[span.node], thread, session.startup_ns + static_cast<int64_t>(start),
                           static_cast<int64_t>(static_cast<double>(span.duration) * scale.ns_per_tick)});
  }
}

// Numbers equal names: "worker", "worker" -> "worker 1", "worker 2".
void NumberNames(std::vector<ProfileThread>* threads) {
  std::map<std::string, int> count, seen;
  for (const ProfileThread& thread : *threads) ++count[thread.name];
  for (ProfileThread& thread : *threads) {
    if (count[thread.name] > 1) thread.name = absl::StrCat(thread.name, " ", ++seen[thread.name]);
  }
}

void KeepLongest(int64_t most, ProfileData* data) {
  if (const int64_t too_many = static_cast<int64_t>(data->spans.size()) - most; too_many > 0) {
    std::nth_element(data->spans.begin(), data->spans.begin() + most, data->spans.end(),
                     [](const ProfileSpan& a, const ProfileSpan& b) { return a.duration_ns > b.duration_ns; });
    data->spans.resize(most);
    data->spans_dropped += too_many;
  }
  std::sort(data->spans.begin(), data->spans.end(), [](const ProfileSpan& a, const ProfileSpan& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
}

}  // namespace

void StartProfile(const ProfileOptions& options) {
  profile_internal::is_on = false;
  profile_internal::ForEachLog([](ThreadLog* log) { log->Clear(); });
  session = Session();
  session.options = options;
  session.main = profile_internal::LogOfThisThread();
  CHECK(session.main->innermost == nullptr) << "StartProfile inside a scope";
  constexpr double kLooksAtMemory = 20e6;  // ns; reading the memory use takes 0.02 ms
  constexpr double kSampledBelow = 40e3;   // ns; reading the clock twice takes 0.15 % of it
  constexpr double kAloneAbove = 1e9;      // ns; anything longer was not merely interrupted
  const double ticks_per_ns = RoughTicksPerNanosecond();
  settings.rss_ticks = static_cast<uint64_t>(kLooksAtMemory * ticks_per_ns);
  settings.sampled_below = static_cast<uint64_t>(kSampledBelow * ticks_per_ns);
  settings.alone_above = static_cast<uint64_t>(kAloneAbove * ticks_per_ns);
  settings.spans = options.spans;
  settings.max_spans = std::max<int64_t>(2, options.max_spans);
  session.main->seen_allocations = profile_internal::thread_allocations;
  session.startup_ns = startup_is_counted ? 0 : AgeOfProcess();
  startup_is_counted = true;
  session.start_ns = NanosecondsOf(CLOCK_MONOTONIC);
  session.start_ticks = Ticks();
  profile_internal::is_on = true;
}

void TimeDevice(std::unique_ptr<DeviceClock> clock) {
  CHECK(ProfilingIsOn() && session.main == profile_internal::LogOfThisThread()) << "TimeDevice outside of a profile";
  session.device = std::make_unique<DeviceTimes>(std::move(clock));
  session.main->device = session.device.get();
}

ProfileData StopProfile() {
  CHECK(session.main != nullptr) << "StopProfile without StartProfile";
  CHECK(session.main == profile_internal::LogOfThisThread()) << "StopProfile from another thread than StartProfile";
  CHECK(session.main->innermost == nullptr) << "StopProfile inside a scope";
  profile_internal::is_on = false;
  session.main->ChargeAllocations(0);
  const uint64_t ticks = Ticks() - session.start_ticks;
  const int64_t elapsed_ns = NanosecondsOf(CLOCK_MONOTONIC) - session.start_ns;
  const Scale scale = {static_cast<double>(elapsed_ns) / static_cast<double>(std::max<uint64_t>(1, ticks))};
  ProfileData data;
  if (session.device != nullptr) session.device->Finish();
  AddThread(session.main, scale, &data);
  session.main->device = nullptr;
  session.device.reset();
  const double elapsed_s = static_cast<double>(elapsed_ns) * 1e-9, inside_s = scale.Seconds(session.main->inside);
  if (inside_s > elapsed_s) ScaleInside(/*first=*/1, elapsed_s, inside_s, &data);
  profile_internal::ForEachLog([&](ThreadLog* log) {
    if (log != session.main && (log->num_nodes > 1 || log->inside > 0)) AddThread(log, scale, &data);
  });
  data.wall_s = static_cast<double>(session.startup_ns + elapsed_ns) * 1e-9;
  ProfileStage& other = data.stages[0];
  other.total_s = data.wall_s;
  other.self_s = std::max(0.0, elapsed_s - inside_s);
  if (session.startup_ns > 0) {
    ProfileStage startup;
    startup.name = startup.path = std::string(StageName(Stage::kStartup));
    startup.calls = 1;
    startup.self_s = startup.total_s = static_cast<double>(session.startup_ns) * 1e-9;
    data.stages.push_back(std::move(startup));
    if (session.options.spans) {
      data.spans.push_back({static_cast<int>(data.stages.size()) - 1, 0, 0, session.startup_ns});
    }
  }
  NumberNames(&data.threads);
  KeepLongest(std::max<int64_t>(2, session.options.max_spans), &data);
  return data;
}

}  // namespace rutile
