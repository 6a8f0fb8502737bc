#include "lib/task/eager_options.h"

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/device_name.h"

namespace rutile {

absl::Status CheckEagerOptions(const EagerOptions& options) {
  RETURN_IF_ERROR(ParseDeviceName(options.device).status());
  if (!IsMixed(options.precision) && options.precision != Precision::kAuto) {
    return absl::InvalidArgumentError(absl::StrCat("precision ", kPrecisionNames.Name(options.precision),
                                                   " is that of the parameters: expected auto, bf16-mixed or "
                                                   "fp16-mixed here"));
  }
  if (options.precision == Precision::kFp16Mixed && options.on_cpu()) {
    return absl::InvalidArgumentError(
        "precision fp16-mixed needs a CUDA device: LibTorch has no fp16 networks for CPUs; use bf16-mixed or fp32");
  }
  if (IsMixed(options.precision) && options.matmul != FactorRounding::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("float32_matmul_precision ", kMatmulPrecisionNames.Name(options.matmul), " and precision ",
                     kPrecisionNames.Name(options.precision), " exclude each other: networks multiply no fp32 then"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
