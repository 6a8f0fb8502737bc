// Runs bodies on a GPU through CUDA's runtime. Only files that nvcc compiles include it; host_backend-inl.h says what
// each member does.

#ifndef RUTILE_LIB_GPU_CUDA_BACKEND_INL_H_
#define RUTILE_LIB_GPU_CUDA_BACKEND_INL_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/gpu/block.h"

namespace rutile {

// Returns why there is no GPU of this number in CUDA, or "".
inline std::string WhyNoCudaDevice(int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return std::string("no GPU: ") + cudaGetErrorString(status) + "; see what nvidia-smi says";
  if (device >= 0 && device < count) return "";
  return "there is no GPU " + std::to_string(device) + "; the last one is cuda:" + std::to_string(count - 1);
}

template <typename Body>
__global__ void __launch_bounds__(Body::kThreads) EachKernel(int64_t n, const Body body) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * Body::kThreads + threadIdx.x;
  if (i < n) body(i);
}

// How many blocks of a body a processor should have room for, which limits the registers of a thread: the body's
// kBlocksAtOnce, or 0 (the compiler decides) if it has none.
template <typename Body, typename = void>
struct BlocksAtOnce {
  static constexpr int kValue = 0;
};
template <typename Body>
struct BlocksAtOnce<Body, std::void_t<decltype(Body::kBlocksAtOnce)>> {
  static constexpr int kValue = Body::kBlocksAtOnce;
};

template <typename Body>
__global__ void __launch_bounds__(Body::kThreads, BlocksAtOnce<Body>::kValue) BlockKernel(const Body body) {
  extern __shared__ __align__(16) char shared[];
  body(Block{static_cast<int64_t>(blockIdx.x), static_cast<int>(threadIdx.x), Body::kThreads, shared});
}

class CudaBackend {
 public:
  // device: CUDA's number of the GPU.
  explicit CudaBackend(int device) : device_(device) {
    Check(cudaSetDevice(device), "cudaSetDevice");
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    int value = 0;
    Check(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    num_processors_ = value;
    Check(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
    max_shared_bytes_ = value;
  }
  ~CudaBackend() {
    for (Side& side : sides_) {
      if (side.done != nullptr) cudaEventDestroy(side.done);
      if (side.stream != nullptr) cudaStreamDestroy(side.stream);
    }
    if (begin_sides_ != nullptr) cudaEventDestroy(begin_sides_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  void* Allocate(int64_t bytes) {
    void* memory = nullptr;
    if (!Begin()) return nullptr;
    if (bytes > 0 && cudaMalloc(&memory, bytes) != cudaSuccess) {
      cudaGetLastError();
      size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      error_ = std::to_string(bytes >> 20) + " MiB are needed at once, and " + std::to_string(free >> 20) +
               " MiB of the GPU's memory are free: smaller batches or a smaller model need less, and CPUs have more";
    }
    return memory;
  }
  void Free(void* memory) {
    if (memory != nullptr) cudaFree(memory);
  }
  // The memory is locked in place, so that the GPU copies it by itself.
  void* AllocateOnHost(int64_t bytes) {
    void* memory = nullptr;
    if (bytes > 0 && Begin()) Check(cudaMallocHost(&memory, bytes), "memory of the host for copies");
    return memory;
  }
  void FreeOnHost(void* memory) {
    if (memory != nullptr) cudaFreeHost(memory);
  }

  void Upload(void* device, const void* host, int64_t bytes) {
    if (bytes > 0 && Begin()) Check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "upload");
  }
  void Download(void* host, const void* device, int64_t bytes) {
    if (!Begin()) return;
    if (bytes > 0) Check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "download");
    Check(cudaStreamSynchronize(stream_), "a kernel");
  }
  void Clear(void* device, int64_t bytes) {
    if (bytes > 0 && Begin()) Check(cudaMemsetAsync(device, 0, bytes, stream_), "cudaMemset");
  }

  template <typename Body>
  void ForEach(int64_t n, const Body& body) {
    if (n == 0 || !Begin()) return;
    EachKernel<Body><<<(n + Body::kThreads - 1) / Body::kThreads, Body::kThreads, 0, stream_>>>(n, body);
    Check(cudaGetLastError(), "a launch");
  }

  template <typename Body>
  void ForEachBlock(int64_t blocks, int64_t shared_bytes, const Body& body) {
    if (blocks == 0 || !Begin()) return;
    constexpr int64_t kWithoutAsking = 48 << 10;
    if (shared_bytes > kWithoutAsking) {
      Check(cudaFuncSetAttribute(BlockKernel<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes)),
            "shared memory");
    }
    BlockKernel<Body><<<blocks, Body::kThreads, shared_bytes, stream_>>>(body);
    Check(cudaGetLastError(), "a launch");
  }

  // Kernels of a small batch leave most of a GPU idle, and take about as long as their longest thread.
  template <typename Work>
  void SideBySide(int count, const Work& work) {
    if (count == 0 || !Begin()) return;
    while (static_cast<int>(sides_.size()) < count - 1 && AddSide()) {
    }
    if (!error_.empty()) return;
    const cudaStream_t stream = stream_;
    if (count > 1) Check(cudaEventRecord(begin_sides_, stream), "an event");
    for (int k = 1; k < count; ++k) {
      const Side& side = sides_[k - 1];
      Check(cudaStreamWaitEvent(side.stream, begin_sides_, 0), "an event");
      stream_ = side.stream;
      work(k);
      Check(cudaEventRecord(side.done, side.stream), "an event");
    }
    stream_ = stream;
    work(0);
    for (int k = 1; k < count; ++k) Check(cudaStreamWaitEvent(stream, sides_[k - 1].done, 0), "an event");
  }

  int64_t max_shared_bytes() const { return max_shared_bytes_; }
  int64_t num_processors() const { return num_processors_; }
  std::string error() const { return error_; }

 private:
  // Where work runs beside that of stream_.
  struct Side {
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
  };

  // Returns false after an error.
  bool AddSide() {
    if (begin_sides_ == nullptr) Check(cudaEventCreateWithFlags(&begin_sides_, cudaEventDisableTiming), "an event");
    sides_.emplace_back();
    Check(cudaStreamCreateWithFlags(&sides_.back().stream, cudaStreamNonBlocking), "cudaStreamCreate");
    Check(cudaEventCreateWithFlags(&sides_.back().done, cudaEventDisableTiming), "an event");
    return error_.empty();
  }

  // CUDA's current device is one for each thread, and threads of a pool may take turns. False after an error.
  bool Begin() {
    if (!error_.empty()) return false;
    int current = -1;
    if (cudaGetDevice(&current) != cudaSuccess || current != device_) Check(cudaSetDevice(device_), "cudaSetDevice");
    return error_.empty();
  }
  void Check(cudaError_t status, const char* what) {
    if (status != cudaSuccess && error_.empty()) error_ = std::string(what) + ": " + cudaGetErrorString(status);
  }

  const int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_sides_ = nullptr;
  std::vector<Side> sides_;
  int64_t num_processors_ = 1, max_shared_bytes_ = 48 << 10;
  std::string error_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_GPU_CUDA_BACKEND_INL_H_
