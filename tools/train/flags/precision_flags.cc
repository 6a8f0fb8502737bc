#include "tools/train/flags/precision_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/rank_settings.h"
#include "lib/machine/amx_permission.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/potential/gpu/force_step.h"
#include "lib/profile/session.h"
#include "lib/task/device_name.h"
#include "lib/task/eager_options.h"
#include "lib/task/eager_settings.h"
#include "lib/task/precision.h"
#include "lib/task/torch/device_events.h"
#include "lib/task/torch/torch_facts.h"
#include "lib/trace/device_clock.h"
#include "lib/trace/scope.h"
#include "tools/common/flags/setting_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/trainer_flags/eager_flags.h"

DEFINE_bool(mixed_precision, false,
            "Choose the mixed precision that suits the device. It is bf16-mixed on CPUs and on CUDA devices of "
            "capability 8.0 or above, else fp16-mixed.");

namespace rutile {
namespace {

// A profile has times of the device, too.
void TimeOn(const std::string& device, const TorchFacts& facts, std::vector<std::string>* messages) {
  if (!ProfilingIsOn()) return;
  if (std::unique_ptr<DeviceClock> clock = MakeDeviceClock(device); clock != nullptr) {
    return TimeDevice(std::move(clock));
  }
  messages->push_back(absl::StrCat("times are those of the program, which runs ahead of ", device,
                                   ": events of LibTorch ", facts.version,
                                   " know no times, those of 2.x do (docs/libtorch.md)"));
}

// Measured: docs/performance-potentials.md.
constexpr int kWideEnough = 200, kWideEnoughForKernels = 32;

std::string FlagValue(const char* name) { return SettingFlagText(*FindSetting(EagerSettings(), name)); }

bool IsDeviceAuto() { return FlagValue("device") == "auto"; }
bool MayBeOnCpu() { return IsDeviceAuto() || FlagValue("device") == "cpu"; }

absl::StatusOr<Precision> PrecisionFromFlag() {
  // The row's check has the flag's name and value in its message.
  EagerOptions options;
  RETURN_IF_ERROR(EagerFlags().CopyTo("precision", &options));
  return ParsePrecision(FlagValue("precision"), kTrainingPrecisions);
}

absl::StatusOr<FactorRounding> MatmulFromFlag() {
  EagerOptions options;
  RETURN_IF_ERROR(EagerFlags().CopyTo("float32_matmul_precision", &options));
  return options.matmul;
}

absl::StatusOr<Precision> ParseMixed(const EagerOptions& eager) {
  if (FLAGS_mixed_precision) {
    if (FlagGiven("precision")) {
      return absl::InvalidArgumentError("--mixed_precision and --precision exclude each other: give one of them");
    }
    return eager.on_cpu() || CudaHasBf16(eager.device) ? Precision::kBf16Mixed : Precision::kFp16Mixed;
  }
  ASSIGN_OR_RETURN(const Precision precision, PrecisionFromFlag());
  return IsMixed(precision) ? precision : Precision::kAuto;
}

// The flag that the kernels cannot obey, or "". on_gpu: they run on the device that the flags name. rounds: they can
// round factors there.
absl::StatusOr<std::string> FlagBeyondKernels(bool on_gpu, bool rounds = false) {
  if (FLAGS_mixed_precision && !rounds) return "--mixed_precision";
  ASSIGN_OR_RETURN(const Precision precision, PrecisionFromFlag());
  if (IsMixed(precision) && !(rounds && precision == Precision::kBf16Mixed)) {
    return absl::StrCat("--precision=", kPrecisionNames.Name(precision));
  }
  ASSIGN_OR_RETURN(const FactorRounding matmul, MatmulFromFlag());
  if (matmul != FactorRounding::kNone && !(rounds && matmul == FactorRounding::kTwoParts)) {
    return absl::StrCat("--float32_matmul_precision=", kMatmulPrecisionNames.Name(matmul));
  }
  return on_gpu || MayBeOnCpu() ? "" : absl::StrCat("--device=", FlagValue("device"));
}

absl::Status NoMatmulPrecisionIn64(FactorRounding matmul) {
  return absl::InvalidArgumentError(absl::StrCat("--float32_matmul_precision=", kMatmulPrecisionNames.Name(matmul),
                                                 " has no effect in fp64: leave it out, or use --precision=fp32"));
}

absl::StatusOr<std::string> Device(CompileMode mode, const TorchFacts& facts) {
  std::string device = FlagValue("device");
  if (IsDeviceAuto()) device = mode != CompileMode::kCompile && facts.num_cuda_devices > 0 ? "cuda" : "cpu";
  ASSIGN_OR_RETURN(const std::optional<RankSettings> settings, RankFromEnvironment(std::getenv));
  return DeviceOfProcess(device, settings.has_value() ? settings->local_rank : 0, facts);
}

// What the flags of precision ask for, where the other flags leave the work to kernels.
absl::StatusOr<std::optional<EagerOptions>> AskedOfKernels(const TrainerOptions& options) {
  if (options.compile_mode != CompileMode::kCompile || !MayBeOnCpu()) {
    return std::optional<EagerOptions>();
  }
  EagerOptions eager;
  ASSIGN_OR_RETURN(eager.precision, ParseMixed(eager));
  ASSIGN_OR_RETURN(eager.matmul, MatmulFromFlag());
  return std::optional<EagerOptions>(eager);
}

absl::Status CheckNoLbfgs(const TrainerOptions& options) {
  if (options.optimizer.kind != OptimizerKind::kLbfgs) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "precision bf16-mixed does not go with lbfgs, whose line search needs exact gradients");
}

}  // namespace

absl::StatusOr<FactorRounding> KernelRoundingFromFlags(const TrainerOptions& options) {
  ASSIGN_OR_RETURN(const std::optional<EagerOptions> asked, AskedOfKernels(options));
  if (!asked.has_value()) return FactorRounding::kNone;
  const EagerOptions& eager = *asked;
  const bool exact = eager.matmul == FactorRounding::kNone;
  if (eager.precision == Precision::kBf16Mixed && exact) {
    RETURN_IF_ERROR(CheckAgainstFacts(eager, FindTorchFacts()));
    RETURN_IF_ERROR(CheckNoLbfgs(options));
    return RoundingOf(eager.precision);
  }
  if (IsMixed(eager.precision) || exact) return FactorRounding::kNone;  // both: SetEagerFromFlags refuses
  ASSIGN_OR_RETURN(const Precision precision, PrecisionFromFlag());
  if (precision == Precision::kFp64) return NoMatmulPrecisionIn64(eager.matmul);
  if (eager.matmul == FactorRounding::kBf16) {
    return absl::InvalidArgumentError(
        "--float32_matmul_precision=medium is called --precision=bf16-mixed by the kernels of triples: use that, or "
        "high, which keeps 17 bits of each factor");
  }
  if (AmxIsPermitted()) return eager.matmul;
  return absl::InvalidArgumentError(
      "--float32_matmul_precision=high needs a processor with AMX-BF16, and leave to use it; here products of fp32 are "
      "the faster ones: leave it out");
}

absl::StatusOr<FactorRounding> PotentialRoundingFromFlags(const TrainerOptions& options) {
  ASSIGN_OR_RETURN(const std::optional<EagerOptions> asked, AskedOfKernels(options));
  if (!asked.has_value()) return FactorRounding::kNone;
  const EagerOptions& eager = *asked;
  if (eager.precision != Precision::kBf16Mixed || eager.matmul != FactorRounding::kNone) return FactorRounding::kNone;
  const TorchFacts facts = FindTorchFacts();
  if (!FlagGiven("compile_mode") && IsDeviceAuto() && facts.num_cuda_devices > 0) return FactorRounding::kNone;
  RETURN_IF_ERROR(CheckAgainstFacts(eager, facts));
  RETURN_IF_ERROR(CheckNoLbfgs(options));
  return RoundingOf(eager.precision);
}

bool AsksForGpu() { return !MayBeOnCpu(); }

absl::StatusOr<int> KernelGpuFromFlags(const TrainerOptions& options, bool rounds) {
  if (options.compile_mode != CompileMode::kCompile || MayBeOnCpu()) return -1;
  EagerOptions eager;
  eager.device = FlagValue("device");
  RETURN_IF_ERROR(CheckEagerOptions(eager));
  ASSIGN_OR_RETURN(const DeviceName device, ParseDeviceName(eager.device));
  ASSIGN_OR_RETURN(const std::string beyond, FlagBeyondKernels(/*on_gpu=*/true, rounds));
  // What else the kernels lack, SetEagerFromFlags leaves to LibTorch or refuses.
  if (!beyond.empty() || !HasCudaForceStep()) return -1;
  int gpu = device.number.value_or(0);
  if (!device.number.has_value()) {
    ASSIGN_OR_RETURN(const std::optional<RankSettings> settings, RankFromEnvironment(std::getenv));
    if (settings.has_value()) gpu = settings->local_rank % std::max(1, NumCudaGpus());
  }
  const std::string reason = WhyNotOnGpu(gpu);
  if (!reason.empty()) return absl::InvalidArgumentError(absl::StrCat("device ", eager.device, ": ", reason));
  return gpu;
}

absl::StatusOr<FactorRounding> GpuRoundingFromFlags(const TrainerOptions& options) {
  ASSIGN_OR_RETURN(const Precision precision, PrecisionFromFlag());
  ASSIGN_OR_RETURN(const FactorRounding matmul, MatmulFromFlag());
  const bool high = matmul == FactorRounding::kTwoParts;
  if (FLAGS_mixed_precision && FlagGiven("precision")) {
    return absl::InvalidArgumentError("--mixed_precision and --precision exclude each other: give one of them");
  }
  if (FLAGS_mixed_precision || IsMixed(precision)) {
    RETURN_IF_ERROR(CheckNoLbfgs(options));
    if (!high) return RoundingOf(FLAGS_mixed_precision ? Precision::kBf16Mixed : precision);
    return absl::InvalidArgumentError(
        "--float32_matmul_precision=high is for fp32, and mixed precision rounds to 16 bits: give one of them");
  }
  if (!high) return FactorRounding::kNone;
  if (precision == Precision::kFp64) return NoMatmulPrecisionIn64(matmul);
  return matmul;
}

absl::Status SetEagerFromFlags(FactorRounding kernels, bool kernels_on_gpu, TrainerOptions* options,
                               std::vector<std::string>* messages) {
  const bool can_round = kernels != FactorRounding::kNone;
  std::string beyond;
  if (!can_round) {
    ASSIGN_OR_RETURN(beyond, FlagBeyondKernels(kernels_on_gpu));
  }
  if (!beyond.empty() && options->compile_mode == CompileMode::kCompile) {
    if (FlagGiven("compile_mode")) {
      return absl::InvalidArgumentError(
          absl::StrCat(beyond, " does not go with --compile_mode=compile: the fused kernels are fp32 or fp64, and ",
                       HasCudaForceStep() ? "for CPUs and GPUs" : "for CPUs", "; use --compile_mode=none or script"));
    }
    options->compile_mode = CompileMode::kNone;
    RETURN_IF_ERROR(
        RefuseFlags(absl::StrCat("with ", beyond, ", which takes --compile_mode to none"), {"check_gradient"}));
    messages->push_back(
        absl::StrCat("--compile_mode=none is used: the fused kernels, fp32 or fp64, do not offer ", beyond));
  }
  const TorchFacts facts = FindTorchFacts();
  EagerOptions& eager = options->eager;
  if (!kernels_on_gpu) {
    ASSIGN_OR_RETURN(eager.device, Device(options->compile_mode, facts));
  }
  if (!can_round) {
    ASSIGN_OR_RETURN(eager.matmul, MatmulFromFlag());
    ASSIGN_OR_RETURN(eager.precision, ParseMixed(eager));
  }
  RETURN_IF_ERROR(CheckTrainerOptions(*options));
  RETURN_IF_ERROR(CheckAgainstFacts(EagerOptionsOf(*options), facts));

  if (!eager.on_cpu()) {
    messages->push_back(absl::StrCat("training runs on ", eager.device));
    TimeOn(eager.device, facts, messages);
  }
  if (options->compile_mode == CompileMode::kScript) {
    messages->push_back(absl::StrCat("note: LibTorch ", facts.version,
                                     !eager.on_cpu() || facts.fuses_on_cpu
                                         ? " can fuse the operations of TorchScript on this device"
                                         : " cannot fuse the operations of TorchScript on this CPU: expect 0.5 to 1.2 "
                                           "times the speed of --compile_mode=none"));
  }
  return absl::OkStatus();
}

void NoteNarrowNetworks(const std::vector<int>& hidden, FactorRounding kernels, const TrainerOptions& options,
                        std::vector<std::string>* messages) {
  const bool of_kernels = kernels == FactorRounding::kBf16;
  const Precision mixed = of_kernels ? Precision::kBf16Mixed : options.eager.precision;
  const int widest = hidden.empty() ? 0 : *std::max_element(hidden.begin(), hidden.end());
  const int enough = of_kernels ? kWideEnoughForKernels : kWideEnough;
  if (!IsMixed(mixed)) return;
  if (of_kernels && !AmxIsPermitted()) {
    messages->push_back(
        "note: the processor has AVX512-BF16, but no AMX (or no leave to use it): Intel's are then faster in fp32 than "
        "in bf16-mixed");
  } else if (widest < enough) {
    messages->push_back(absl::StrCat("note: the widest hidden layer has ", widest, " nodes; below about ", enough, ", ",
                                     kPrecisionNames.Name(mixed), " is slower than fp32"));
  }
}

absl::StatusOr<DType> PrecisionFromFlags(bool data64, FactorRounding kernels, const TrainerOptions& options) {
  const EagerOptions& eager = options.eager;
  const Precision mixed = kernels == FactorRounding::kBf16 ? Precision::kBf16Mixed : eager.precision;
  if (IsMixed(mixed)) {
    if (!data64) return DType::kF32;
    return absl::InvalidArgumentError(
        absl::StrCat("precision ", kPrecisionNames.Name(mixed),
                     " does not go with features that were made in fp64: make them in fp32, or use --precision=fp64"));
  }
  ASSIGN_OR_RETURN(const Precision precision, PrecisionFromFlag());
  const bool fp64 = precision == Precision::kFp64 || (precision == Precision::kAuto && data64);
  if (fp64 && eager.matmul != FactorRounding::kNone) {
    return NoMatmulPrecisionIn64(eager.matmul);
  }
  return fp64 ? DType::kF64 : DType::kF32;
}

}  // namespace rutile
