#include "lib/optimizer/optimizer_options.h"

#include <cmath>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

// In the order of OptimizerKind.
constexpr absl::string_view kNames[] = {"adam", "adamw", "sgd", "lbfgs", "rmsprop", "adagrad", "schedule-free-adamw"};

constexpr unsigned Bit(OptimizerKind kind) { return 1u << static_cast<int>(kind); }
constexpr unsigned kAdams =
    Bit(OptimizerKind::kAdam) | Bit(OptimizerKind::kAdamW) | Bit(OptimizerKind::kScheduleFreeAdamW);
constexpr unsigned kSgd = Bit(OptimizerKind::kSgd);
constexpr unsigned kRmsprop = Bit(OptimizerKind::kRmsprop);
constexpr unsigned kAdagrad = Bit(OptimizerKind::kAdagrad);
constexpr unsigned kFree = Bit(OptimizerKind::kScheduleFreeAdamW);
constexpr unsigned kLbfgs = Bit(OptimizerKind::kLbfgs);
constexpr unsigned kFirstOrder = kAdams | kSgd | kRmsprop | kAdagrad;

// Which optimizers have it, and where it is: a number or a switch.
struct Option {
  absl::string_view name;
  unsigned kinds;
  double OptimizerOptions::*number;
  bool OptimizerOptions::*yes;
};
constexpr Option kOptions[] = {
    {"learning_rate", kFirstOrder | kLbfgs, &OptimizerOptions::learning_rate, nullptr},
    {"weight_decay", kFirstOrder, &OptimizerOptions::weight_decay, nullptr},
    {"beta1", kAdams, &OptimizerOptions::beta1, nullptr},
    {"beta2", kAdams, &OptimizerOptions::beta2, nullptr},
    {"epsilon", kAdams | kRmsprop | kAdagrad, &OptimizerOptions::epsilon, nullptr},
    {"momentum", kSgd | kRmsprop, &OptimizerOptions::momentum, nullptr},
    {"dampening", kSgd, &OptimizerOptions::dampening, nullptr},
    {"nesterov", kSgd, nullptr, &OptimizerOptions::nesterov},
    {"alpha", kRmsprop, &OptimizerOptions::alpha, nullptr},
    {"centered", kRmsprop, nullptr, &OptimizerOptions::centered},
    {"lr_decay", kAdagrad, &OptimizerOptions::lr_decay, nullptr},
    {"initial_accumulator", kAdagrad, &OptimizerOptions::initial_accumulator, nullptr},
    {"weight_step_power", kFree, &OptimizerOptions::weight_step_power, nullptr},
    {"weight_lr_power", kFree, &OptimizerOptions::weight_lr_power, nullptr},
    {"history_size", kLbfgs, nullptr, nullptr},
    {"tolerance_gradient", kLbfgs, &OptimizerOptions::tolerance_gradient, nullptr},
    {"tolerance_change", kLbfgs, &OptimizerOptions::tolerance_change, nullptr},
};

const Option* FindOption(absl::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

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
    const unsigned kind = Bit(options.kind);
    if (options.kind == OptimizerKind::kAdamW) options.weight_decay = 1e-2;
    if (kind & (kSgd | kRmsprop | kAdagrad)) options.learning_rate = 1e-2;
    if (kind & kAdagrad) options.epsilon = 1e-10;
    if (kind & kFree) options.learning_rate = 2.5e-3;
    if (kind & kLbfgs) options.learning_rate = 1;
    return options;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no optimizer \"", name, "\"; the choices are ", absl::StrJoin(kNames, ", ")));
}

bool UsesOption(OptimizerKind kind, absl::string_view option) {
  const Option* found = FindOption(option);
  return found != nullptr && (found->kinds & Bit(kind)) != 0;
}

absl::Status SetOptimizerOption(absl::string_view option, absl::string_view text, OptimizerOptions* options) {
  const Option* found = FindOption(option);
  if (found == nullptr || (found->number == nullptr && found->yes == nullptr)) {
    std::string known = "optimizer";
    for (const Option& each : kOptions) {
      if (each.kinds & kFirstOrder) absl::StrAppend(&known, ", ", each.name);
    }
    return absl::InvalidArgumentError(absl::StrCat("no option \"", option, "\"; there are ", known));
  }
  if (!UsesOption(options->kind, option)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " has no effect with ", OptimizerName(options->kind), ": leave it out"));
  }
  if (found->number != nullptr && !absl::SimpleAtod(text, &(options->*(found->number)))) {
    return absl::InvalidArgumentError(absl::StrCat(option, "=", text, " is no number"));
  }
  if (found->yes != nullptr && !absl::SimpleAtob(text, &(options->*(found->yes)))) {
    return absl::InvalidArgumentError(absl::StrCat(option, "=", text, ", expected true or false"));
  }
  return absl::OkStatus();
}

absl::Status CheckOptimizerOptions(const OptimizerOptions& options) {
  const auto finite = [](double x, double low) { return std::isfinite(x) && x >= low; };
  const bool free = options.kind == OptimizerKind::kScheduleFreeAdamW;
  RETURN_IF_ERROR(Require(finite(options.learning_rate, 0) && options.learning_rate > 0, "learning_rate",
                          options.learning_rate, "a number above 0"));
  RETURN_IF_ERROR(Require(options.beta1 >= 0 && options.beta1 < 1, "beta1", options.beta1, "0 <= beta1 < 1"));
  RETURN_IF_ERROR(Require(!free || options.beta1 > 0, "beta1", options.beta1, "above 0 with schedule-free-adamw"));
  RETURN_IF_ERROR(Require(options.beta2 >= 0 && options.beta2 < 1, "beta2", options.beta2, "0 <= beta2 < 1"));
  RETURN_IF_ERROR(Require(finite(options.epsilon, 0), "epsilon", options.epsilon, "0 or more"));
  RETURN_IF_ERROR(Require(finite(options.weight_decay, 0), "weight_decay", options.weight_decay, "0 or more"));
  RETURN_IF_ERROR(Require(options.momentum >= 0 && options.momentum < 1, "momentum", options.momentum, "0 <= m < 1"));
  RETURN_IF_ERROR(Require(options.dampening >= 0 && options.dampening <= 1, "dampening", options.dampening, "0 to 1"));
  RETURN_IF_ERROR(Require(options.alpha >= 0 && options.alpha < 1, "alpha", options.alpha, "0 <= alpha < 1"));
  RETURN_IF_ERROR(Require(finite(options.lr_decay, 0), "lr_decay", options.lr_decay, "0 or more"));
  RETURN_IF_ERROR(
      Require(finite(options.initial_accumulator, 0), "initial_accumulator", options.initial_accumulator, "0 or more"));
  RETURN_IF_ERROR(
      Require(finite(options.weight_step_power, 0), "weight_step_power", options.weight_step_power, "0 or more"));
  RETURN_IF_ERROR(Require(finite(options.weight_lr_power, 0), "weight_lr_power", options.weight_lr_power, "0 or more"));
  RETURN_IF_ERROR(Require(options.history_size >= 1, "history_size", options.history_size, "1 or more"));
  if (options.nesterov && options.momentum == 0) {
    return absl::InvalidArgumentError("nesterov needs momentum above 0, as in --momentum=0.9");
  }
  if (options.nesterov && options.dampening != 0) {  // which --parameter_groups alone can set
    return absl::InvalidArgumentError(
        absl::StrCat("dampening is ", options.dampening, ", expected 0 with nesterov; leave one of them out"));
  }
  if (options.kind == OptimizerKind::kLbfgs && options.weight_decay != 0) {
    return absl::InvalidArgumentError("weight_decay does not go with lbfgs; choose adamw or sgd, or pass 0");
  }
  return absl::OkStatus();
}

}  // namespace rutile
