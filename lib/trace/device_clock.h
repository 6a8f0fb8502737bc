// Events in the queue of a device (a GPU) that works behind the program.

#ifndef RUTILE_LIB_TRACE_DEVICE_CLOCK_H_
#define RUTILE_LIB_TRACE_DEVICE_CLOCK_H_

namespace rutile {

// Called by one thread, from scopes that begin and end: nothing throws, and nothing but Await waits.
class DeviceClock {
 public:
  static constexpr int kNone = -1;

  virtual ~DeviceClock() = default;
  // Puts an event behind all that is in the device's queue; its number. kNone: the device has failed.
  virtual int Record() = 0;
  // Whether the device has come by it.
  virtual bool HasPassed(int event) = 0;
  // Between two events that have passed; 0 where the device has failed.
  virtual double Seconds(int begin, int end) = 0;
  // Its number may be given again.
  virtual void Free(int event) = 0;
  // Until the device has come by it, or has failed.
  virtual void Await(int event) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_DEVICE_CLOCK_H_
