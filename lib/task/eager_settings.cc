#include "lib/task/eager_settings.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/eager_options.h"
#include "lib/task/precision.h"

namespace rutile {
namespace {

using O = EagerOptions;

SettingValue GetPrecision(const O& options) { return std::string(kPrecisionNames.Name(options.precision)); }

absl::Status SetPrecision(absl::string_view text, O* options) {
  ASSIGN_OR_RETURN(const Precision precision, ParsePrecision(text, kTrainingPrecisions));
  options->precision = IsMixed(precision) ? precision : Precision::kAuto;
  return absl::OkStatus();
}

}  // namespace

absl::Span<const Setting<EagerOptions>> EagerSettings() {
  // The record holds only what is not the default, so that runs of versions without it can be resumed. The type of
  // parameters is in the checkpoint's tensors.
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Text(
          "precision", GetPrecision, SetPrecision,
          "Precision: auto, fp32, fp64, bf16-mixed or fp16-mixed. With auto, it is fp64 for features in fp64, else "
          "fp32. With a mixed precision the networks multiply in 16 bits while training, and parameters are fp32; fp64 "
          "features and lbfgs are then refused. Losses, sums, descriptors and the optimizer's state are fp32 or fp64 "
          "in any case.")
          .RecordedIf([](const O& options) { return IsMixed(options.precision); })
          .Resetting(RunPart::kOptimizer),
      Setting<O>::Choice<&O::matmul, &kMatmulPrecisionNames>(
          "float32_matmul_precision",
          "Precision of products of fp32 matrices: highest, high or medium. On triples, on a processor with AMX, high "
          "uses 17 of the 24 bits of each factor while training, and on a GPU 21; LibTorch's products use TF32 on "
          "CUDA. The flag is refused where it has no effect.")
          .RecordedIf([](const O& options) { return options.matmul != FactorRounding::kNone; }),
      Setting<O>("device", &O::device,
                 "Device: auto, cpu, cuda or cuda:N. With auto, it is the CPU for the fused kernels, and for "
                 "--compile_mode=none and script CUDA if there is a device; cuda is the first device, or one for each "
                 "of several processes. The fused kernels of triples, and of potentials that start from neighbors or "
                 "structures, also run on GPUs if nvcc was there when train was built; all others run on CPUs only.")
          .Automatic("auto")
          .NotCompared(),
  };
  return kSettings;
}

}  // namespace rutile
