#include "lib/potential/model/task_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/decimal.h"

namespace rutile {

absl::string_view LossKindName(LossKind kind) {
  switch (kind) {
    case LossKind::kRmse:
      return "rmse";
    case LossKind::kMse:
      return "mse";
    case LossKind::kHuber:
      return "huber";
  }
  return "";
}

absl::string_view FeatureScalingName(FeatureScalingKind kind) {
  switch (kind) {
    case FeatureScalingKind::kNone:
      return "none";
    case FeatureScalingKind::kPooled:
      return "pooled";
    case FeatureScalingKind::kPerSpecies:
      return "species";
  }
  return "";
}

absl::string_view CompilePresetName(CompilePreset preset) {
  switch (preset) {
    case CompilePreset::kDefault:
      return "default";
    case CompilePreset::kReduceOverhead:
      return "reduce-overhead";
    case CompilePreset::kMaxAutotune:
      return "max-autotune";
  }
  return "";
}

absl::StatusOr<CompilePreset> ParseCompilePreset(absl::string_view name) {
  for (const CompilePreset preset :
       {CompilePreset::kDefault, CompilePreset::kReduceOverhead, CompilePreset::kMaxAutotune}) {
    if (name == CompilePresetName(preset)) return preset;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("compile_preset=", name, ": expected default, reduce-overhead or max-autotune"));
}

absl::Status CheckPrecision(const AtomisticTaskOptions& options) {
  if (!options.mixed_precision || options.precision == DType::kF32) return absl::OkStatus();
  return absl::InvalidArgumentError("mixed precision goes with fp32 parameters, not with fp64");
}

absl::Status CheckCompileOptions(const CompileOptions& options) {
  if (options.batch_size >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("batch_size=", options.batch_size, ": expected at least 1"));
}

std::map<std::string, std::string> ResumeConfigOf(const AtomisticTaskOptions& options) {
  std::map<std::string, std::string> config = {
      {"hidden", absl::StrJoin(options.hidden, ",")},
      {"activation", std::string(ActivationName(options.activation))},
      {"feature_scaling", std::string(FeatureScalingName(options.feature_scaling))},
      {"energy_scaling", options.scale_energies ? "true" : "false"},
      {"precision", options.precision == DType::kF64 ? "fp64" : "fp32"},
  };
  if (!options.atomic_energies.empty()) {
    config["atomic_energies"] =
        absl::StrJoin(options.atomic_energies, ",", [](std::string* out, const std::pair<const uint8_t, double>& item) {
          absl::StrAppend(out, int{item.first}, "=", ExactDecimal(item.second));
        });
  }
  const LossOptions& loss = options.loss;
  config["loss"] = std::string(LossKindName(loss.kind));
  config["energy_weight"] = ExactDecimal(loss.energy_weight);
  config["force_weight"] = ExactDecimal(loss.force_weight);
  config["stress_weight"] = ExactDecimal(loss.stress_weight);
  if (loss.kind == LossKind::kHuber) {
    config["huber_delta"] = ExactDecimal(loss.energy_delta);
    config["huber_delta_force"] = ExactDecimal(loss.force_delta);
    config["huber_delta_stress"] = ExactDecimal(loss.stress_delta);
  }
  const ForceSamplingOptions& sampling = options.force_sampling;
  if (loss.force_weight > 0 && sampling.fraction < 1) {
    config["force_fraction"] = ExactDecimal(sampling.fraction);
    config["force_sample_unit"] = sampling.unit == ForceSampleUnit::kAtom ? "atom" : "structure";
    config["force_resample_num_epochs"] = absl::StrCat(sampling.resample_epochs);
    config["force_min_structures_per_epoch"] = absl::StrCat(sampling.min_structures);
    config["force_scale_unbiased"] = loss.force_scale_unbiased ? "true" : "false";
  }
  if (options.mixed_precision) config["precision"] = "bf16-mixed";
  // All other presets compute the bits of the default.
  if (options.compile.preset == CompilePreset::kMaxAutotune) {
    config["compile_preset"] = std::string(CompilePresetName(options.compile.preset));
  }
  return config;
}

absl::StatusOr<LossOptions> LossOfConfig(const std::map<std::string, std::string>& config) {
  LossOptions loss;
  const auto kind = config.find("loss");
  if (kind == config.end()) return absl::InvalidArgumentError("there is no \"loss\"");
  bool known = false;
  for (const LossKind each : {LossKind::kRmse, LossKind::kMse, LossKind::kHuber}) {
    if (kind->second != LossKindName(each)) continue;
    loss.kind = each;
    known = true;
  }
  if (!known) {
    return absl::InvalidArgumentError(absl::StrCat("\"loss\" is \"", kind->second, "\", expected rmse, mse or huber"));
  }
  struct Number {
    const char* name;
    double* value;
    bool required;
  };
  for (const Number& number :
       {Number{"energy_weight", &loss.energy_weight, true}, Number{"force_weight", &loss.force_weight, true},
        Number{"stress_weight", &loss.stress_weight, true}, Number{"huber_delta", &loss.energy_delta, false},
        Number{"huber_delta_force", &loss.force_delta, false},
        Number{"huber_delta_stress", &loss.stress_delta, false}}) {
    const auto found = config.find(number.name);
    if (found == config.end()) {
      if (!number.required) continue;
      return absl::InvalidArgumentError(absl::StrCat("there is no \"", number.name, "\""));
    }
    if (!absl::SimpleAtod(found->second, number.value) || !(*number.value >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", number.name, "\" is \"", found->second, "\", expected a number that is not negative"));
    }
  }
  const auto unbiased = config.find("force_scale_unbiased");
  loss.force_scale_unbiased = unbiased != config.end() && unbiased->second == "true";
  return loss;
}

}  // namespace rutile
