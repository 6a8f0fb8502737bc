#include "lib/trace/scope.h"

#include <sys/mman.h>

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <memory>

#include "lib/trace/allocation_count.h"
#include "lib/trace/call_sampler.h"
#include "lib/trace/device_times.h"
#include "lib/trace/peak_rss.h"
#include "lib/trace/thread_log.h"

namespace rutile {

absl::string_view StageName(Stage stage) {
  static constexpr absl::string_view kNames[kNumStages] = {"other",
                                                           "startup",
                                                           "read",
                                                           "parse",
                                                           "hash",
                                                           "search",
                                                           "triplets",
                                                           "features",
                                                           "scale",
                                                           "graph",
                                                           "setup",
                                                           "wait_for_data",
                                                           "wait_for_threads",
                                                           "wait_for_processes",
                                                           "make_batch",
                                                           "forward",
                                                           "backward",
                                                           "step",
                                                           "descriptor",
                                                           "network",
                                                           "vjp",
                                                           "jvp",
                                                           "tangents",
                                                           "embedding",
                                                           "conv",
                                                           "fc",
                                                           "scores",
                                                           "rounded_scores",
                                                           "optimizer",
                                                           "all_reduce",
                                                           "validation",
                                                           "checkpoint",
                                                           "log",
                                                           "predict",
                                                           "rank",
                                                           "gradients",
                                                           "products",
                                                           "metrics",
                                                           "report",
                                                           "write"};
  return kNames[static_cast<int>(stage)];
}

absl::string_view CounterName(Counter counter) {
  static constexpr absl::string_view kNames[kNumCounters] = {"examples", "structures", "atoms", "pairs",
                                                             "triplets", "triples",    "flop",  "bytes"};
  return kNames[static_cast<int>(counter)];
}

namespace profile_internal {

Settings settings;

namespace {

#if defined(__x86_64__)
bool HasConstantTsc() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}
const bool kHasConstantTsc = HasConstantTsc();
#endif

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadLog>> logs;
};

// The registry is never destroyed, because threads may end after static objects.
Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

thread_local const char* thread_name = "worker";
// A copy of the owner's pointer below, whose destructor makes each access slower.
thread_local ThreadLog* this_thread_log = nullptr;

struct Owner {
  ThreadLog* log = nullptr;
  ~Owner() {
    this_thread_log = nullptr;
    const std::lock_guard<std::mutex> lock(GetRegistry().mutex);
    if (log != nullptr) log->in_use = false;
  }
};

ThreadLog* TakeLog() {
  thread_local Owner owner;
  Registry& registry = GetRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (const std::unique_ptr<ThreadLog>& log : registry.logs) {
    if (!log->in_use && std::strcmp(log->name, thread_name) == 0) owner.log = log.get();
  }
  if (owner.log == nullptr) {
    registry.logs.push_back(std::make_unique<ThreadLog>());
    owner.log = registry.logs.back().get();
    owner.log->name = thread_name;
  }
  owner.log->in_use = true;
  owner.log->innermost = nullptr;
  owner.log->seen_allocations = thread_allocations;
  return owner.log;
}

// Adds n to a value that only this thread writes.
template <typename T>
void Increase(std::atomic<T>* value, T n) {
  value->store(value->load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace

uint64_t Ticks() {
#if defined(__x86_64__)
  if (kHasConstantTsc) return __rdtsc();
#endif
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ThreadLog* LogOfThisThread() {
  if (this_thread_log == nullptr) this_thread_log = TakeLog();
  return this_thread_log;
}

void ForEachLog(const std::function<void(ThreadLog*)>& visit) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (const std::unique_ptr<ThreadLog>& log : registry.logs) visit(log.get());
}

void ThreadLog::ChargeAllocations(int node) {
  const int64_t now = thread_allocations;
  if (now == seen_allocations) return;
  Increase(&nodes[node].allocations, now - seen_allocations);
  seen_allocations = now;
}

int ThreadLog::Enter(int outer, Stage stage) {
  uint8_t& inner = nodes[outer].inner[static_cast<int>(stage)];
  if (inner != 0) return inner;
  const int node = num_nodes.load(std::memory_order_relaxed);
  if (node == kMaxNodes) return -1;
  nodes[node].stage = stage;
  nodes[node].outer = outer;
  inner = static_cast<uint8_t>(node);
  num_nodes.store(node + 1, std::memory_order_release);
  return node;
}

void DropShorterHalf(std::vector<Span>* spans, uint64_t* least_span) {
  const auto middle = spans->begin() + spans->size() / 2;
  std::nth_element(spans->begin(), middle, spans->end(),
                   [](const Span& a, const Span& b) { return a.duration > b.duration; });
  *least_span = middle == spans->end() ? *least_span : middle->duration + 1;
  spans->erase(middle, spans->end());
}

void ThreadLog::AddSpan(const Span& span) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (span.duration < least_span) return;
  spans.push_back(span);
  if (static_cast<int64_t>(spans.size()) > settings.max_spans.load(std::memory_order_relaxed)) {
    DropShorterHalf(&spans, &least_span);
  }
}

void* ThreadLog::operator new(size_t size, std::align_val_t) {
  void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return pages;
}

void ThreadLog::operator delete(void* log, size_t size, std::align_val_t) { munmap(log, size); }

void ThreadLog::Clear() {
  for (Node& node : nodes) {
    node.inner.fill(0);
    node.calls = 0, node.self = 0, node.total = 0, node.peak_rss = 0, node.allocations = 0;
    for (std::atomic<int64_t>& counter : node.counters) counter = 0;
    node.sampler = CallSampler();
  }
  num_nodes = 1;
  inside = 0;
  device = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  spans.clear();
  least_span = 0;
}

}  // namespace profile_internal

using profile_internal::Increase;
using profile_internal::LogOfThisThread;
using profile_internal::Node;
using profile_internal::SamplerLimits;
using profile_internal::settings;
using profile_internal::ThreadLog;
using profile_internal::Ticks;

namespace {

constexpr uint64_t kUntimed = ~uint64_t{0};  // no valid start time

}  // namespace

void ProfileScope::Begin(Stage stage) {
  ThreadLog* const log = LogOfThisThread();
  const int outer = log->innermost == nullptr ? 0 : log->innermost->node_;
  log->ChargeAllocations(outer);
  node_ = log->Enter(outer, stage);
  if (node_ < 0) return;
  log_ = log;
  outer_ = log->innermost;
  log->innermost = this;
  inside_ = 0;
  if (log->device != nullptr) log->device->Begin(this);
  Node& node = log->nodes[node_];
  counters_ = node.counters.data();
  const bool outer_is_timed = outer_ == nullptr || outer_->start_ != kUntimed;
  // Waits are always timed: few of them are long and dominate the sum, and a waiting thread has time to read the clock.
  const bool waits = stage >= Stage::kWaitForData && stage <= Stage::kWaitForProcesses;
  start_ = waits || node.sampler.WantsTime(outer_is_timed, settings.sampling()) ? Ticks() : kUntimed;
}

void ProfileScope::End() {
  Node& node = log_->nodes[node_];
  const bool timed = start_ != kUntimed;
  const uint64_t now = timed ? Ticks() : 0;
  if (log_->device != nullptr) log_->device->End(this, node_);
  log_->ChargeAllocations(node_);
  Increase<int64_t>(&node.calls, 1);
  log_->innermost = outer_;
  const int64_t inside = static_cast<int64_t>(inside_);
  if (!timed) {
    // In an untimed call, the timed stages inside are added to the place's time.
    if (inside != 0) AddTotal(&node, inside);
    return node.sampler.Skipped();
  }
  // The clocks of two processors may differ by a little.
  const uint64_t elapsed = now > start_ ? now - start_ : 0;
  const SamplerLimits limits = settings.sampling();
  const bool by_itself = node.sampler.IsRegardedByItself(limits);
  const int64_t total = node.sampler.Timed(elapsed, limits);
  AddTotal(&node, total);
  Increase(&node.self, total - inside);
  if (by_itself && outer_ != nullptr) log_->nodes[outer_->node_].sampler.AddRegardedByItself(elapsed);
  if (settings.spans.load(std::memory_order_relaxed) && ProfilingIsOn()) log_->AddSpan({start_, elapsed, node_});
  if (elapsed > settings.rss_ticks.load(std::memory_order_relaxed)) {
    node.peak_rss.store(PeakRssBytes(), std::memory_order_relaxed);
  }
}

void ProfileScope::AddTotal(Node* node, int64_t ticks) {
  Increase(&node->total, ticks);
  if (outer_ != nullptr) {
    outer_->inside_ += ticks;
  } else {
    Increase(&log_->inside, ticks);
  }
}

void ProfileCount(Counter counter, int64_t n) {
  if (!ProfilingIsOn()) return;
  ThreadLog* const log = LogOfThisThread();
  if (log->innermost != nullptr) return log->innermost->Add(counter, n);
  Increase(&log->nodes[0].counters[static_cast<int>(counter)], n);
}

void SetProfileThreadName(const char* name) {
  profile_internal::thread_name = name;
  if (profile_internal::this_thread_log != nullptr) profile_internal::this_thread_log->name = name;
}

}  // namespace rutile
