#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "lib/potential/gpu/force_step-inl.h"
#include "lib/potential/gpu/idle_force_step_testing.h"

namespace rutile {
namespace {

// Copies as HostBackend does, and counts what it is asked for instead of doing it.
class IdleBackend {
 public:
  explicit IdleBackend(DeviceTraffic* traffic) : traffic_(*traffic) {}

  // The memory holds zeros. It takes no memory of the machine before it is written.
  void* Allocate(int64_t bytes) { return std::calloc(bytes + 1, 1); }
  void Free(void* memory) { std::free(memory); }
  void* AllocateOnHost(int64_t bytes) { return Allocate(bytes); }
  void FreeOnHost(void* memory) { Free(memory); }
  void Upload(void* device, const void* host, int64_t bytes) {
    ++traffic_.uploads;
    traffic_.upload_bytes += bytes;
    std::memcpy(device, host, bytes);
  }
  void Download(void* host, const void* device, int64_t bytes) {
    ++traffic_.downloads;
    traffic_.download_bytes += bytes;
    std::memcpy(host, device, bytes);
  }
  template <typename Body>
  void ForEach(int64_t n, const Body& /*body*/) {
    traffic_.launches += n > 0;
  }
  template <typename Body>
  void ForEachBlock(int64_t blocks, int64_t /*shared_bytes*/, const Body& /*body*/) {
    traffic_.launches += blocks > 0;
  }
  template <typename Work>
  void SideBySide(int count, const Work& work) {
    for (int k = 0; k < count; ++k) work(k);
  }
  void Clear(void* device, int64_t bytes) { std::memset(device, 0, bytes); }
  int64_t max_shared_bytes() const { return 227 << 10; }  // of an H100, so that networks are cut as there
  int64_t num_processors() const { return 132; }
  std::string error() const { return ""; }

 private:
  DeviceTraffic& traffic_;
};

}  // namespace

template <typename T>
std::unique_ptr<ForceStep<T>> MakeIdleForceStep(const StepModel& model, DeviceTraffic* traffic) {
  return std::make_unique<ForceStepOn<T, IdleBackend>>(model, std::make_unique<IdleBackend>(traffic));
}

template std::unique_ptr<ForceStep<float>> MakeIdleForceStep(const StepModel&, DeviceTraffic*);
template std::unique_ptr<ForceStep<double>> MakeIdleForceStep(const StepModel&, DeviceTraffic*);

}  // namespace rutile
