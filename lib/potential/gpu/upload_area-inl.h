// The small arrays of a step, in one piece of memory that goes to the device by one copy.

#ifndef RUTILE_LIB_POTENTIAL_GPU_UPLOAD_AREA_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_UPLOAD_AREA_INL_H_

#include <cstdint>
#include <vector>

#include "lib/gpu/device_array-inl.h"

namespace rutile {

// Usage: Clear, Place each array, fill them through Host, Upload, and use them on the device through Device. Place
// invalidates what Host has returned.
template <typename Backend>
class UploadArea {
 public:
  explicit UploadArea(Backend* backend) : device_(backend) {}

  void Clear() { size_ = 0; }

  // Makes room for `count` elements and returns where it is.
  template <typename E>
  int64_t Place(int64_t count) {
    constexpr int64_t kAlign = 256;
    const int64_t at = size_;
    size_ += (count * static_cast<int64_t>(sizeof(E)) + kAlign - 1) / kAlign * kAlign;
    if (static_cast<int64_t>(host_.size()) < size_) host_.resize(size_);
    return at;
  }
  template <typename E>
  E* Host(int64_t at) {
    return reinterpret_cast<E*>(host_.data() + at);
  }
  void Upload() { device_.Upload(host_.data(), size_); }
  template <typename E>
  const E* Device(int64_t at) const {
    return reinterpret_cast<const E*>(device_.data() + at);
  }

 private:
  std::vector<char> host_;
  DeviceArray<char, Backend> device_;
  int64_t size_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_UPLOAD_AREA_INL_H_
