// Short messages between few processes, each to each other one, over Gloo's connections: sent and read by the calling
// thread. c10d's go through a thread that waits for the network, which has to be woken for every message, and wakes the
// caller in turn.

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

// Errors are Gloo's exceptions: a process that has gone, or has not answered within the timeout.
class GlooMesh {
 public:
  virtual ~GlooMesh() = default;

  // Sends `bytes` of own to every other process and writes rank r's to all[r], as many; all[rank] is left alone. All
  // processes make the same calls, the first when all have made their objects.
  virtual void Exchange(const char* own, int64_t bytes, absl::Span<char* const> all) = 0;

  // After an error: leaves connections, which may wait for others, to themselves.
  virtual void Abandon() = 0;
};

// Meets the others at the store. spin: a thread that waits looks for its message again and again and keeps its
// processor, which is quickest where each process has one of its own; else it sleeps. Null in a build whose Gloo is
// inside LibTorch, where nobody else can call it.
std::unique_ptr<GlooMesh> JoinGlooMesh(int rank, int size, const c10::intrusive_ptr<c10d::Store>& store,
                                       const std::shared_ptr<gloo::transport::Device>& device,
                                       std::chrono::milliseconds timeout, bool spin);

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GLOO_MESH_H_
