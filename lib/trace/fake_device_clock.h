// A device for tests, whose time, and when it reaches an event, the test controls.

#ifndef RUTILE_LIB_TRACE_FAKE_DEVICE_CLOCK_H_
#define RUTILE_LIB_TRACE_FAKE_DEVICE_CLOCK_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lib/trace/device_clock.h"

namespace rutile {

struct FakeDevice {
  double queued_s = 0;  // time at which the device will have finished its queue
  double now_s = 0;     // time that the device has reached
  bool failed = false;
  int recorded = 0, awaited = 0, read_early = 0;
  std::vector<double> at;    // time of each event
  std::vector<bool> in_use;  // whether each event is in use
};

// The clock of a FakeDevice, which must outlive it.
class FakeDeviceClock : public DeviceClock {
 public:
  explicit FakeDeviceClock(FakeDevice* device) : device_(device) {}
  int Record() override {
    if (device_->failed) return kNone;
    ++device_->recorded;
    int event = 0;
    while (event < static_cast<int>(device_->in_use.size()) && device_->in_use[event]) ++event;
    device_->at.resize(std::max<size_t>(device_->at.size(), event + 1));
    device_->in_use.resize(device_->at.size());
    device_->at[event] = device_->queued_s;
    device_->in_use[event] = true;
    return event;
  }
  bool HasPassed(int event) override { return device_->failed || device_->at[event] <= device_->now_s; }
  double Seconds(int begin, int end) override {
    if (device_->failed) return 0;
    if (!HasPassed(begin) || !HasPassed(end)) ++device_->read_early;
    return device_->at[end] - device_->at[begin];
  }
  void Free(int event) override { device_->in_use[event] = false; }
  void Await(int event) override {
    ++device_->awaited;
    if (device_->at[event] > device_->now_s) device_->now_s = device_->at[event];
  }

 private:
  FakeDevice* const device_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_FAKE_DEVICE_CLOCK_H_
