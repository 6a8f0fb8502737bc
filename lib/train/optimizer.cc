#include "lib/train/optimizer.h"

#include <cmath>
#include <iterator>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/train/adam.h"
#include "lib/train/sgd.h"

namespace rutile {
namespace {

constexpr absl::string_view kNames[] = {"adam", "adamw", "sgd", "lbfgs"};  // in the order of OptimizerKind

absl::Status Require(bool ok, absl::string_view option, double value, absl::string_view range) {
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", value, ", expected ", range));
}

}  // namespace

absl::string_view OptimizerName(OptimizerKind kind) { return kNames[static_cast<int>(kind)]; }

absl::StatusOr<OptimizerOptions> DefaultOptimizerOptions(absl::string_view name) {
  OptimizerOptions options;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] != name) continue;
    options.kind = static_cast<OptimizerKind>(i);
    if (options.kind == OptimizerKind::kAdamW) options.weight_decay = 1e-2;
    if (options.kind == OptimizerKind::kSgd) options.learning_rate = 1e-2;
    if (options.kind == OptimizerKind::kLbfgs) options.learning_rate = 1;
    return options;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no optimizer \"", name, "\"; the choices are adam, adamw, sgd, lbfgs"));
}

absl::Status CheckOptimizerOptions(const OptimizerOptions& options) {
  const auto finite = [](double x, double low) { return std::isfinite(x) && x >= low; };
  RETURN_IF_ERROR(Require(finite(options.learning_rate, 0) && options.learning_rate > 0, "learning_rate",
                          options.learning_rate, "a number above 0"));
  RETURN_IF_ERROR(Require(options.beta1 >= 0 && options.beta1 < 1, "beta1", options.beta1, "0 <= beta1 < 1"));
  RETURN_IF_ERROR(Require(options.beta2 >= 0 && options.beta2 < 1, "beta2", options.beta2, "0 <= beta2 < 1"));
  RETURN_IF_ERROR(Require(finite(options.epsilon, 0), "epsilon", options.epsilon, "0 or more"));
  RETURN_IF_ERROR(Require(finite(options.weight_decay, 0), "weight_decay", options.weight_decay, "0 or more"));
  RETURN_IF_ERROR(Require(options.momentum >= 0 && options.momentum < 1, "momentum", options.momentum, "0 <= m < 1"));
  RETURN_IF_ERROR(Require(options.dampening >= 0 && options.dampening <= 1, "dampening", options.dampening, "0 to 1"));
  RETURN_IF_ERROR(Require(options.history_size >= 1, "history_size", options.history_size, "1 or more"));
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    return absl::InvalidArgumentError("nesterov needs momentum above 0 and dampening 0");
  }
  if (options.kind == OptimizerKind::kLbfgs && options.weight_decay != 0) {
    return absl::InvalidArgumentError("weight_decay does not go with lbfgs; choose adamw or sgd, or pass 0");
  }
  return absl::OkStatus();
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options, DType dtype, int64_t num_parameters) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64) << DTypeName(dtype);
  switch (options.kind) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return std::make_unique<Adam>(options, dtype, num_parameters);
    case OptimizerKind::kSgd:
      return std::make_unique<Sgd>(options, dtype, num_parameters);
    case OptimizerKind::kLbfgs:
      break;
  }
  LOG(FATAL) << "L-BFGS is lib/train/lbfgs.h";
  return nullptr;
}

}  // namespace rutile
