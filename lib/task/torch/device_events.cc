#include "lib/task/torch/device_events.h"

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "lib/tensorfile/torch_compat.h"

namespace rutile {
namespace {

constexpr std::chrono::milliseconds kLook(1);

template <typename Event>
class EventClock : public DeviceClock {
 public:
  explicit EventClock(c10::Device device) : guard_(device.type()), device_(device) {
    if (!device_.has_index()) device_ = guard_.getDevice();
  }

  int Record() override {
    return Guarded(kNone, [&] {
      if (free_.empty()) {
        events_.push_back(std::make_unique<Event>(device_.type(), c10::EventFlag::BACKEND_DEFAULT));  // with times
        free_.push_back(static_cast<int>(events_.size()) - 1);
      }
      const int event = free_.back();
      events_[event]->record(guard_.getStream(device_));
      free_.pop_back();
      return event;
    });
  }

  bool HasPassed(int event) override {
    return Guarded(true, [&] { return events_[event]->query(); });
  }

  double Seconds(int begin, int end) override {
    return Guarded(0.0, [&] { return 1e-3 * events_[begin]->elapsedTime(*events_[end]); });
  }

  void Free(int event) override { free_.push_back(event); }

  void Await(int event) override {
    while (!HasPassed(event)) std::this_thread::sleep_for(kLook);
  }

 private:
  // Calls work(), or returns `otherwise` if it throws or has thrown: profile scopes end in destructors, which cannot
  // throw. A failed device is reported by the code that uses it, too.
  template <typename Result, typename Work>
  Result Guarded(Result otherwise, const Work& work) {
    if (failed_) return otherwise;
    try {
      return work();
    } catch (const std::exception&) {
      failed_ = true;
      return otherwise;
    }
  }

  const c10::impl::VirtualGuardImpl guard_;
  c10::Device device_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<int> free_;
  bool failed_ = false;
};

template <typename Event>
std::unique_ptr<DeviceClock> MakeEventClock(c10::Device device) {
  if constexpr (HasElapsedTime<Event>::value) {
    return std::make_unique<EventClock<Event>>(device);
  } else {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<DeviceClock> MakeDeviceClock(const std::string& device) {
  const c10::Device place(device);
  return place.is_cpu() ? nullptr : MakeEventClock<c10::Event>(place);
}

}  // namespace rutile
