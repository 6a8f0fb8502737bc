// Helpers for MakeBatch, which fill a batch in the memory of the previous one.

#ifndef RUTILE_LIB_TASK_BATCH_MEMORY_H_
#define RUTILE_LIB_TASK_BATCH_MEMORY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns the batch's tensor `name` with the given shape. It reuses the tensor's memory if that is large enough, and
// then allocates nothing. The values are unspecified.
template <typename T>
T* Reuse(NamedTensors* batch, absl::string_view name, absl::Span<const int64_t> shape) {
  Tensor* found = batch->FindMutable(name);
  if (found == nullptr || !found->Reuse(DTypeOf<T>(), shape)) {
    batch->Set(name, Tensor::Zeros(DTypeOf<T>(), {shape.begin(), shape.end()}));
    found = batch->FindMutable(name);
  }
  return found->mutable_values<T>().data();
}

// Like Reuse, but a new tensor gets room for a quarter more rows. It is for tensors with a row for each atom or pair,
// whose number differs between batches: clearing new memory for each batch would take half as long as the energy
// kernel.
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
