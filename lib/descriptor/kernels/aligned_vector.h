// Memory that kernels reuse from one structure to the next.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_ALIGNED_VECTOR_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_ALIGNED_VECTOR_H_

#include <algorithm>
#include <cstddef>
#include <utility>

#include "hwy/aligned_allocator.h"

namespace rutile {

// An array aligned for SIMD vectors. It grows and never shrinks; new elements are not initialized.
template <typename T>
class AlignedVector {
 public:
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }

  // Preserves the elements that are there.
  void Resize(size_t size) {
    if (size > capacity_) {
      const size_t capacity = std::max(size, capacity_ + capacity_ / 2);
      auto data = hwy::AllocateAligned<T>(capacity);
      std::copy_n(data_.get(), size_, data.get());
      data_ = std::move(data);
      capacity_ = capacity;
    }
    size_ = size;
  }

 private:
  size_t size_ = 0, capacity_ = 0;
  hwy::AlignedFreeUniquePtr<T[]> data_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_ALIGNED_VECTOR_H_
