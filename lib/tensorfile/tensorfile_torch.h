// Our tensors as LibTorch sees them, and back, without a copy.

#ifndef RUTILE_LIB_TENSORFILE_TENSORFILE_TORCH_H_
#define RUTILE_LIB_TENSORFILE_TENSORFILE_TORCH_H_

#include <cstdint>

#include "lib/tensorfile/named_tensors.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}
namespace c10 {
enum class ScalarType : int8_t;
struct Device;
}  // namespace c10

namespace rutile {

// CHECK-fails on U16, U32 and U64, which LibTorch 1.13 lacks.
c10::ScalarType TorchType(DType dtype);
// CHECK-fails on a type that safetensors lacks (complex, quantized).
DType DTypeOfTorch(c10::ScalarType type);

// The same elements, kept alive by the result. LibTorch has no read-only tensors: never write to the view of a mapped
// file or of a batch.
at::Tensor ToTorch(const Tensor& tensor);

// The same elements on a device: as above on the CPU, else a copy, to a GPU through pinned memory and without waiting
// for it (the tensor may change at once).
at::Tensor ToTorch(const Tensor& tensor, const c10::Device& device);

// The elements of a CPU tensor, detached; copied only when they are not contiguous. The result is read-only
// (mutable_data CHECK-fails), because LibTorch may hold other views of them.
Tensor FromTorch(const at::Tensor& tensor);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSORFILE_TORCH_H_
