// Turns profiling on and off, and collects what the scopes of all threads have recorded.

#ifndef RUTILE_LIB_PROFILE_SESSION_H_
#define RUTILE_LIB_PROFILE_SESSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/trace/device_clock.h"
#include "lib/trace/scope.h"

namespace rutile {

struct ProfileThread {
  int id = 0;        // of ProfileStage::thread; 0 is the main thread
  std::string name;  // "main", "loader", "worker 2"
};

// One place of one thread.
struct ProfileStage {
  std::string name;  // of the innermost stage: "forward"
  std::string path;  // with those around it: "validation/forward"
  int thread = 0;
  int64_t calls = 0;
  double self_s = 0;   // without stages inside; of stages below 20 us that are many, from samples
  double total_s = 0;  // with them; likewise
  std::array<int64_t, kNumCounters> counters = {};
  int64_t peak_rss_bytes = 0;  // of the process until the last end of this stage; 0: not looked at (short stages)
  int64_t allocations = -1;    // by operator new, without stages inside (allocation_count.h); -1: not counted
  double device_s = -1;        // on the device, with stages inside (device_times.h); below 0: there is none
};

struct ProfileSpan {
  int stage = 0;  // index into stages
  int thread = 0;
  int64_t start_ns = 0;  // since the process began
  int64_t duration_ns = 0;
};

struct ProfileData {
  double wall_s = 0;  // since the process began
  std::vector<ProfileThread> threads;
  std::vector<ProfileStage> stages;  // outer before inner; the main thread's self_s add up to wall_s
  std::vector<ProfileSpan> spans;    // by start
  int64_t spans_dropped = 0;
};

struct ProfileOptions {
  bool spans = false;         // when each scope began and ended, not only sums
  int64_t max_spans = 50000;  // the longest are kept; more would not stay in the cache
};

// The calling thread becomes the main thread, in no scope. What was recorded before is forgotten. The time between the
// start of the process and the first call counts as "startup".
void StartProfile(const ProfileOptions& options);

// From now on scopes of the main thread, which calls this, are timed on a device, too, by events around what they put
// into its queue. Nothing waits for the device but StopProfile. While profiling is on.
void TimeDevice(std::unique_ptr<DeviceClock> clock);

// Turns profiling off. Called by the main thread, in no scope, when other threads have ended or rest: what they record
// meanwhile may be missing.
ProfileData StopProfile();

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_SESSION_H_
