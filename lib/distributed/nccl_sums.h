// Sums of tensors on GPUs, by NCCL, which LibTorch's CUDA builds contain.

#ifndef RUTILE_LIB_DISTRIBUTED_NCCL_SUMS_H_
#define RUTILE_LIB_DISTRIBUTED_NCCL_SUMS_H_

#include <chrono>
#include <memory>
#include <string>

#include "c10/util/intrusive_ptr.h"
#include "lib/task/device_sums.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace rutile {

// True if this build has NCCL with headers of LibTorch's own version.
bool HasNccl();

// Connects the processes. Requires HasNccl(). Throws LibTorch's exceptions: no such device, no NCCL. timeout: of a sum;
// if it expires, NCCL ends the process.
std::unique_ptr<DeviceSums> JoinNccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                     const std::string& device, std::chrono::milliseconds timeout);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_NCCL_SUMS_H_
