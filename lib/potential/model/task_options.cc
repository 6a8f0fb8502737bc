#include "lib/potential/model/task_options.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/decimal.h"
#include "lib/base/setting_record.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/task/precision.h"

namespace rutile {
namespace {

constexpr char kLoss[] = "loss", kForceWeight[] = "force_weight", kForceFraction[] = "force_fraction";
constexpr char kForceScaleUnbiased[] = "force_scale_unbiased", kCompilePreset[] = "compile_preset";

template <typename Options>
bool Never(const Options&) {
  return false;
}

bool IsHuber(const LossOptions& options) { return options.kind == LossKind::kHuber; }
bool LearnsForces(const LossOptions& options) { return options.force_weight > 0; }
bool IsSample(const ForceSamplingOptions& options) { return options.fraction < 1; }
bool Tunes(const CompileOptions& options) { return options.preset == CompilePreset::kMaxAutotune; }
bool HasAtomicEnergies(const AtomisticTaskOptions& options) { return !options.atomic_energies.empty(); }

SettingValue GetDraws(const ForceSamplingOptions& options) {
  return std::string(options.resample_epochs == 0 ? "fixed" : "random");
}

absl::Status SetDraws(absl::string_view text, ForceSamplingOptions* options) {
  if (text != "random" && text != "fixed") return absl::InvalidArgumentError("expected random or fixed");
  if (text == "fixed") options->resample_epochs = 0;
  return absl::OkStatus();
}

SettingValue GetHidden(const AtomisticTaskOptions& options) { return absl::StrJoin(options.hidden, ","); }

absl::Status SetHidden(absl::string_view text, AtomisticTaskOptions* options) {
  std::vector<int> hidden;
  for (const absl::string_view layer : absl::StrSplit(text, ',')) {
    if (text.empty()) break;
    int nodes = 0;
    if (!absl::SimpleAtoi(layer, &nodes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", layer, "\" is no number of nodes; expected a list as 15,15"));
    }
    hidden.push_back(nodes);
  }
  options->hidden = std::move(hidden);
  return absl::OkStatus();
}

SettingValue GetAtomicEnergies(const AtomisticTaskOptions& options) {
  return absl::StrJoin(options.atomic_energies, ",",
                       [](std::string* out, const std::pair<const uint8_t, double>& item) {
                         absl::StrAppend(out, int{item.first}, "=", ExactDecimal(item.second));
                       });
}

absl::Status SetAtomicEnergies(absl::string_view text, AtomisticTaskOptions* options) {
  std::map<uint8_t, double> energies;
  for (const absl::string_view entry : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    int element = 0;
    double energy = 0;
    if (!absl::SimpleAtoi(parts.first, &element) || element < 1 || element > 255 ||
        !absl::SimpleAtod(parts.second, &energy)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", entry, "\" is no atomic number with an energy; expected a list as 8=-432.5,22=-1604.6"));
    }
    energies[static_cast<uint8_t>(element)] = energy;
  }
  options->atomic_energies = std::move(energies);
  return absl::OkStatus();
}

SettingValue GetPrecision(const AtomisticTaskOptions& options) {
  return std::string(
      kPrecisionNames.Name(options.mixed_precision ? Precision::kBf16Mixed : PrecisionOf(options.precision)));
}

absl::Status SetPrecision(absl::string_view text, AtomisticTaskOptions* options) {
  ASSIGN_OR_RETURN(const Precision precision,
                   ParsePrecision(text, {Precision::kFp32, Precision::kFp64, Precision::kBf16Mixed}));
  options->mixed_precision = IsMixed(precision);
  options->precision = DTypeOf(precision);
  return absl::OkStatus();
}

SettingValue GetZbl(const AtomisticTaskOptions& options) { return ZblText(options.zbl); }

absl::Status SetZbl(absl::string_view text, AtomisticTaskOptions* options) {
  ASSIGN_OR_RETURN(options->zbl, ParseZbl(text));
  return absl::OkStatus();
}

bool HasZbl(const AtomisticTaskOptions& options) { return options.zbl.is_on(); }

bool HasChannels(const AtomisticTaskOptions& options) { return options.channels > 0; }
bool HasMessages(const AtomisticTaskOptions& options) { return options.messages > 0; }
bool HasVectors(const AtomisticTaskOptions& options) { return options.vector_messages > 0; }

}  // namespace

absl::Span<const Setting<LossOptions>> LossSettings() {
  using O = LossOptions;
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Choice<&O::kind, &kLossNames>(
          kLoss, "Loss of the errors of each quantity: rmse (as in aenet), mse or huber."),
      Setting<O>("energy_weight", &O::energy_weight,
                 "Weight of the loss of energies per atom, in eV. With -1, it is 1 - force_weight, as in aenet.")
          .In(AtLeast(0))
          .Automatic("-1"),
      Setting<O>(kForceWeight, &O::force_weight,
                 "Weight of the loss of force components, from 0 to 1. It is aenet's alpha; errors are in "
                 "eV/Angstrom. With -1, it is 0.3 where the data have forces and are structures or neighbors, else 0.")
          .In(AtLeast(0))
          .Automatic("-1"),
      Setting<O>("stress_weight", &O::stress_weight, "Weight of the loss of stress components, in eV/Angstrom^3.")
          .In(AtLeast(0)),
      Setting<O>("huber_delta", &O::energy_delta,
                 "Error at which Huber's loss of energies becomes linear, in eV per atom.")
          .In(Above(0))
          .Needs(kLoss, IsHuber),
      Setting<O>("huber_delta_force", &O::force_delta,
                 "Error at which Huber's loss of force components becomes linear, in eV/Angstrom.")
          .In(Above(0))
          .Needs(kLoss, IsHuber),
      Setting<O>("huber_delta_stress", &O::stress_delta,
                 "Error at which Huber's loss of stress components becomes linear, in eV/Angstrom^3.")
          .In(Above(0))
          .Needs(kLoss, IsHuber),
      // ResumeConfigOf records it with the sample of forces, without which it has no effect.
      Setting<O>(kForceScaleUnbiased, &O::force_scale_unbiased,
                 "Divide the loss of forces by the root of the sampled share. An option of aenet-python has this "
                 "name. The mean over sampled forces is already unbiased, so this serves for comparison only.")
          .NeedsOneOf(kForceWeight, LearnsForces)
          .RecordedIf(Never<O>),
  };
  return kSettings;
}

absl::Span<const Setting<ForceSamplingOptions>> ForceSamplingSettings() {
  using O = ForceSamplingOptions;
  static constexpr Setting<O> kSettings[] = {
      Setting<O>(kForceFraction, &O::fraction,
                 "Share of the forces that an epoch learns, above 0 and up to 1. It is a share of the structures or "
                 "of their atoms, as --force_sample_unit says.")
          .In(Above(0).AtMost(1))
          .RecordedIf(IsSample),
      Setting<O>::Choice<&O::unit, &kForceSampleUnitNames>("force_sample_unit",
                                                           "Unit that --force_fraction draws: structure or atom.")
          .Needs(kForceFraction, IsSample),
      Setting<O>("force_resample_num_epochs", &O::resample_epochs,
                 "Number of epochs after which other forces are drawn. With 0, the sample stays.")
          .In(AtLeast(0))
          .Needs(kForceFraction, IsSample),
      Setting<O>("force_min_structures_per_epoch", &O::min_structures,
                 "Smallest number of structures whose forces an epoch learns. With --force_sample_unit=atom, it is a "
                 "number of atoms.")
          .In(AtLeast(0))
          .Needs(kForceFraction, IsSample),
      Setting<O>::Text("force_sampling", GetDraws, SetDraws,
                       "How forces are sampled: random or fixed. With random, other forces are drawn after "
                       "--force_resample_num_epochs; with fixed, the first sample stays.")
          .Needs(kForceFraction, IsSample)
          .RecordedIf(Never<O>),
  };
  return kSettings;
}

absl::Span<const Setting<CompileOptions>> CompileSettings() {
  using O = CompileOptions;
  static constexpr Setting<O> kSettings[] = {
      // All other presets compute the bits of the default.
      Setting<O>::Choice<&O::preset, &kCompilePresetNames>(
          kCompilePreset,
          "What to prepare for --compile_mode=compile: default, reduce-overhead or max-autotune. With default, nothing "
          "is prepared; reduce-overhead reserves the memory of the largest batch; max-autotune does so, too, and "
          "spends about two seconds on finding the fastest form of the kernels.")
          .RecordedIf(Tunes),
      Setting<O>("compile_cache_dir", &O::cache_directory,
                 "Directory that stores the results of --compile_preset=max-autotune. If empty, it is rutile in "
                 "$XDG_CACHE_HOME, else in ~/.cache. A damaged entry is replaced.")
          .Needs(kCompilePreset, Tunes)
          .RecordedIf(Never<O>),
  };
  return kSettings;
}

absl::Span<const Setting<AtomisticTaskOptions>> AtomisticTaskSettings() {
  using O = AtomisticTaskOptions;
  static constexpr Setting<O> kSettings[] = {
      Setting<O>("channels", &O::channels,
                 "Channels: learned radial functions of each pair of species, whose products make as many invariants. "
                 "With --potential=many-body.")
          .In(AtLeast(0).AtMost(512))
          .RecordedIf(HasChannels),
      Setting<O>(
          "messages", &O::messages,
          "Messages: numbers that each atom learns from its neighbors and sends on, which a second layer sees as "
          "the first sees species. More accurate, and some five times the work of one layer, which is 0. With "
          "--potential=many-body.")
          .In(AtLeast(0).AtMost(128))
          .RecordedIf(HasMessages),
      Setting<O>(
          "vector_messages", &O::vector_messages,
          "Vectors that each atom learns and sends besides its messages, at most as many. Each adds its component "
          "toward the neighbor to one of the messages. With --messages, and --max_l of 1 or more.")
          .In(AtLeast(0).AtMost(128))
          .RecordedIf(HasVectors),
      Setting<O>::Text("hidden", GetHidden, SetHidden,
                       "Nodes of each hidden layer, separated by commas. If empty, the model is linear."),
      Setting<O>::Choice<&O::activation, &kActivationNames>(
          "activation",
          "Hidden activation: tanh, sigmoid, linear, mtanh, twist or silu. The functions mtanh and twist are those of "
          "aenet."),
      Setting<O>::Choice<&O::feature_scaling, &kFeatureScalingNames>(
          "feature_scaling",
          "Statistics that standardize features: species, pooled or none. With species, they are those of each central "
          "species, as in aenet; with pooled, those of all atoms, as in aenet-python."),
      Setting<O>("energy_scaling", &O::scale_energies, "Map training energies per atom to [-1, 1], as aenet does."),
      Setting<O>::Text(
          "zbl", GetZbl, SetZbl,
          "Screened nuclear repulsion of Ziegler, Biersack and Littmark between near atoms. It is subtracted "
          "from the labels before training and a part of the model. INNER,OUTER are the radii in Angstrom "
          "between which it is switched off, for all pairs, as by LAMMPS' pair_style zbl. With auto, the "
          "outer radius is 0.8 of the sum of the covalent radii of both elements, below nearly all bonds, and the "
          "inner one half of it. "
          "If empty, there is none.")
          .RecordedIf(HasZbl),
      Setting<O>::Text("atomic_energies", GetAtomicEnergies, SetAtomicEnergies,
                       "Atomic reference energies in eV, by atomic number.")
          .Derived("which are given by symbol, or in a file")
          .RecordedIf(HasAtomicEnergies),
      Setting<O>::Text("precision", GetPrecision, SetPrecision, "Precision: fp32, fp64 or bf16-mixed.")
          .Derived("which follows from the data, too"),
  };
  return kSettings;
}

absl::Status CheckLossOptions(const LossOptions& options) {
  RETURN_IF_ERROR(CheckRanges(LossSettings(), options));
  if (options.energy_weight + options.force_weight + options.stress_weight > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("energy_weight, force_weight and stress_weight are all 0: nothing is learned");
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
  std::map<std::string, std::string> config;
  RecordSettings(AtomisticTaskSettings(), options, &config);
  RecordSettings(LossSettings(), options.loss, &config);
  if (LearnsForces(options.loss)) RecordSettings(ForceSamplingSettings(), options.force_sampling, &config);
  if (LearnsForces(options.loss) && IsSample(options.force_sampling)) {
    config[kForceScaleUnbiased] = RecordText(options.loss.force_scale_unbiased);
  }
  RecordSettings(CompileSettings(), options.compile, &config);
  return config;
}

absl::StatusOr<LossOptions> LossOfConfig(const std::map<std::string, std::string>& config) {
  LossOptions loss;
  RETURN_IF_ERROR(ReadRecord(LossSettings(), config, &loss));
  const auto unbiased = config.find(kForceScaleUnbiased);
  loss.force_scale_unbiased = unbiased != config.end() && unbiased->second == "true";
  RETURN_IF_ERROR(CheckRanges(LossSettings(), loss));
  return loss;
}

}  // namespace rutile
