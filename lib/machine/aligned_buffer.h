// Memory for SIMD kernels: arrays that start at a cache line.

#ifndef RUTILE_LIB_MACHINE_ALIGNED_BUFFER_H_
#define RUTILE_LIB_MACHINE_ALIGNED_BUFFER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "hwy/aligned_allocator.h"
#include "lib/base/logging.h"

namespace rutile {

// The alignment in bytes of an AlignedBuffer: a cache line, and the widest vector.
inline constexpr int64_t kBufferAlignment = 64;

// An array of numbers (or other plain data) whose first element is aligned to kBufferAlignment. It grows and never
// shrinks. It can be moved but not copied; a buffer that was moved from is empty. CHECK-fails when memory runs out.
//
//   AlignedBuffer<float> rows = AlignedBuffer<float>::Zeros(16 * stride);
//   AlignedBuffer<uint32_t> scratch;
//   uint32_t* words = scratch.Take(most);  // allocates in the first call only
//
// Starts of buffers are spread over the offsets in a page, since stores to one buffer delay loads from another with the
// same offset.
template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= kBufferAlignment && HWY_ALIGNMENT % kBufferAlignment == 0);

 public:
  // Creates an empty buffer, whose data() is null.
  AlignedBuffer() = default;
  // Creates a buffer of `size` elements, which are not initialized. data() is not null, even if `size` is 0.
  explicit AlignedBuffer(int64_t size) : memory_(Allocate(size)), size_(size), capacity_(size) {}
  // Returns a buffer of `size` elements whose bytes are 0.
  static AlignedBuffer Zeros(int64_t size) {
    AlignedBuffer buffer(size);
    std::memset(buffer.data(), 0, size * sizeof(T));
    return buffer;
  }

  AlignedBuffer(AlignedBuffer&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  int64_t size() const { return size_; }
  T& operator[](int64_t i) { return memory_.get()[i]; }
  const T& operator[](int64_t i) const { return memory_.get()[i]; }

  // Sets the number of elements. Those that are there are preserved; new ones are not initialized. Memory grows by half
  // at least, so that steps of one element cost little.
  void Resize(int64_t size) {
    if (size > capacity_) {
      const int64_t capacity = std::max(size, capacity_ + capacity_ / 2);
      Memory memory = Allocate(capacity);
      if (size_ > 0) std::memcpy(memory.get(), memory_.get(), size_ * sizeof(T));
      memory_ = std::move(memory);
      capacity_ = capacity;
    }
    size_ = size;
  }

  // Sets the number of elements and returns data(), for callers that need no old elements: memory that is large enough
  // is reused with unspecified elements, new memory is 0.
  T* Take(int64_t size) {
    if (size > capacity_) *this = Zeros(size);
    size_ = size;
    return data();
  }

 private:
  struct Free {
    void operator()(T* memory) const { hwy::FreeAlignedBytes(memory, nullptr, nullptr); }
  };
  using Memory = std::unique_ptr<T[], Free>;

  static Memory Allocate(int64_t size) {
    CHECK_GE(size, 0);
    int64_t bytes;
    CHECK(!__builtin_mul_overflow(size, static_cast<int64_t>(sizeof(T)), &bytes)) << "a buffer of more than 2^63 bytes";
    // Highway aborts if it is asked for 0 bytes.
    void* const memory = hwy::AllocateAlignedBytes(std::max<int64_t>(bytes, 1), nullptr, nullptr);
    if (memory == nullptr) throw std::bad_alloc();  // as new does, for a limit that the user or the system has set
    return Memory(static_cast<T*>(memory));
  }

  Memory memory_;
  int64_t size_ = 0, capacity_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_ALIGNED_BUFFER_H_
