// Short messages between few processes, each to each other one, over Gloo's connections: sent and read by the calling
// thread. c10d's go through a thread that waits for the network, which has to be woken for every message, and wakes the
// caller in turn.

#ifndef RUTILE_LIB_DISTRIBUTED_GLOO_MESH_H_
#define RUTILE_LIB_DISTRIBUTED_GLOO_MESH_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"

namespace gloo {
class Context;
namespace rendezvous {
class Store;
}
namespace transport {
class Buffer;
class Device;
}  // namespace transport
}  // namespace gloo

namespace rutile {

// Errors are Gloo's exceptions: a process that has gone, or has not answered within the timeout.
class GlooMesh {
 public:
  // Meets the others at the store. spin: a thread that waits looks for its message again and again and keeps its
  // processor, which is quickest where each process has one of its own; else it sleeps.
  GlooMesh(int rank, int size, gloo::rendezvous::Store* store, std::shared_ptr<gloo::transport::Device> device,
           std::chrono::milliseconds timeout, bool spin);
  ~GlooMesh();

  // Sends `bytes` of own to every other process and writes rank r's to all[r], as many; all[rank] is left alone. All
  // processes make the same calls, the first when all have made their objects.
  void Exchange(const char* own, int64_t bytes, absl::Span<char* const> all);

  // After an error: leaves connections, which may wait for others, to themselves.
  void Abandon();

 private:
  struct Peer {
    int rank;
    std::vector<char> sent, received;
    std::unique_ptr<gloo::transport::Buffer> to, from;
  };

  const bool spin_;
  bool started_ = false;
  std::shared_ptr<gloo::Context> context_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GLOO_MESH_H_
