// Records events in the queue of a device (a GPU) that works asynchronously.

#ifndef RUTILE_LIB_TRACE_DEVICE_CLOCK_H_
#define RUTILE_LIB_TRACE_DEVICE_CLOCK_H_

namespace rutile {

// A device's clock. It is called by one thread, from scopes that begin and end: nothing throws, and only Await waits.
class DeviceClock {
 public:
  static constexpr int kNone = -1;

  virtual ~DeviceClock() = default;
  // Adds an event at the end of the device's queue and returns its number, or kNone if the device has failed.
  virtual int Record() = 0;
  // True if the device has reached the event.
  virtual bool HasPassed(int event) = 0;
  // Returns the seconds between two events that have passed; 0 if the device has failed.
  virtual double Seconds(int begin, int end) = 0;
  // Frees an event, whose number may be reused.
  virtual void Free(int event) = 0;
  // Waits until the device has reached the event, or has failed.
  virtual void Await(int event) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_DEVICE_CLOCK_H_
