// Exchanges short messages between few processes, pairwise, over Gloo's connections. The calling thread sends and reads
// them itself. c10d uses a thread that waits for the network instead; it has to be woken for every message, and then
// wakes the caller.

#ifndef RUTILE_LIB_DISTRIBUTED_GLOO_MESH_H_
#define RUTILE_LIB_DISTRIBUTED_GLOO_MESH_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "c10/util/intrusive_ptr.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace gloo {
namespace transport {
class Device;
}  // namespace transport
}  // namespace gloo

namespace rutile {

// Connections from this process to every other. Errors are Gloo's exceptions: a process that has gone, or has not
// answered within the timeout.
class GlooMesh {
 public:
  virtual ~GlooMesh() = default;

  // Sends `bytes` bytes of `own` to every other process and receives as many from rank r in all[r]; all[rank] stays
  // unchanged. All processes make the same calls, the first one when all have constructed their objects.
  virtual void Exchange(const char* own, int64_t bytes, absl::Span<char* const> all) = 0;

  // Leaks the connections after an error, because closing them may wait for other processes.
  virtual void Abandon() = 0;
};

// Connects to the other processes through the store. spin: waiting threads poll for messages and keep their processor,
// which is fastest if each process has one of its own; otherwise they sleep. Returns null in a build whose Gloo is
// inside LibTorch, where other code cannot call it.
std::unique_ptr<GlooMesh> JoinGlooMesh(int rank, int size, const c10::intrusive_ptr<c10d::Store>& store,
                                       const std::shared_ptr<gloo::transport::Device>& device,
                                       std::chrono::milliseconds timeout, bool spin);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GLOO_MESH_H_
