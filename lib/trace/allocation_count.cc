// Replaces operator new for the whole program, libraries included. The forms for arrays and those that do not throw
// call these; operator delete is not replaced, and calls free.

#include "lib/trace/allocation_count.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace rutile {
namespace profile_internal {
namespace {

[[maybe_unused]] const bool counted = allocations_are_counted = true;

// As the standard demands, the handler may free memory, throw or end the program.
template <typename Allocate>
inline void* AllocateOrThrow(const Allocate& allocate) {
  ++thread_allocations;
  for (;;) {
    if (void* const block = allocate()) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace
}  // namespace profile_internal
}  // namespace rutile

void* operator new(std::size_t size) {
  return rutile::profile_internal::AllocateOrThrow([size] { return std::malloc(std::max<std::size_t>(1, size)); });
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  const std::size_t a = static_cast<std::size_t>(alignment);
  return rutile::profile_internal::AllocateOrThrow(
      [size, a] { return std::aligned_alloc(a, std::max(a, (size + a - 1) / a * a)); });
}

#endif
