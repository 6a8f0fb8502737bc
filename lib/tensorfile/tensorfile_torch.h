// Converts tensors to LibTorch's and back without a copy.

#ifndef RUTILE_LIB_TENSORFILE_TENSORFILE_TORCH_H_
#define RUTILE_LIB_TENSORFILE_TENSORFILE_TORCH_H_

#include <cstdint>
#include <vector>

#include "lib/tensorfile/named_tensors.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}
namespace c10 {
enum class ScalarType : int8_t;
struct Device;
}  // namespace c10

namespace rutile {

// Returns LibTorch's type. CHECK-fails on U16, U32 and U64, which LibTorch 1.13 lacks.
c10::ScalarType TorchType(DType dtype);
// Returns the type of safetensors. CHECK-fails on a type that it lacks (complex, quantized).
DType DTypeOfTorch(c10::ScalarType type);

// Returns a LibTorch tensor of the same elements, which it keeps alive. LibTorch has no read-only tensors: never write
// to the view of a mapped file or of a batch.
at::Tensor ToTorch(const Tensor& tensor);

// Returns the elements on a device: a view on the CPU (see above); on a GPU a copy through pinned memory, without
// waiting for it (the tensor may change at once).
at::Tensor ToTorch(const Tensor& tensor, const c10::Device& device);

// Returns an uninitialized tensor on the CPU, to be filled and then copied to `device` by to(device, non_blocking =
// true), which does not wait: for a GPU it is pinned.
at::Tensor HostTensorFor(const c10::Device& device, const std::vector<int64_t>& shape, c10::ScalarType type);

// Returns the elements on the CPU: of a CPU tensor itself, of a GPU's a copy through pinned memory, once the GPU has
// computed them.
at::Tensor ToHost(const at::Tensor& tensor);

// Returns the elements of a CPU tensor, detached, and copied only if they are not contiguous. The result is read-only
// (mutable_data CHECK-fails), because LibTorch may have other views of them.
Tensor FromTorch(const at::Tensor& tensor);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSORFILE_TORCH_H_
