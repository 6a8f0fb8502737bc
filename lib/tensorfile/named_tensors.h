// Tensors by name, in which files, batches and checkpoints are exchanged. Independent of LibTorch.

#ifndef RUTILE_LIB_TENSORFILE_NAMED_TENSORS_H_
#define RUTILE_LIB_TENSORFILE_NAMED_TENSORS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// The element types of the safetensors format, except sub-byte and 8-bit floats, which are not used here.
enum class DType : uint8_t { kBool, kU8, kI8, kU16, kI16, kF16, kBF16, kU32, kI32, kF32, kU64, kI64, kF64 };

int64_t ByteSize(DType dtype);                          // bytes of one element
absl::string_view DTypeName(DType dtype);               // "F32", as in the file's header
bool ParseDType(absl::string_view name, DType* dtype);  // false: no such type

template <typename T>
constexpr DType DTypeOf();  // float -> kF32 and so on; bool, (u)int8..64, float, double

// A dense row-major array that shares its bytes: copying a Tensor copies no data.
//
//   Tensor weight = Tensor::Zeros(DType::kF32, {10, 9});
//   weight.mutable_values<float>()[0] = 1;
//   NamedTensors tensors;
//   tensors.Set("weight", weight);
//   absl::Span<const float> values = tensors.At("weight").values<float>();
class Tensor {
 public:
  Tensor() = default;  // F32, shape [0]

  // Returns a tensor of zeros, aligned to 64 bytes.
  static Tensor Zeros(DType dtype, std::vector<int64_t> shape);
  // Copies the values; CHECK-fails unless the shape has that many elements.
  template <typename T>
  static Tensor Of(absl::Span<const T> values, std::vector<int64_t> shape);
  template <typename T>
  static Tensor Of(const std::vector<T>& values) {
    return Of<T>(absl::MakeConstSpan(values), {static_cast<int64_t>(values.size())});
  }
  template <typename T>
  static Tensor Scalar(T value) {
    return Of<T>(absl::MakeConstSpan(&value, 1), {});
  }
  // Wraps bytes owned by someone else (a mapped file), kept alive by `owner`. `data` must be aligned to the element
  // size.
  static Tensor View(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner);
  // Returns a view of this tensor's elements from `begin` on, with another shape. It shares the bytes, and is writable
  // if this tensor is.
  Tensor Slice(int64_t begin, std::vector<int64_t> shape) const;

  // Changes type and shape within the existing memory, whose content becomes undefined. Returns false, and changes
  // nothing, if the memory is too small or may not be written. Tensors that share the memory keep their shape.
  bool Reuse(DType dtype, absl::Span<const int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t dim(int i) const { return shape_[i]; }
  int64_t num_elements() const;
  int64_t num_bytes() const { return num_elements() * ByteSize(dtype_); }
  const void* data() const { return data_; }
  // Pointer for writing. CHECK-fails on a View, because mapped files must not be written.
  void* mutable_data();

  // The elements in row-major order. CHECK-fails if T is not the tensor's type.
  template <typename T>
  absl::Span<const T> values() const;
  template <typename T>
  absl::Span<T> mutable_values();
  // Returns the elements converted to double, from any type but the half types (CHECK-fails).
  std::vector<double> ToDoubles() const;

 private:
  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_ = {0};
  const void* data_ = nullptr;
  bool writable_ = false;
  int64_t capacity_ = 0;  // bytes from data_ on
  std::shared_ptr<const void> owner_;
};

// An ordered map from name to tensor: the content of a file, a batch or a checkpoint.
class NamedTensors {
 public:
  using Item = std::pair<std::string, Tensor>;

  NamedTensors() = default;
  // Takes items whose names the caller knows to be distinct; Set would search all items for each.
  explicit NamedTensors(std::vector<Item> items) : items_(std::move(items)) {}

  // Appends, or replaces the tensor of that name in place.
  void Set(absl::string_view name, Tensor tensor);
  bool Has(absl::string_view name) const { return Find(name) != nullptr; }
  const Tensor* Find(absl::string_view name) const;  // nullptr when absent
  Tensor* FindMutable(absl::string_view name);
  const Tensor& At(absl::string_view name) const;  // CHECK-fails when absent
  Tensor& MutableAt(absl::string_view name);

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  bool empty() const { return items_.empty(); }
  std::vector<Item>::const_iterator begin() const { return items_.begin(); }
  std::vector<Item>::const_iterator end() const { return items_.end(); }

 private:
  std::vector<Item> items_;  // few (never one tensor per structure): a linear search beats a hash
};

// ---- implementation

template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kU8;
}
template <>
constexpr DType DTypeOf<int8_t>() {
  return DType::kI8;
}
template <>
constexpr DType DTypeOf<uint16_t>() {
  return DType::kU16;
}
template <>
constexpr DType DTypeOf<int16_t>() {
  return DType::kI16;
}
template <>
constexpr DType DTypeOf<uint32_t>() {
  return DType::kU32;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<uint64_t>() {
  return DType::kU64;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kF64;
}

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_NAMED_TENSORS_H_
