#include "tools/evaluate/device_flag.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "lib/ranking/gpu/cuda_counting_device.h"
#include "lib/task/device_name.h"
#include "tools/common/run/flag_domain.h"

DEFINE_string(
    device, "cpu",
    "Knowledge graphs: what compares targets with all entities: cpu, cuda, or cuda:N for one of several GPUs. "
    "Ranks are the same.");
namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

}  // namespace

absl::StatusOr<std::unique_ptr<CountingDevice>> DeviceFromFlag() {
  const absl::StatusOr<DeviceName> name = ParseDeviceName(FLAGS_device);
  if (!name.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--device=", FLAGS_device, ": ", name.status().message()));
  }
  if (!name->is_cuda) return nullptr;
  std::string error;
  std::unique_ptr<CountingDevice> device = MakeCudaCountingDevice(name->number.value_or(0), &error);
  if (device == nullptr) return absl::UnavailableError(absl::StrCat("--device=", FLAGS_device, ": ", error));
  return device;
}

}  // namespace rutile
