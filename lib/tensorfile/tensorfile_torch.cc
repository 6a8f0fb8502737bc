#include "lib/tensorfile/tensorfile_torch.h"

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "lib/base/logging.h"

namespace rutile {

c10::ScalarType TorchType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return at::kBool;
    case DType::kU8:
      return at::kByte;
    case DType::kI8:
      return at::kChar;
    case DType::kI16:
      return at::kShort;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kI32:
      return at::kInt;
    case DType::kF32:
      return at::kFloat;
    case DType::kI64:
      return at::kLong;
    case DType::kF64:
      return at::kDouble;
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      break;
  }
  LOG(FATAL) << "LibTorch has no type " << DTypeName(dtype);
  return at::kByte;
}

DType DTypeOfTorch(c10::ScalarType type) {
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kF16, DType::kBF16, DType::kI32,
                            DType::kF32, DType::kI64, DType::kF64}) {
    if (TorchType(dtype) == type) return dtype;
  }
  LOG(FATAL) << "no tensor file type for " << c10::toString(type);
  return DType::kU8;
}

at::Tensor ToTorch(const Tensor& tensor) {
  const at::TensorOptions options = at::TensorOptions().dtype(TorchType(tensor.dtype()));
  if (tensor.num_elements() == 0) return at::empty(tensor.shape(), options);
  // The deleter holds a Tensor that shares the bytes.
  return at::from_blob(
      const_cast<void*>(tensor.data()), tensor.shape(), [tensor](void*) {}, options);
}

at::Tensor ToTorch(const Tensor& tensor, const c10::Device& device) {
  const at::Tensor host = ToTorch(tensor);
  if (device.is_cpu()) return host;
  return (device.is_cuda() ? host.pin_memory() : host).to(device, /*non_blocking=*/true);
}

at::Tensor HostTensorFor(const c10::Device& device, const std::vector<int64_t>& shape, c10::ScalarType type) {
  return at::empty(shape, at::TensorOptions().dtype(type).pinned_memory(device.is_cuda()));
}

at::Tensor ToHost(const at::Tensor& tensor) {
  if (!tensor.is_cuda()) return tensor.cpu();
  return HostTensorFor(tensor.device(), tensor.sizes().vec(), tensor.scalar_type()).copy_(tensor);
}

Tensor FromTorch(const at::Tensor& tensor) {
  CHECK(tensor.device().is_cpu());
  const auto owner = std::make_shared<const at::Tensor>(tensor.detach().contiguous());
  return Tensor::View(DTypeOfTorch(owner->scalar_type()), owner->sizes().vec(), owner->data_ptr(), owner);
}

}  // namespace rutile
