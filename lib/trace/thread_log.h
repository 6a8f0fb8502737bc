// What scope.cc and session.cc share: the memory that each thread records into. Nobody else includes this.
//
// Calls, counters and allocations are of every call; times of short stages are of samples (call_sampler.h).

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

// Places in one thread; scopes beyond count for the place that they lie in. Ten times what a tool has.
constexpr int kMaxNodes = 128;

// Written by its thread alone (so that plain loads and stores do), read by another at the end. Between two scopes the
// work itself takes the cache: what a call that is not timed touches is one line, its counters another.
struct alignas(64) Node {
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> allocations{0};  // with the place as the innermost
  CallSampler sampler;                  // of the thread alone
  int outer = -1;
  Stage stage = Stage::kOther;

  alignas(64) std::array<std::atomic<int64_t>, kNumCounters> counters = {};

  alignas(64) std::array<uint8_t, kNumStages> inner = {};  // node of each stage inside, 0: none yet
  std::atomic<int64_t> self{0}, total{0};  // ticks; self below 0: the samples inside overrate what they stand for
  std::atomic<int64_t> peak_rss{0};
};
static_assert(sizeof(Node) == 192);

struct Span {
  uint64_t start, duration;  // ticks
  int node;
};

struct ThreadLog {
  const char* name = "worker";
  bool in_use = false;  // under the registry's mutex
  std::atomic<int> num_nodes{1};
  std::array<Node, kMaxNodes> nodes;  // the first is the thread itself, outside of any scope
  alignas(64) ProfileScope* innermost = nullptr;
  DeviceTimes* device = nullptr;   // of the main thread, where a device is timed; the session's
  std::atomic<int64_t> inside{0};  // ticks in outermost scopes
  int64_t seen_allocations = 0;    // of the thread, up to the last scope that began or ended
  std::mutex mutex;                // of the spans
  std::vector<Span> spans;
  uint64_t least_span = 0;  // shorter ones are dropped

  // Gives what the thread has allocated since the last call to a place.
  void ChargeAllocations(int node);
  // The node of a stage inside `outer`, made at its first time; -1 when there is no room.
  int Enter(int outer, Stage stage);
  void AddSpan(const Span& span);
  void Clear();

  // Pages of their own: in the heap a log would move what the program allocates behind it, which made a tool up to 2 %
  // slower, ten times what scopes take.
  static void* operator new(size_t size, std::align_val_t alignment);
  static void operator delete(void* log, size_t size, std::align_val_t alignment);
};

// Chosen by StartProfile, read by scopes.
struct Settings {
  std::atomic<bool> spans{false};
  std::atomic<int64_t> max_spans{0};
  std::atomic<uint64_t> rss_ticks{0};  // scopes that take longer look at the process's memory
  std::atomic<uint64_t> sampled_below{0}, alone_above{0};

  SamplerLimits sampling() const {
    return {sampled_below.load(std::memory_order_relaxed), alone_above.load(std::memory_order_relaxed)};
  }
};
extern Settings settings;

// The processor's clock where it runs at a constant rate, which takes a third of the system's: of this machine's start.
uint64_t Ticks();

// The calling thread's log, made or taken over from a thread of the same name that has ended.
ThreadLog* LogOfThisThread();

// Calls visit with each log under the registry's mutex.
void ForEachLog(const std::function<void(ThreadLog*)>& visit);

// Keeps the longer half, and says from what length on.
void DropShorterHalf(std::vector<Span>* spans, uint64_t* least_span);

}  // namespace profile_internal
}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_THREAD_LOG_H_
