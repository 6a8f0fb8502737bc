// An array in the memory of a device.

#ifndef RUTILE_LIB_GPU_DEVICE_ARRAY_INL_H_
#define RUTILE_LIB_GPU_DEVICE_ARRAY_INL_H_

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace rutile {

// Owns an array of E in the memory of a backend, which must outlive it. It grows and does not shrink; its old content
// is lost when it grows.
template <typename E, typename Backend>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<E>);

 public:
  explicit DeviceArray(Backend* backend) : backend_(backend) {}
  DeviceArray(DeviceArray&& other) noexcept
      : backend_(other.backend_), data_(std::exchange(other.data_, nullptr)), size_(other.size_), room_(other.room_) {}
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { backend_->Free(data_); }

  E* data() { return data_; }
  const E* data() const { return data_; }
  int64_t size() const { return size_; }

  void Resize(int64_t size) {
    if (size > room_) {
      backend_->Free(data_);
      data_ = static_cast<E*>(backend_->Allocate(size * sizeof(E)));
      room_ = size;
    }
    size_ = size;
  }
  // Like Resize, but takes room for more when it grows: a quarter, and no more than 64 MiB, which must not be what the
  // device lacks. For arrays whose size differs between steps: to ask a GPU for memory can take longer than a step.
  void Grow(int64_t size) {
    constexpr int64_t kMost = (int64_t{64} << 20) / static_cast<int64_t>(sizeof(E));
    if (size > room_) Resize(size + (size / 4 < kMost ? size / 4 : kMost));
    size_ = size;
  }
  // Gives the memory back.
  void Release() {
    backend_->Free(data_);
    data_ = nullptr;
    size_ = room_ = 0;
  }
  void Upload(const E* from, int64_t size) {
    Resize(size);
    backend_->Upload(data_, from, size * sizeof(E));
  }
  void Upload(const std::vector<E>& from) { Upload(from.data(), static_cast<int64_t>(from.size())); }
  void Download(std::vector<E>* to) const {
    to->resize(size_);
    backend_->Download(to->data(), data_, size_ * sizeof(E));
  }
  void Clear() { backend_->Clear(data_, size_ * sizeof(E)); }

 private:
  Backend* const backend_;
  E* data_ = nullptr;
  int64_t size_ = 0, room_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GPU_DEVICE_ARRAY_INL_H_
