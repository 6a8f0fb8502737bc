// Tensors of a batch in the memory of the last one.

#ifndef RUTILE_LIB_POTENTIAL_BATCH_MEMORY_H_
#define RUTILE_LIB_POTENTIAL_BATCH_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The batch's tensor of that name and shape: the memory of the last batch where that fits, and then nothing is
// allocated. What is in it is undefined.
template <typename T>
T* Reuse(NamedTensors* batch, absl::string_view name, absl::Span<const int64_t> shape) {
  Tensor* found = batch->FindMutable(name);
  if (found == nullptr || found->dtype() != DTypeOf<T>() || absl::MakeConstSpan(found->shape()) != shape) {
    batch->Set(name, Tensor::Zeros(DTypeOf<T>(), {shape.begin(), shape.end()}));
    found = batch->FindMutable(name);
  }
  return found->mutable_values<T>().data();
}

// The same for tensors with a row for each atom or pair, of which there are as many or more: batches of one size differ
// in atoms, and clearing new memory for each would take as long as half of the energy kernel.
template <typename T>
T* ReuseRows(NamedTensors* batch, absl::string_view name, absl::Span<const int64_t> shape) {
  Tensor* found = batch->FindMutable(name);
  if (found != nullptr && found->dtype() == DTypeOf<T>() && found->rank() == static_cast<int>(shape.size()) &&
      found->dim(0) >= shape[0] && absl::MakeConstSpan(found->shape()).subspan(1) == shape.subspan(1)) {
    return found->mutable_values<T>().data();
  }
  std::vector<int64_t> larger(shape.begin(), shape.end());
  larger[0] += larger[0] / 4;
  return Reuse<T>(batch, name, larger);
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_BATCH_MEMORY_H_
