// Tensors of a batch in the memory of the last one.

#ifndef RUTILE_LIB_TASK_BATCH_MEMORY_H_
#define RUTILE_LIB_TASK_BATCH_MEMORY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The batch's tensor of that name, with that shape: in the memory of the last batch where it fits, and then nothing is
// allocated. What is in it is undefined.
template <typename T>
T* Reuse(NamedTensors* batch, absl::string_view name, absl::Span<const int64_t> shape) {
  Tensor* found = batch->FindMutable(name);
  if (found == nullptr || !found->Reuse(DTypeOf<T>(), shape)) {
    batch->Set(name, Tensor::Zeros(DTypeOf<T>(), {shape.begin(), shape.end()}));
    found = batch->FindMutable(name);
  }
  return found->mutable_values<T>().data();
}

// The same for tensors with a row for each atom or pair, with some room for batches that have more of these: clearing
// new memory for each would take as long as half of the energy kernel.
template <typename T>
T* ReuseRows(NamedTensors* batch, absl::string_view name, absl::Span<const int64_t> shape) {
  Tensor* found = batch->FindMutable(name);
  if (found == nullptr || !found->Reuse(DTypeOf<T>(), shape)) {
    std::vector<int64_t> larger(shape.begin(), shape.end());
    larger[0] += larger[0] / 4;
    batch->Set(name, Tensor::Zeros(DTypeOf<T>(), std::move(larger)));
  }
  return Reuse<T>(batch, name, shape);
}

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_BATCH_MEMORY_H_
