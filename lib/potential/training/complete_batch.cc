// What AtomisticTask's batches leave out, for those who do not have the task's data.

#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

// Returns the rows [R, F] of `table` [rows, F] that `row` [R] names.
Tensor SelectRows(const Tensor& table, const Tensor& row) {
  Tensor selected = Tensor::Zeros(table.dtype(), {row.num_elements(), table.dim(1)});
  const int64_t size = table.dim(1) * ByteSize(table.dtype());
  auto* to = static_cast<char*>(selected.mutable_data());
  for (const int64_t r : row.values<int64_t>()) {
    std::memcpy(to, static_cast<const char*>(table.data()) + r * size, size);
    to += size;
  }
  return selected;
}

}  // namespace

absl::StatusOr<NamedTensors> AtomisticTask::CompleteBatch(const NamedTensors& batch) const {
  NamedTensors complete = batch;
  complete.Set("x", scales_while_reading_ ? StandardizedRows(batch) : SelectRows(rows_, batch.At("row")));
  return complete;
}

}  // namespace rutile
