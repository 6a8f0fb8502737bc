// Reads state back from a checkpoint: each part (optimizer, schedule, stopping) checks its own tensors.

#ifndef RUTILE_LIB_TENSORFILE_STATE_TENSOR_H_
#define RUTILE_LIB_TENSORFILE_STATE_TENSOR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// INVALID_ARGUMENT unless `state` has a tensor of this name with the type and shape of `like`.
absl::Status CheckStateTensor(const NamedTensors& state, absl::string_view name, const Tensor& like);

// Copies the bytes into `to`, whose memory does not move. CHECK-fails on tensors that CheckStateTensor refuses.
void CopyStateTensor(const NamedTensors& state, absl::string_view name, Tensor* to);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_STATE_TENSOR_H_
