// Finds the plan that runs a network fastest on this machine, by trying: what --compile_preset=max-autotune does.

#ifndef RUTILE_LIB_NETWORK_KERNEL_TUNER_H_
#define RUTILE_LIB_NETWORK_KERNEL_TUNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_shape.h"

namespace rutile {

struct TuneOptions {
  std::vector<int64_t> atoms;  // of each species in one call, those of a real batch
  bool second_order = false;   // with forces or stress: energies and derivatives, then the gradients of both
  bool rounding = false;       // mixed precision (NetworkKernel::SetRounding)
  int64_t batch_size = 0;      // part of what a cached plan is for
  absl::Duration budget = absl::Seconds(2);
  std::string cache_directory;  // made, for its owner alone, where it is missing; "": nothing is kept
};

struct TunedKernel {
  KernelPlan plan;
  double speedup = 1;   // over the default plan, when it was measured
  bool cached = false;  // it was measured by another run
};

// Times candidates in turn until the budget is spent; what gains less than 2 % over the default plan is not chosen.
// Each candidate's gradients are compared with the default's first, and one that disagrees is never chosen.
// A plan that was found before for this processor, shape, precision, atoms, threads and version of the kernel is taken
// from the cache; a damaged entry is made anew. T: float or double. Errors: of writing the cache, naming the file.
template <typename T>
absl::StatusOr<TunedKernel> TuneKernel(const NetworkShape& shape, ThreadPool* pool, const TuneOptions& options);

// $XDG_CACHE_HOME/rutile, else $HOME/.cache/rutile; "" without either.
std::string DefaultCacheDirectory();

// "block_atoms=64 gradients=turned, 1.08 times as fast as the default plan (found by an earlier run)", for people.
std::string Describe(const TunedKernel& tuned);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNEL_TUNER_H_
