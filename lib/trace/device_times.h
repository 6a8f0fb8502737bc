// What the scopes of a thread take on a device (a GPU), by events in its queue.
//
// A GPU works behind the program, whose own time in a scope is that of filling the queue. An event goes into the queue
// where a scope begins and where it ends: between them lies all that the scope has put there, and the device's waiting
// for it. Nothing waits for events: those that have passed are read as later scopes end, the rest by Finish. Events
// cost some microseconds each on a GPU: scopes there are of batches.

#ifndef RUTILE_LIB_TRACE_DEVICE_TIMES_H_
#define RUTILE_LIB_TRACE_DEVICE_TIMES_H_

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "lib/trace/device_clock.h"

namespace rutile {

// One thread.
class DeviceTimes {
 public:
  explicit DeviceTimes(std::unique_ptr<DeviceClock> clock) : clock_(std::move(clock)) {}

  // Scopes nest. `scope` tells them apart: the end of one whose beginning was not seen is passed over.
  void Begin(const void* scope);
  // `place` is what the time is added to, from 0 on.
  void End(const void* scope, int place);

  // Waits for the device, once: when what is to be timed has been done.
  void Finish();

  // Of a place, those inside it included; below 0: there was none.
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
  std::vector<Open> open_;       // the innermost last
  std::deque<Pair> pairs_;       // not read yet, by their ends
  std::vector<double> seconds_;  // of places
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_DEVICE_TIMES_H_
