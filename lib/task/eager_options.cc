#include "lib/task/eager_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/logging.h"

namespace rutile {

absl::string_view MixedPrecisionName(MixedPrecision mixed) {
  switch (mixed) {
    case MixedPrecision::kNone:
      return "none";
    case MixedPrecision::kBf16:
      return "bf16-mixed";
    case MixedPrecision::kFp16:
      return "fp16-mixed";
  }
  LOG(FATAL) << "no such precision: " << static_cast<int>(mixed);
}

absl::string_view MatmulPrecisionName(MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::kHighest:
      return "highest";
    case MatmulPrecision::kHigh:
      return "high";
    case MatmulPrecision::kMedium:
      return "medium";
  }
  LOG(FATAL) << "no such precision: " << static_cast<int>(precision);
}

absl::StatusOr<MatmulPrecision> ParseMatmulPrecision(absl::string_view name) {
  for (const MatmulPrecision precision :
       {MatmulPrecision::kHighest, MatmulPrecision::kHigh, MatmulPrecision::kMedium}) {
    if (name == MatmulPrecisionName(precision)) return precision;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("float32_matmul_precision is ", name, ", expected highest, high or medium"));
}

absl::Status CheckEagerOptions(const EagerOptions& options) {
  absl::string_view number = options.device;
  int index = 0;
  if (!options.on_cpu() && options.device != "cuda" &&
      !(absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &index) && index >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat("device is \"", options.device, "\", expected cpu, cuda or cuda:N"));
  }
  if (options.mixed == MixedPrecision::kFp16 && options.on_cpu()) {
    return absl::InvalidArgumentError(
        "precision fp16-mixed needs a CUDA device: LibTorch has no fp16 networks for CPUs; use bf16-mixed or fp32");
  }
  if (options.mixed != MixedPrecision::kNone && options.matmul != MatmulPrecision::kHighest) {
    return absl::InvalidArgumentError(absl::StrCat("float32_matmul_precision ", MatmulPrecisionName(options.matmul),
                                                   " and precision ", MixedPrecisionName(options.mixed),
                                                   " exclude each other: networks multiply no fp32 then"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
