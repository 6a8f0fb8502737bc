// Measures the cost of a scope: off, on (sums alone, as with --timing), with spans (as for a record), nested, with
// counters.
//
// A step of training that opens 6 scopes pays 6 times the difference to the empty loop.

#include <benchmark/benchmark.h>

#include "lib/profile/session.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

enum Mode { kOff, kSums, kSpans };

class Profiling {
 public:
  explicit Profiling(int mode) : on_(mode != kOff) {
    ProfileOptions options;
    options.spans = mode == kSpans;
    if (on_) StartProfile(options);
  }
  ~Profiling() {
    if (on_) StopProfile();
  }

 private:
  const bool on_;
};

void BM_EmptyLoop(benchmark::State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
}
BENCHMARK(BM_EmptyLoop);

void BM_Scope(benchmark::State& state) {
  const Profiling profiling(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const ProfileScope scope(Stage::kStep);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Scope)->ArgName("off_sums_spans")->Arg(kOff)->Arg(kSums)->Arg(kSpans);

void BM_ScopeWithCounters(benchmark::State& state) {
  const Profiling profiling(static_cast<int>(state.range(0)));
  int64_t n = 1;
  for (auto _ : state) {
    const ProfileScope scope(Stage::kStep);
    benchmark::DoNotOptimize(n);
    scope.Add(Counter::kAtoms, n);
    scope.Add(Counter::kPairs, n);
    scope.Add(Counter::kFlop, n);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_ScopeWithCounters)->ArgName("off_sums_spans")->Arg(kOff)->Arg(kSums)->Arg(kSpans);

void BM_NestedScopes(benchmark::State& state) {
  const Profiling profiling(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const ProfileScope outer(Stage::kStep);
    const ProfileScope inner(Stage::kForward);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_NestedScopes)->ArgName("off_sums_spans")->Arg(kOff)->Arg(kSums)->Arg(kSpans);

}  // namespace
}  // namespace rutile
