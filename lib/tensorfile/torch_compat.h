// Hides the differences of LibTorch 1.13 and 2.x. Included by .cc files that include LibTorch.

#ifndef RUTILE_LIB_TENSORFILE_TORCH_COMPAT_H_
#define RUTILE_LIB_TENSORFILE_TORCH_COMPAT_H_

#include <iostream>
#include <mutex>
#include <sstream>
#include <streambuf>
#include <string>
#include <type_traits>
#include <utility>

namespace rutile {

// Returns the key under which torch::optim::Optimizer::state() stores the state of a parameter: the address of its
// TensorImpl, as text up to 2.0, as a pointer after it. Map: the type of state().
template <typename Map>
typename Map::key_type OptimizerStateKey(void* tensor_impl) {
  if constexpr (std::is_pointer_v<typename Map::key_type>) {
    return tensor_impl;
  } else {
    std::ostringstream text;
    text << tensor_impl;
    return text.str();
  }
}

// True if events measure the time between each other, as c10::Event of 2.x does.
template <typename Event, typename = void>
struct HasElapsedTime : std::false_type {};
template <typename Event>
struct HasElapsedTime<Event,
                      std::void_t<decltype(std::declval<const Event&>().elapsedTime(std::declval<const Event&>()))>>
    : std::true_type {};

// With deterministic algorithms, LibTorch from 2.2 on fills each new tensor with NaN, to reveal reads of memory that
// was never written. This switches that off, as it was before, because it takes a pass over memory. Context:
// at::Context.
template <typename Context, typename = void>
struct MemoryFilling {
  static void SwitchOff(Context* /*context*/) {}
};
template <typename Context>
struct MemoryFilling<Context,
                     std::void_t<decltype(std::declval<Context&>().setDeterministicFillUninitializedMemory(false))>> {
  static void SwitchOff(Context* context) { context->setDeterministicFillUninitializedMemory(false); }
};

// Discards output to std::cout while an object lives: Gloo of 2.x prints there who has been connected, but standard
// output belongs to the tool. Several threads may have objects at the same time.
class SilentCout {
 public:
  SilentCout() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (objects_++ == 0) own_ = std::cout.rdbuf(nullptr);
  }
  ~SilentCout() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--objects_ == 0) std::cout.rdbuf(own_);
  }
  SilentCout(const SilentCout&) = delete;
  SilentCout& operator=(const SilentCout&) = delete;

 private:
  static inline std::mutex mutex_;
  static inline int objects_ = 0;
  static inline std::streambuf* own_ = nullptr;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TORCH_COMPAT_H_
