#include "tools/tracin/step_settings.h"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

using Config = std::map<std::string, std::string>;

// Settings that decide a step, and are followed, or that decide no step. All others are refused, but those of the
// schedule (lr_*, by which older names begin, too) and the average, which their own tables know.
const std::set<std::string>& KnownSettings() {
  static const auto& names = *new std::set<std::string>{"seed",
                                                        "batch_size",
                                                        "shuffle",
                                                        "optimizer",
                                                        "learning_rate",
                                                        "beta1",
                                                        "beta2",
                                                        "epsilon",
                                                        "amsgrad",
                                                        "weight_decay",
                                                        "momentum",
                                                        "dampening",
                                                        "nesterov",
                                                        "monitor",
                                                        "accumulate_grad_batches",
                                                        "gradient_clip_val",
                                                        "average_best",
                                                        "gradient_clip_algorithm",
                                                        "limit_val_batches",
                                                        "max_epochs",
                                                        "max_steps"};
  return names;
}

std::string TextOf(const Config& config, const std::string& name, const char* otherwise) {
  const auto found = config.find(name);
  return found == config.end() ? otherwise : found->second;
}

double NumberOf(const Config& config, const std::string& name, double otherwise) {
  double value = otherwise;
  const auto found = config.find(name);
  return found != config.end() && absl::SimpleAtod(found->second, &value) ? value : otherwise;
}

int64_t CountOf(const Config& config, const std::string& name, int64_t otherwise) {
  return static_cast<int64_t>(NumberOf(config, name, static_cast<double>(otherwise)));
}

absl::Status Refuse(const CheckpointSummary& checkpoint, const std::string& setting, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--unrolled: ", checkpoint.path, ": its run had --", setting, ", ", why));
}

// Sets what the config has of the table.
template <typename Options>
absl::Status SetFrom(const CheckpointSummary& checkpoint, absl::Span<const Setting<Options>> table, Options* options) {
  for (const Setting<Options>& row : table) {
    const auto found = checkpoint.config.find(row.name);
    if (found == checkpoint.config.end()) continue;
    const absl::Status status = row.Set(found->second, options);
    if (!status.ok()) return Refuse(checkpoint, absl::StrCat(row.name, "=", found->second), status.message());
  }
  return absl::OkStatus();
}

absl::Status CheckKnown(const CheckpointSummary& checkpoint) {
  const Config &config = checkpoint.config, &task = checkpoint.task;
  const std::string optimizer = TextOf(config, "optimizer", "?");
  if (optimizer != "adam" && optimizer != "adamw" && optimizer != "sgd") {
    return Refuse(checkpoint, absl::StrCat("optimizer=", optimizer), "and steps of adam, adamw and sgd are unrolled");
  }
  for (const auto& [name, value] : config) {
    if (KnownSettings().count(name) > 0 || absl::StartsWith(name, "lr_") ||
        FindSetting(ScheduleSettings(), name) != nullptr || FindSetting(EmaSettings(), name) != nullptr) {
      continue;
    }
    return Refuse(checkpoint, absl::StrCat(name, "=", value), "which is not unrolled");
  }
  for (const char* name : {"force_fraction", "subset"}) {
    const auto found = task.find(name);
    if (found != task.end()) return Refuse(checkpoint, absl::StrCat(name, "=", found->second), "which is not unrolled");
  }
  const std::string precision = TextOf(task, "precision", "fp32");
  if (precision != "fp32" && precision != "fp64") {
    return Refuse(checkpoint, absl::StrCat("precision=", precision), "whose rounding no derivative follows");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StepSettings> ReadStepSettings(const CheckpointSummary& checkpoint) {
  RETURN_IF_ERROR(CheckKnown(checkpoint));
  const Config& config = checkpoint.config;
  StepSettings settings;
  settings.batch_size = CountOf(config, "batch_size", 1);
  settings.accumulate_grad_batches = CountOf(config, "accumulate_grad_batches", 1);
  settings.shuffle = TextOf(config, "shuffle", "true") == "true";
  settings.learning_rate = NumberOf(config, "learning_rate", 0);
  settings.weight_decay = NumberOf(config, "weight_decay", 0);
  settings.max_epochs = CountOf(config, "max_epochs", -1);
  settings.max_steps = CountOf(config, "max_steps", -1);
  const std::string optimizer = TextOf(config, "optimizer", "?");
  if (optimizer == "sgd") {
    SgdStep sgd;
    sgd.momentum = NumberOf(config, "momentum", 0);
    sgd.nesterov = TextOf(config, "nesterov", "false") == "true";
    settings.dampening = NumberOf(config, "dampening", 0);
    settings.update = sgd;
  } else {
    UnrolledAdam adam;
    adam.amsgrad = TextOf(config, "amsgrad", "false") == "true";
    adam.beta1 = NumberOf(config, "beta1", 0.9);
    adam.beta2 = NumberOf(config, "beta2", 0.999);
    adam.epsilon = NumberOf(config, "epsilon", 1e-8);
    settings.decoupled = optimizer == "adamw";
    settings.update = adam;
  }
  const std::string by = TextOf(config, "gradient_clip_algorithm", "norm");
  if (by != "norm" && by != "value") {
    return Refuse(checkpoint, absl::StrCat("gradient_clip_algorithm=", by), "which is not unrolled");
  }
  (by == "norm" ? settings.clipping.norm : settings.clipping.value) = NumberOf(config, "gradient_clip_val", 0);
  RETURN_IF_ERROR(SetFrom(checkpoint, ScheduleSettings(), &settings.schedule));
  if (config.count("ema_decay_type") > 0) {
    settings.ema.emplace();
    RETURN_IF_ERROR(SetFrom(checkpoint, EmaSettings(), &*settings.ema));
    if (settings.ema->type == EmaDecay::kExponential && settings.max_epochs < 1 && settings.max_steps < 1) {
      return Refuse(checkpoint, "ema_decay_type=exp",
                    "whose decay follows the length of the run, and the checkpoint does not record that");
    }
  }
  return settings;
}

UnrolledUpdate UpdateOfStep(const StepSettings& settings, double rate, int64_t count) {
  if (const auto* of_run = std::get_if<SgdStep>(&settings.update)) {
    SgdStep sgd = *of_run;
    sgd.l2 = settings.weight_decay;
    sgd.gain = count == 1 ? 1 : 1 - settings.dampening;
    sgd.learning_rate = rate;
    return sgd;
  }
  UnrolledAdam adam = std::get<UnrolledAdam>(settings.update);
  const auto steps = static_cast<double>(count);
  adam.keep = settings.decoupled ? 1 - rate * settings.weight_decay : 1;
  adam.l2 = settings.decoupled ? 0 : settings.weight_decay;
  adam.step_size = rate / (1 - std::pow(adam.beta1, steps));
  adam.root_correction2 = std::sqrt(1 - std::pow(adam.beta2, steps));
  return adam;
}

}  // namespace rutile
