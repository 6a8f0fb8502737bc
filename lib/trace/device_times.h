// Measures how long the scopes of a thread take on a device (a GPU), by events in its queue.
//
// A GPU works asynchronously, so the program's own time in a scope is that of filling the queue. An event is put into
// the queue where a scope begins and where it ends: between them is all the work that the scope has queued, and the
// device's waiting for it. Nothing waits for events: those that have passed are read when later scopes end, the rest by
// Finish. Events cost some microseconds each on a GPU, so they are used only in scopes of batches.

#ifndef RUTILE_LIB_TRACE_DEVICE_TIMES_H_
#define RUTILE_LIB_TRACE_DEVICE_TIMES_H_

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "lib/trace/device_clock.h"

namespace rutile {

// The device times of one thread.
class DeviceTimes {
 public:
  explicit DeviceTimes(std::unique_ptr<DeviceClock> clock) : clock_(std::move(clock)) {}

  // Marks the beginning of a scope. Scopes nest. `scope` identifies it: the end of a scope whose beginning was not seen
  // is ignored.
  void Begin(const void* scope);
  // Marks the end of a scope. The time is added to place number `place`, from 0 on.
  void End(const void* scope, int place);

  // Waits for the device. Call it once, when all work to be timed is done.
  void Finish();

  // Returns the seconds of a place, including places inside it; -1 if there were none.
  double Seconds(int place) const;

 private:
  struct Open {
    const void* scope;
    int begin;
  };
  struct Pair {
    int place, begin, end;
  };
  // Reads the oldest pairs, as far as the device has come.
  void ReadPassed();

  const std::unique_ptr<DeviceClock> clock_;
  std::vector<Open> open_;       // open scopes, the innermost last
  std::deque<Pair> pairs_;       // pairs not read yet, in the order of their ends
  std::vector<double> seconds_;  // seconds per place
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_DEVICE_TIMES_H_
