// Starts and stops profiling, and collects what the scopes of all threads have recorded.

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
  int id = 0;        // as in ProfileStage::thread; 0 is the main thread
  std::string name;  // "main", "loader", "worker 2"
};

// One path of stages in one thread.
struct ProfileStage {
  std::string name;  // the innermost stage: "forward"
  std::string path;  // including the stages around it: "validation/forward"
  int thread = 0;
  int64_t calls = 0;
  double self_s = 0;   // without stages inside; sampled for frequent stages below 20 us
  double total_s = 0;  // with stages inside; sampled likewise
  std::array<int64_t, kNumCounters> counters = {};
  int64_t peak_rss_bytes = 0;  // of the process, up to the last end of this stage; 0: not measured (short stages)
  int64_t allocations = -1;    // by operator new, without stages inside (allocation_count.h); -1: not counted
  double device_s = -1;        // on the device, with stages inside (device_times.h); negative: no device
};

// One execution of a scope.
struct ProfileSpan {
  int stage = 0;  // index into stages
  int thread = 0;
  int64_t start_ns = 0;  // since the process began
  int64_t duration_ns = 0;
};

// Everything that a session recorded.
struct ProfileData {
  double wall_s = 0;  // since the process began
  std::vector<ProfileThread> threads;
  std::vector<ProfileStage> stages;  // outer before inner; the main thread's self_s sum to wall_s
  std::vector<ProfileSpan> spans;    // ordered by start
  int64_t spans_dropped = 0;
};

struct ProfileOptions {
  bool spans = false;         // record the begin and end of each scope, not only sums
  int64_t max_spans = 50000;  // keep the longest; more would not stay in the cache
};

// Starts profiling; forgets earlier recordings. The calling thread becomes the main thread and must be in no scope. The
// time from the start of the process to the first call counts as "startup".
void StartProfile(const ProfileOptions& options);

// Also times the scopes of the calling main thread on a device, by events around the work they put into its queue. Only
// StopProfile waits for the device. Requires that profiling is on.
void TimeDevice(std::unique_ptr<DeviceClock> clock);

// Stops profiling. The main thread must call it, in no scope, when other threads have ended or are idle; what they
// record meanwhile may be missing.
ProfileData StopProfile();

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_SESSION_H_
