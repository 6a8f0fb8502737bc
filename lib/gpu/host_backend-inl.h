// Runs bodies on the host, one after the other: the plain definition of what a backend does, for tests.

#ifndef RUTILE_LIB_GPU_HOST_BACKEND_INL_H_
#define RUTILE_LIB_GPU_HOST_BACKEND_INL_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/gpu/block.h"

namespace rutile {

class HostBackend {
 public:
  // Returns memory of the device, 256-byte aligned and filled with 0xff (NaN as a floating-point number), so that
  // whatever is used before it was written shows.
  void* Allocate(int64_t bytes) {
    const int64_t size = (bytes + kAlign - 1) / kAlign * kAlign + kAlign;
    void* const memory = std::aligned_alloc(kAlign, size);
    std::memset(memory, 0xff, size);
    return memory;
  }
  void Free(void* memory) { std::free(memory); }
  // Returns memory of the host that copies to and from the device are fastest with; null after an error.
  void* AllocateOnHost(int64_t bytes) { return Allocate(bytes); }
  void FreeOnHost(void* memory) { Free(memory); }

  // Copies between the host's memory and the device's, after all earlier work. Download waits for its end.
  void Upload(void* device, const void* host, int64_t bytes) {
    if (bytes > 0) std::memcpy(device, host, bytes);  // pointers to nothing may be null
  }
  void Download(void* host, const void* device, int64_t bytes) {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }
  // Fills with zeros.
  void Clear(void* device, int64_t bytes) { std::memset(device, 0, bytes); }

  // Calls body(i) for i in [0, n), in any order and at once. Calls must not need each other.
  template <typename Body>
  void ForEach(int64_t n, const Body& body) {
    for (int64_t i = n - 1; i >= 0; --i) body(i);
  }

  // Calls body(block) for `blocks` blocks of Body::kThreads threads with `shared_bytes` of shared memory.
  template <typename Body>
  void ForEachBlock(int64_t blocks, int64_t shared_bytes, const Body& body) {
    void* const shared = Allocate(shared_bytes);
    for (int64_t b = blocks - 1; b >= 0; --b) {
      std::memset(shared, 0xff, shared_bytes);
      body(Block{b, 0, 1, shared});
    }
    Free(shared);
  }

  // Calls work(k) for k in [0, count). What these queue may run at once and in any order, so it must not need each
  // other; it runs after all earlier work and before all later.
  template <typename Work>
  void SideBySide(int count, const Work& work) {
    for (int k = count - 1; k >= 0; --k) work(k);
  }

  // The most bytes of shared memory that a block can have.
  int64_t max_shared_bytes() const { return 200 << 10; }
  // How many blocks of a kernel it takes to fill the device, roughly.
  int64_t num_processors() const { return 4; }

  // "" or what went wrong first. All calls do nothing after an error.
  std::string error() const { return ""; }

 private:
  static constexpr int64_t kAlign = 256;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GPU_HOST_BACKEND_INL_H_
