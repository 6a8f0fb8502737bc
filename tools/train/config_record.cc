#include "tools/train/config_record.h"

#include <torch/version.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/version.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/machine/machine.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/structure/element.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "tools/common/run/flag_file.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kOpenPotential[] = "auto";

// True for flags that each member of a committee has its own values of.
bool IsOfCommittee(const std::string& flag) { return flag == "committee" || flag == "seed" || flag == "output_dir"; }

bool IsAboutTheDirectory(const std::string& flag) {
  return flag == "resume" || flag == "override" || flag == "overwrite";
}

std::string Species(const DescriptorOptions& descriptor) {
  return absl::StrJoin(descriptor.species(), ",",
                       [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
}

void ResolveDescriptor(const DescriptorOptions& descriptor, absl::string_view origin, FlagSettings* settings) {
  settings->Resolve("species", Species(descriptor), origin);
  for (const auto& [flag, value] : DescriptorFlagValues(descriptor)) settings->Resolve(flag, value, origin);
  settings->Resolve("min_cutoff", absl::StrCat(descriptor.min_cutoff()), origin);
}

Json Versions(const Machine& machine) {
  return {{"rutile", kVersion}, {"libtorch", TORCH_VERSION}, {"compiler", CompilerName()}, {"kernel", machine.kernel}};
}

Json Hardware(const Machine& machine) {
  return {{"cpu", machine.cpu},
          {"instruction_set", machine.instruction_set},
          {"processors", machine.processors},
          {"usable_processors", machine.usable_processors},
          {"memory_bytes", machine.memory_bytes}};
}

}  // namespace

void ResolveTrainer(const TrainerOptions& options, DType precision, int num_threads, FlagSettings* settings) {
  const auto resolve = [&](const char* name, const auto& value) {
    settings->Resolve(name, absl::StrCat(value), "run");
  };
  const Precision mixed = options.eager.precision;
  resolve("precision", kPrecisionNames.Name(IsMixed(mixed) ? mixed : PrecisionOf(precision)));
  resolve("device", options.eager.device);
  resolve("compile_mode", kCompileModeNames.Name(options.compile_mode));
  resolve("threads", num_threads);
  resolve("preset", kPresetNames.Name(RecordedPreset(options)));
  resolve("batch_size", options.batch_size);
  resolve("learning_rate", options.optimizer.learning_rate);
  resolve("lr_scheduler", kScheduleNames.Name(options.schedule.kind));
  resolve("weight_decay", options.optimizer.weight_decay);
  resolve("epsilon", options.optimizer.epsilon);
  resolve("num_workers", options.num_workers);
  resolve("max_epochs", options.stop.max_epochs);
}

FlagSettings EffectiveSettings(const AtomicData& data, const AtomisticTaskOptions& task,
                               const TrainerOptions& options) {
  FlagSettings settings;
  const auto resolve = [&settings](const char* name, const auto& value) {
    settings.Resolve(name, absl::StrCat(value), "run");
  };
  // Structures have no descriptor of their own: what the flags do not say is a default, of the preset or of one part.
  const bool is_recorded = !data.from_structures() || settings.settings().at("fingerprints").is_given;
  ResolveDescriptor(data.descriptor(), is_recorded ? "file" : "run", &settings);
  if (!data.from_structures()) settings.Resolve("config_key", data.config_key(), "file");
  // Energies that no flag gave are the files' own, or those of isolated atoms in them.
  const std::map<uint8_t, double>& found = task.atomic_energies.empty() ? data.atomic_energies() : task.atomic_energies;
  if (!settings.settings().at("atomic_energies").is_given && !found.empty()) {
    const std::string energies =
        absl::StrJoin(found, ",", [](std::string* out, const std::pair<uint8_t, double>& energy) {
          absl::StrAppend(out, ElementSymbol(energy.first), "=", Json(energy.second).dump());
        });
    settings.Resolve("atomic_energies", energies, "file");
  }
  ResolveTrainer(options, task.precision, task.ThreadsOfSteps(), &settings);
  if (task.gpu >= 0) resolve("device", absl::StrCat("cuda:", task.gpu));
  if (task.mixed_precision) resolve("precision", kPrecisionNames.Name(Precision::kBf16Mixed));
  if (settings.settings().at("init_from").is_given) {
    settings.Resolve("hidden", absl::StrJoin(task.hidden, ","), "file");
    settings.Resolve("activation", kActivationNames.Name(task.activation), "file");
    if (task.channels > 0) settings.Resolve("channels", absl::StrCat(task.channels), "file");
    if (task.messages > 0) settings.Resolve("messages", absl::StrCat(task.messages), "file");
    if (task.vector_messages > 0) settings.Resolve("vector_messages", absl::StrCat(task.vector_messages), "file");
    if (task.zbl.is_on()) settings.Resolve("zbl", ZblText(task.zbl), "file");
  }
  resolve("hidden", absl::StrJoin(task.hidden, ","));
  resolve("activation", kActivationNames.Name(task.activation));
  resolve("energy_weight", task.loss.energy_weight);
  resolve("force_weight", task.loss.force_weight);
  resolve("cached_features", task.cached_features ? "true" : "false");
  resolve("cache_geometry", task.geometry_bytes > 0 ? "true" : "false");
  return settings;
}

void RecordRun(const ToolRun& run, const FlagSettings& settings, const std::string& member_directory,
               TrainerOptions* options) {
  Json json;
  std::vector<std::pair<std::string, std::string>> given;
  const bool has_default_epochs = options->config.count("default_epochs") > 0;
  for (const auto& [name, setting] : settings.settings()) {
    const bool is_kind = name == "potential" || name == "kge_model" || name == "kge_recipe";
    // On triples there is no potential, and no version of the flag says anything.
    if (name == "potential" && setting.value == kOpenPotential) continue;
    json["flags"][name] = {{"value", setting.value}, {"origin", setting.origin}};
    if (!member_directory.empty() && name == "seed") json["flags"][name]["value"] = absl::StrCat(options->seed);
    if (!member_directory.empty() && IsOfCommittee(name)) continue;
    const bool is_open = is_kind && setting.given == kOpenPotential;
    if (setting.is_given && !is_open && !IsAboutTheDirectory(name)) given.emplace_back(name, setting.given);
    // A resumed run has the preset of its checkpoint, which a run that begins anew has to be told.
    if (name == "preset" && setting.origin == "run") given.emplace_back(name, setting.value);
    // So does a run whose kind was chosen, as other flags or another version may choose another.
    if (is_kind && (setting.origin == "run" || (setting.is_given && is_open))) given.emplace_back(name, setting.value);
    // And so does the length of a run of a kind with epochs of its own.
    if (name == "max_epochs" && !setting.is_given && has_default_epochs) given.emplace_back(name, setting.value);
  }
  if (!member_directory.empty()) {
    given.emplace_back("seed", absl::StrCat(options->seed));
    given.emplace_back("output_dir", member_directory);
  }
  const absl::StatusOr<std::string> text =
      FlagFileText(absl::StrCat(run.name, " ", kVersion,
                                ": makes this run again, as --flagfile, with another --output_dir after it"),
                   given, run.args);
  if (!text.ok()) PrintWarning(absl::StrCat("no flags.txt: ", text.status().message()));
  options->flag_file = text.value_or("");
  json["flagfile"] = text.ok() ? Json(*text) : Json();
  const Machine machine = DescribeMachine();
  json["versions"] = Versions(machine);
  json["hardware"] = Hardware(machine);
  options->config_json = json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rutile
