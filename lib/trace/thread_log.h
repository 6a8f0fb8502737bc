// The memory that each thread records into, shared by scope.cc and session.cc. No other file includes this.
//
// Calls, counters and allocations are exact; times of short stages come from samples (call_sampler.h).

#ifndef RUTILE_LIB_TRACE_THREAD_LOG_H_
#define RUTILE_LIB_TRACE_THREAD_LOG_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <vector>

#include "lib/trace/call_sampler.h"
#include "lib/trace/scope.h"

namespace rutile {

class DeviceTimes;

namespace profile_internal {

// Largest number of places in one thread, ten times what a tool has. Further scopes count for the place that they are
// in.
constexpr int kMaxNodes = 128;

// A place in one thread. Only its thread writes it (so plain loads and stores suffice); another thread reads it at the
// end. Between two scopes the work itself fills the cache, so a call that is not timed touches only one cache line, and
// its counters another.
struct alignas(64) Node {
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> allocations{0};  // allocations with the place as the innermost
  CallSampler sampler;                  // used only by its thread
  int outer = -1;
  Stage stage = Stage::kOther;

  alignas(64) std::array<std::atomic<int64_t>, kNumCounters> counters = {};

  alignas(64) std::array<uint8_t, kNumStages> inner = {};  // node of each stage inside, 0: none yet
  std::atomic<int64_t> self{0},
      total{0};  // ticks; self is below 0 if the samples inside overestimate the calls they represent
  std::atomic<int64_t> peak_rss{0};
};
static_assert(sizeof(Node) == 192);

// One timed scope, for timelines.
struct Span {
  uint64_t start, duration;  // ticks
  int node;
};

// All records of one thread.
struct ThreadLog {
  const char* name = "worker";
  bool in_use = false;  // guarded by the registry's mutex
  std::atomic<int> num_nodes{1};
  std::array<Node, kMaxNodes> nodes;  // the first is the thread itself, outside of any scope
  alignas(64) ProfileScope* innermost = nullptr;
  DeviceTimes* device = nullptr;   // owned by the session; set in the main thread if a device is timed
  std::atomic<int64_t> inside{0};  // ticks in outermost scopes
  int64_t seen_allocations = 0;    // allocations of the thread up to the last scope that began or ended
  std::mutex mutex;                // guards the spans
  std::vector<Span> spans;
  uint64_t least_span = 0;  // shorter spans are dropped

  // Adds the thread's allocations since the last call to a place.
  void ChargeAllocations(int node);
  // Returns the node of a stage inside `outer`, which is made on first use; -1 if there is no room.
  int Enter(int outer, Stage stage);
  void AddSpan(const Span& span);
  void Clear();

  // Logs have their own pages: in the heap, a log would move memory that the program allocates after it, which made a
  // tool up to 2 % slower, ten times the cost of scopes.
  static void* operator new(size_t size, std::align_val_t alignment);
  static void operator delete(void* log, size_t size, std::align_val_t alignment);
};

// Settings that StartProfile sets and scopes read.
struct Settings {
  std::atomic<bool> spans{false};
  std::atomic<int64_t> max_spans{0};
  std::atomic<uint64_t> rss_ticks{0};  // longer scopes read the process's memory
  std::atomic<uint64_t> sampled_below{0}, alone_above{0};

  SamplerLimits sampling() const {
    return {sampled_below.load(std::memory_order_relaxed), alone_above.load(std::memory_order_relaxed)};
  }
};
extern Settings settings;

// Returns ticks since the start of this machine: those of the processor's clock, whose reading takes a third of the
// time of the system's, if it runs at a constant rate; otherwise those of the system's clock.
uint64_t Ticks();

// Returns the calling thread's log, which is new or taken over from a thread of the same name that has ended.
ThreadLog* LogOfThisThread();

// Calls visit with each log under the registry's mutex.
void ForEachLog(const std::function<void(ThreadLog*)>& visit);

// Keeps the longer half of the spans, and sets *least_span to the length from which on they were kept.
void DropShorterHalf(std::vector<Span>* spans, uint64_t* least_span);

}  // namespace profile_internal
}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_THREAD_LOG_H_
