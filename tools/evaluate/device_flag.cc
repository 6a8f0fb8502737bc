#include "tools/evaluate/device_flag.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/ranking/gpu/cuda_counting_device.h"
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
  if (FLAGS_device == "cpu") return nullptr;
  int number = 0;
  absl::string_view rest = FLAGS_device;
  const bool cuda = absl::ConsumePrefix(&rest, "cuda");
  if (!cuda ||
      (!rest.empty() && !(absl::ConsumePrefix(&rest, ":") && absl::SimpleAtoi(rest, &number) && number >= 0))) {
    return absl::InvalidArgumentError(absl::StrCat("--device=", FLAGS_device, ": expected cpu, cuda or cuda:N"));
  }
  std::string error;
  std::unique_ptr<CountingDevice> device = MakeCudaCountingDevice(number, &error);
  if (device == nullptr) return absl::UnavailableError(absl::StrCat("--device=", FLAGS_device, ": ", error));
  return device;
}

}  // namespace rutile
