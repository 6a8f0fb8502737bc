// What differs between LibTorch 1.13 and 2.x, and nothing else. Included by .cc files that include LibTorch.

#ifndef RUTILE_LIB_TENSORFILE_TORCH_COMPAT_H_
#define RUTILE_LIB_TENSORFILE_TORCH_COMPAT_H_

#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace rutile {

// The key under which torch::optim::Optimizer::state() keeps the state of a parameter: the address of its TensorImpl,
// as text up to 2.0, as a pointer after it. Map: the type of state().
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

// Whether events know the time between each other: c10::Event of 2.x does.
template <typename Event, typename = void>
struct HasElapsedTime : std::false_type {};
template <typename Event>
struct HasElapsedTime<Event,
                      std::void_t<decltype(std::declval<const Event&>().elapsedTime(std::declval<const Event&>()))>>
    : std::true_type {};

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TORCH_COMPAT_H_
