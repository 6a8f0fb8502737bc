#include "lib/distributed/gloo_mesh.h"

#ifdef RUTILE_GLOO_PAIRS
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/buffer.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#endif

namespace rutile {

#ifdef RUTILE_GLOO_PAIRS
namespace {

// Number of bytes of a message in flight. All processes send before they read, so this must fit into the buffers of a
// connection: 64 KB initially on Linux.
constexpr int64_t kPiece = 16 << 10;

class PairMesh : public GlooMesh {
 public:
  PairMesh(int rank, int size, gloo::rendezvous::Store* store, std::shared_ptr<gloo::transport::Device> device,
           std::chrono::milliseconds timeout, bool spin)
      : spin_(spin) {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->setTimeout(timeout);
    context->connectFullMesh(*store, device);
    context_ = std::move(context);
    const int slot = context_->nextSlot();
    for (int r = 0; r < size; ++r) {
      if (r == rank) continue;
      auto peer = std::make_unique<Peer>();
      peer->rank = r;
      peer->sent.resize(kPiece);
      peer->received.resize(kPiece);
      auto& pair = context_->getPair(r);
      peer->to = pair->createSendBuffer(slot, peer->sent.data(), kPiece);
      peer->from = pair->createRecvBuffer(slot, peer->received.data(), kPiece);
      peers_.push_back(std::move(peer));
    }
  }

  void Exchange(const char* own, int64_t bytes, absl::Span<char* const> all) override {
    if (!started_) {
      for (const auto& peer : peers_) context_->getPair(peer->rank)->setSync(true, spin_);
      started_ = true;
    }
    for (int64_t begin = 0; begin < bytes; begin += kPiece) {
      const int64_t n = std::min(kPiece, bytes - begin);
      for (const auto& peer : peers_) {
        std::memcpy(peer->sent.data(), own + begin, n);
        peer->to->send(0, n);
        peer->to->waitSend();
      }
      for (const auto& peer : peers_) {
        peer->from->waitRecv();
        std::memcpy(all[peer->rank] + begin, peer->received.data(), n);
      }
    }
  }

  void Abandon() override {
    for (auto& peer : peers_) peer.release();
    new std::shared_ptr<gloo::Context>(std::move(context_));
  }

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

}  // namespace

std::unique_ptr<GlooMesh> JoinGlooMesh(int rank, int size, const c10::intrusive_ptr<c10d::Store>& store,
                                       const std::shared_ptr<gloo::transport::Device>& device,
                                       std::chrono::milliseconds timeout, bool spin) {
  c10d::ProcessGroupGloo::GlooStore of_gloo(store);
  return std::make_unique<PairMesh>(rank, size, &of_gloo, device, timeout, spin);
}

#else

std::unique_ptr<GlooMesh> JoinGlooMesh(int, int, const c10::intrusive_ptr<c10d::Store>&,
                                       const std::shared_ptr<gloo::transport::Device>&, std::chrono::milliseconds,
                                       bool) {
  return nullptr;
}

#endif

}  // namespace rutile
