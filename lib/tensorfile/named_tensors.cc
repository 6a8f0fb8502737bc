#include "lib/tensorfile/named_tensors.h"

#include <algorithm>
#include <cstring>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/mapped_memory.h"

namespace rutile {
namespace {

struct DTypeInfo {
  const char* name;
  int64_t size;
};

// Sizes and names, in the order of DType.
constexpr DTypeInfo kDTypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"U16", 2}, {"I16", 2}, {"F16", 2}, {"BF16", 2},
                                 {"U32", 4},  {"I32", 4}, {"F32", 4}, {"U64", 8}, {"I64", 8}, {"F64", 8}};

// Counts the elements of a shape. CHECK-fails on a negative dimension and on overflow; shapes from files were checked
// when they were read.
int64_t NumElements(absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    CHECK_GE(size, 0);
    CHECK(!__builtin_mul_overflow(count, size, &count)) << "a tensor of more than 2^63 elements";
  }
  return count;
}

template <typename T>
std::vector<double> Doubles(absl::Span<const T> values) {
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace

int64_t ByteSize(DType dtype) { return kDTypes[static_cast<int>(dtype)].size; }

absl::string_view DTypeName(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }

bool ParseDType(absl::string_view name, DType* dtype) {
  int i = 0;
  for (const DTypeInfo& info : kDTypes) {
    if (name == info.name) {
      *dtype = static_cast<DType>(i);
      return true;
    }
    ++i;
  }
  return false;
}

Tensor Tensor::Zeros(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  int64_t size;
  CHECK(!__builtin_mul_overflow(NumElements(shape), ByteSize(dtype), &size)) << "a tensor of more than 2^63 bytes";
  tensor.shape_ = std::move(shape);
  tensor.writable_ = true;
  if (std::shared_ptr<void> mapped = MappedZeros(size); mapped != nullptr) {
    tensor.data_ = mapped.get();
    tensor.owner_ = std::move(mapped);
    tensor.capacity_ = size;
    return tensor;
  }
  // Memory is whole cache lines, so that Reuse finds room for a few elements more.
  const auto memory = std::make_shared<AlignedBuffer<char>>(
      AlignedBuffer<char>::Zeros(std::max(kBufferAlignment, RoundUp(size, kBufferAlignment))));
  tensor.data_ = memory->data();
  tensor.owner_ = memory;
  tensor.capacity_ = memory->size();
  return tensor;
}

bool Tensor::Reuse(DType dtype, absl::Span<const int64_t> shape) {
  int64_t size;
  CHECK(!__builtin_mul_overflow(NumElements(shape), ByteSize(dtype), &size)) << "a tensor of more than 2^63 bytes";
  if (!writable_ || size > capacity_) return false;
  dtype_ = dtype;
  shape_.assign(shape.begin(), shape.end());
  return true;
}

template <typename T>
Tensor Tensor::Of(absl::Span<const T> values, std::vector<int64_t> shape) {
  Tensor tensor = Zeros(DTypeOf<T>(), std::move(shape));
  CHECK_EQ(tensor.num_elements(), static_cast<int64_t>(values.size()));
  if (!values.empty()) std::memcpy(tensor.mutable_data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

Tensor Tensor::View(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner) {
  CHECK_EQ(reinterpret_cast<uintptr_t>(data) % ByteSize(dtype), 0u) << "misaligned " << DTypeName(dtype);
  Tensor tensor;
  tensor.dtype_ = dtype;
  CHECK(NumElements(shape) == 0 || data != nullptr);
  tensor.shape_ = std::move(shape);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::Slice(int64_t begin, std::vector<int64_t> shape) const {
  const int64_t count = NumElements(shape);
  CHECK_GE(begin, 0);
  CHECK_LE(begin, num_elements());
  CHECK_LE(count, num_elements() - begin);
  Tensor part = *this;
  part.shape_ = std::move(shape);
  if (data_ != nullptr) part.data_ = static_cast<const char*>(data_) + begin * ByteSize(dtype_);
  part.capacity_ = count * ByteSize(dtype_);  // the rest belongs to other elements
  return part;
}

int64_t Tensor::num_elements() const { return NumElements(shape_); }

void* Tensor::mutable_data() {
  CHECK(writable_ || num_elements() == 0) << "a mapped tensor is read only";
  return const_cast<void*>(data_);
}

template <typename T>
absl::Span<const T> Tensor::values() const {
  CHECK(dtype_ == DTypeOf<T>()) << DTypeName(dtype_) << " tensor read as " << DTypeName(DTypeOf<T>());
  return absl::MakeConstSpan(static_cast<const T*>(data_), num_elements());
}

template <typename T>
absl::Span<T> Tensor::mutable_values() {
  CHECK(dtype_ == DTypeOf<T>()) << DTypeName(dtype_) << " tensor written as " << DTypeName(DTypeOf<T>());
  return absl::MakeSpan(static_cast<T*>(mutable_data()), num_elements());
}

#define RUTILE_INSTANTIATE(T)                                                   \
  template Tensor Tensor::Of(absl::Span<const T> values, std::vector<int64_t>); \
  template absl::Span<const T> Tensor::values() const;                          \
  template absl::Span<T> Tensor::mutable_values();
RUTILE_INSTANTIATE(bool)
RUTILE_INSTANTIATE(uint8_t)
RUTILE_INSTANTIATE(int8_t)
RUTILE_INSTANTIATE(uint16_t)
RUTILE_INSTANTIATE(int16_t)
RUTILE_INSTANTIATE(uint32_t)
RUTILE_INSTANTIATE(int32_t)
RUTILE_INSTANTIATE(float)
RUTILE_INSTANTIATE(uint64_t)
RUTILE_INSTANTIATE(int64_t)
RUTILE_INSTANTIATE(double)
#undef RUTILE_INSTANTIATE

std::vector<double> Tensor::ToDoubles() const {
  switch (dtype_) {
    case DType::kBool:
      return Doubles(values<bool>());
    case DType::kU8:
      return Doubles(values<uint8_t>());
    case DType::kI8:
      return Doubles(values<int8_t>());
    case DType::kU16:
      return Doubles(values<uint16_t>());
    case DType::kI16:
      return Doubles(values<int16_t>());
    case DType::kU32:
      return Doubles(values<uint32_t>());
    case DType::kI32:
      return Doubles(values<int32_t>());
    case DType::kF32:
      return Doubles(values<float>());
    case DType::kU64:
      return Doubles(values<uint64_t>());
    case DType::kI64:
      return Doubles(values<int64_t>());
    case DType::kF64:
      return Doubles(values<double>());
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  LOG(FATAL) << "no conversion of " << DTypeName(dtype_) << " to numbers";
}

void NamedTensors::Set(absl::string_view name, Tensor tensor) {
  if (Tensor* const old = FindMutable(name)) {
    *old = std::move(tensor);
  } else {
    items_.emplace_back(std::string(name), std::move(tensor));
  }
}

const Tensor* NamedTensors::Find(absl::string_view name) const {
  for (const Item& item : items_) {
    if (item.first == name) return &item.second;
  }
  return nullptr;
}

Tensor* NamedTensors::FindMutable(absl::string_view name) { return const_cast<Tensor*>(Find(name)); }

const Tensor& NamedTensors::At(absl::string_view name) const {
  const Tensor* const tensor = Find(name);
  CHECK(tensor != nullptr) << "no tensor \"" << name << "\"";
  return *tensor;
}

Tensor& NamedTensors::MutableAt(absl::string_view name) { return const_cast<Tensor&>(At(name)); }

}  // namespace rutile
