// Small arrays of a step that travel together: in one piece of memory on the host and one on the device, which go from
// one to the other by one copy.

#ifndef RUTILE_LIB_GPU_TRANSFER_AREA_INL_H_
#define RUTILE_LIB_GPU_TRANSFER_AREA_INL_H_

#include <cstdint>

#include "lib/gpu/device_array-inl.h"

namespace rutile {

// Usage: Clear, Place each array, Allocate; then use the arrays through Host and Device, and Upload or Download all of
// them. Allocate loses what was in them.
template <typename Backend>
class TransferArea {
 public:
  explicit TransferArea(Backend* backend) : backend_(backend), device_(backend) {}
  TransferArea(const TransferArea&) = delete;
  TransferArea& operator=(const TransferArea&) = delete;
  ~TransferArea() { backend_->FreeOnHost(host_); }

  void Clear() { size_ = 0; }

  // Makes room for `count` elements and returns where it is.
  template <typename E>
  int64_t Place(int64_t count) {
    constexpr int64_t kAlign = 256;
    const int64_t at = size_;
    size_ += (count * static_cast<int64_t>(sizeof(E)) + kAlign - 1) / kAlign * kAlign;
    return at;
  }
  // Returns false after an error of the backend; the arrays must not be used then.
  bool Allocate() {
    device_.Grow(size_);
    if (size_ > host_size_) {
      backend_->FreeOnHost(host_);
      host_size_ = size_ + size_ / 4;
      host_ = static_cast<char*>(backend_->AllocateOnHost(host_size_));
    }
    return backend_->error().empty();
  }
  template <typename E>
  E* Host(int64_t at) {
    return reinterpret_cast<E*>(host_ + at);
  }
  template <typename E>
  E* Device(int64_t at) {
    return reinterpret_cast<E*>(device_.data() + at);
  }
  void Upload() { backend_->Upload(device_.data(), host_, size_); }
  void Download() { backend_->Download(host_, device_.data(), size_); }

 private:
  Backend* const backend_;
  DeviceArray<char, Backend> device_;
  char* host_ = nullptr;
  int64_t host_size_ = 0, size_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GPU_TRANSFER_AREA_INL_H_
