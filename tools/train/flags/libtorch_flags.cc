#include "tools/train/flags/libtorch_flags.h"

#include <gflags/gflags.h>

#include <cstdlib>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/distributed/rank_settings.h"
#include "lib/potential/gpu/force_step.h"

namespace rutile {
namespace {

std::string Value(const char* flag) {
  std::string value;
  CHECK(gflags::GetCommandLineOption(flag, &value)) << "no flag " << flag;
  return value;
}

// Returns "--flag=value".
std::string Written(const char* flag) { return absl::StrCat("--", flag, "=", Value(flag)); }

// Kernels of GPUs are this program's own, if it was built with them.
bool IsOnOwnGpu() { return HasCudaForceStep() && absl::StartsWith(Value("device"), "cuda"); }
bool KernelsHaveDevice() { return Value("device") == "auto" || Value("device") == "cpu" || IsOnOwnGpu(); }

// bf16-mixed is the kernels' own on the CPU and, of triples, on a GPU; with --device=auto it means LibTorch's on a GPU,
// where there is one.
bool KernelsHavePrecision() {
  const std::string precision = Value("precision");
  return precision == "auto" || precision == "fp32" || precision == "fp64" ||
         (precision == "bf16-mixed" && (Value("device") == "cpu" || IsOnOwnGpu()));
}
bool KernelsHaveMatmulPrecision() {
  const std::string precision = Value("float32_matmul_precision");
  return precision == "highest" || (precision == "high" && IsOnOwnGpu());
}

// A launcher whose variables make no sense is reported by those who join the processes.
std::string Launcher() {
  const absl::StatusOr<std::optional<RankSettings>> settings = RankFromEnvironment(std::getenv);
  return settings.ok() && settings->has_value() && Value("strategy") != "single" ? (*settings)->launcher : "";
}

}  // namespace

std::string WhyLibTorch() {
  if (Value("compile_mode") != "compile") return Written("compile_mode");
  if (!KernelsHaveDevice()) return Written("device");
  if (Value("optimizer") == "lbfgs") return Written("optimizer");
  if (Value("operators") == "true") return "--operators";
  if (Value("mixed_precision") == "true" && !IsOnOwnGpu()) return "--mixed_precision";
  if (!KernelsHaveMatmulPrecision()) return Written("float32_matmul_precision");
  if (!KernelsHavePrecision()) return Written("precision");
  if (Value("num_processes") != "1") return Written("num_processes");
  if (const std::string launcher = Launcher(); !launcher.empty()) {
    return absl::StrCat("a run of several processes (", launcher, ")");
  }
  return "";
}

}  // namespace rutile
