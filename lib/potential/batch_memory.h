// Tensors of a batch in the memory of the last one.

#ifndef RUTILE_LIB_POTENTIAL_BATCH_MEMORY_H_
#define RUTILE_LIB_POTENTIAL_BATCH_MEMORY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The batch's tensor of that name and shape: the memory of the last batch where that fits. What is in it is undefined.
template <typename T>
T* Reuse(NamedTensors* batch, absl::string_view name, std::vector<int64_t> shape) {
  Tensor* found = batch->FindMutable(name);
  if (found == nullptr || found->dtype() != DTypeOf<T>() || found->shape() != shape) {
    batch->Set(name, Tensor::Zeros(DTypeOf<T>(), std::move(shape)));
    found = batch->FindMutable(name);
  }
  return found->mutable_values<T>().data();
}

// The same for tensors with a row for each atom or pair, of which there are as many or more: batches of one size differ
// in atoms, and clearing new memory for each would take as long as half of the energy kernel.
template <typename T>
T* ReuseRows(NamedTensors* batch, absl::string_view name, std::vector<int64_t> shape) {
  const Tensor* found = batch->Find(name);
  if (found != nullptr && found->rank() == static_cast<int>(shape.size()) && found->dim(0) >= shape[0]) {
    shape[0] = found->dim(0);
  } else {
    shape[0] += shape[0] / 4;
  }
  return Reuse<T>(batch, name, std::move(shape));
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_BATCH_MEMORY_H_
