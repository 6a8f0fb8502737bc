#include "tools/train/flags/libtorch_flags.h"

#include <gflags/gflags.h>

#include <cstdlib>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/distributed/rank_settings.h"

namespace rutile {
namespace {

std::string Value(const char* flag) {
  std::string value;
  CHECK(gflags::GetCommandLineOption(flag, &value)) << "no flag " << flag;
  return value;
}

// Returns "--flag=value".
std::string Written(const char* flag) { return absl::StrCat("--", flag, "=", Value(flag)); }

// bf16-mixed is the kernels' own on the CPU; without --device=cpu it means a GPU, where there is one.
bool KernelsHavePrecision() {
  const std::string precision = Value("precision");
  return precision == "auto" || precision == "fp32" || precision == "fp64" ||
         (precision == "bf16-mixed" && Value("device") == "cpu");
}

// A launcher whose variables make no sense is reported by those who join the processes.
std::string Launcher() {
  const absl::StatusOr<std::optional<RankSettings>> settings = RankFromEnvironment(std::getenv);
  return settings.ok() && settings->has_value() && Value("strategy") != "single" ? (*settings)->launcher : "";
}

}  // namespace

std::string WhyLibTorch() {
  if (Value("compile_mode") != "compile") return Written("compile_mode");
  if (Value("device") != "auto" && Value("device") != "cpu") return Written("device");
  if (Value("optimizer") == "lbfgs") return Written("optimizer");
  if (Value("operators") == "true") return "--operators";
  if (Value("mixed_precision") == "true") return "--mixed_precision";
  if (Value("float32_matmul_precision") != "highest") return Written("float32_matmul_precision");
  if (!KernelsHavePrecision()) return Written("precision");
  if (Value("num_processes") != "1") return Written("num_processes");
  if (const std::string launcher = Launcher(); !launcher.empty()) {
    return absl::StrCat("a run of several processes (", launcher, ")");
  }
  if (Value("check_gradient") == "true") return "--check_gradient, which is on unless it is set to false,";
  return "";
}

}  // namespace rutile
