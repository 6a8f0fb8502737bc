#include "tools/train/init_flags.h"

#include <gflags/gflags.h>
#include <glob.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/open_potentials.h"
#include "lib/potential/model/transfer.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/structure/element.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/flags/descriptor_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(
    init_from, "",
    "Model from which a new run starts, as best.safetensors of another, or aenet's networks of all its species, as "
    "Ti.nn,O.nn. Its networks take the place of random numbers, for fine-tuning, and its atomic energies are kept. For "
    "--committee, a list with commas or a glob may name one model for each member, as run/member-*/best.safetensors. "
    "The flag is refused with --resume; with --resume=auto it counts when a new run starts.");

namespace rutile {
namespace {

// Returns the files that a text names: one, or several separated by commas, as aenet's of all species.
std::vector<std::string> FilesOf(const std::string& text) {
  if (FileExists(text)) return {text};
  return absl::StrSplit(text, ',', absl::SkipEmpty());
}

absl::Status Refuse(absl::string_view what, absl::string_view remedy) {
  return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from, ": ", what, ": ", remedy));
}

// INVALID_ARGUMENT if a flag asks for other channels or messages than the model has; else sets *option.
absl::Status TakeSize(const char* flag, int of_model, int* option) {
  if (FlagGiven(flag) && *option != of_model) {
    return Refuse(absl::StrCat("it has --", flag, "=", of_model), "give that, or leave the flag out");
  }
  *option = of_model;
  return absl::OkStatus();
}

absl::Status TakeLayers(const Potential& model, AtomisticTaskOptions* task) {
  const NetworkShape& shape = model.shape;
  if ((FlagGiven("hidden") && task->hidden != shape.hidden) ||
      (FlagGiven("activation") && task->activation != shape.activation)) {
    return Refuse(absl::StrCat("its networks are --hidden=", absl::StrJoin(shape.hidden, ","),
                               " --activation=", kActivationNames.Name(shape.activation)),
                  "give these, or leave both flags out");
  }
  if (shape.has_moments()) {
    RETURN_IF_ERROR(TakeSize("channels", shape.moments.channels, &task->channels));
    RETURN_IF_ERROR(TakeSize("messages", shape.moments.messages, &task->messages));
    RETURN_IF_ERROR(TakeSize("vector_messages", shape.moments.vector_messages, &task->vector_messages));
  }
  absl::StatusOr<ZblOptions> zbl = ZblOfRadii(model.repulsion, model.descriptor);
  if (!zbl.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--init_from=", FLAGS_init_from, ": ", zbl.status().message()));
  }
  if (FlagGiven("zbl")) {
    const absl::StatusOr<RepulsionRadii> given = RadiiOf(task->zbl, model.descriptor);
    if (given.ok() && *given == model.repulsion) zbl = task->zbl;
  }
  if (FlagGiven("zbl") && ZblText(task->zbl) != ZblText(*zbl)) {
    return zbl->is_on() ? Refuse(absl::StrCat("its networks learned what --zbl=", ZblText(*zbl), " leaves"),
                                 "give that, or leave --zbl out")
                        : Refuse("it has no repulsion, so its networks learned whole labels", "leave --zbl out");
  }
  task->zbl = *zbl;
  task->hidden = shape.hidden;
  task->activation = shape.activation;
  return absl::OkStatus();
}

// All members of a committee have the same options.
bool SameLayers(const Potential& a, const Potential& b) {
  return a.descriptor == b.descriptor && a.repulsion == b.repulsion && a.shape.hidden == b.shape.hidden &&
         a.shape.activation == b.shape.activation && a.shape.moments.channels == b.shape.moments.channels &&
         a.shape.moments.messages == b.shape.moments.messages &&
         a.shape.moments.vector_messages == b.shape.moments.vector_messages;
}

// Names the flags of the descriptor that differ between the model and data with a descriptor of their own.
absl::Status CheckDescriptor(const InitialModel& model, const DescriptorOptions& descriptor) {
  std::vector<std::string> then, now;
  auto of_model = DescriptorFlagValues(model.potential.descriptor), of_data = DescriptorFlagValues(descriptor);
  of_model["min_cutoff"] = absl::StrCat(model.potential.descriptor.min_cutoff());
  of_data["min_cutoff"] = absl::StrCat(descriptor.min_cutoff());
  for (const auto& [flag, value] : of_model) {
    const auto other = of_data.find(flag);
    if (other == of_data.end() || other->second != value) then.push_back(absl::StrCat("--", flag, "=", value));
  }
  for (const auto& [flag, value] : of_data) {
    const auto other = of_model.find(flag);
    if (other == of_model.end() || other->second != value) now.push_back(absl::StrCat("--", flag, "=", value));
  }
  if (then.empty() && now.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--init_from=", model.name, ": its descriptor has ", absl::StrJoin(then, " "), ", that of the data ",
                   absl::StrJoin(now, " "),
                   "; all but the species must be the same: make the data with the model's, or give the "
                   "structures themselves, for which train takes it from the model"));
}

// A network's constant in fp32 has rounding errors of 6e-8 of it, for each atom.
constexpr double kLargeConstant = 100;  // eV

// Other atomic energies than the model's are subtracted from the labels, and added to what its networks predict.
void WarnOfLargeConstants(const Potential& model, const Potential& start) {
  if (start.parameters.dtype() != DType::kF32) return;
  const std::vector<uint8_t>&known = model.descriptor.species(), &species = start.descriptor.species();
  std::vector<std::string> moved;
  double largest = 0;
  for (size_t s = 0; s < species.size(); ++s) {
    const auto found = std::find(known.begin(), known.end(), species[s]);
    if (found == known.end()) continue;
    const double then = model.atomic_energies[found - known.begin()], now = start.atomic_energies[s];
    largest = std::max(largest, std::abs(then + model.energy_scaling.shift - now - start.energy_scaling.shift));
    if (then == now) continue;
    moved.push_back(absl::StrCat(ElementSymbol(species[s]), " ", Decimal(now, 4), " eV instead of ", Decimal(then, 4)));
  }
  if (largest < kLargeConstant) return;
  const std::string remedy =
      moved.empty()
          ? "Are the energies of the same program and settings as the model's?"
          : "Leave out --atomic_energies, or give --isolated_atoms=ignore, to keep the model's atomic energies, "
            "or give --precision=fp64";
  PrintWarning(absl::StrCat("the energies that are learned have a zero that is up to ", Decimal(largest, 1),
                            " eV per atom from the model's",
                            moved.empty() ? "" : absl::StrCat(" (atomic energies: ", absl::StrJoin(moved, ", "), ")"),
                            ": its networks make up for it, and in fp32 they round more coarsely then. ", remedy));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> InitialFiles() {
  std::vector<std::string> files;
  for (const std::string& text : FilesOf(FLAGS_init_from)) {
    if (FileExists(text) || text.find_first_of("*?[") == std::string::npos) {
      files.push_back(text);
      continue;
    }
    glob_t found = {};
    if (::glob(text.c_str(), 0, nullptr, &found) == 0) {
      files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    const bool none = found.gl_pathc == 0;
    ::globfree(&found);
    if (none) {
      return absl::InvalidArgumentError(
          absl::StrCat("--init_from=", FLAGS_init_from, ": no file has a name that fits ", text));
    }
  }
  return files;
}

absl::StatusOr<std::vector<InitialModel>> InitialModelsFromFlags(const TrainerOptions& options, size_t members,
                                                                 AtomisticTaskOptions* task) {
  std::vector<InitialModel> models;
  if (FLAGS_init_from.empty()) return models;
  if (options.mode == RunMode::kResume) {
    RETURN_IF_ERROR(
        RefuseFlags("with --resume, which starts from a checkpoint (--resume=auto goes with both)", {"init_from"}));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> files, InitialFiles());
  ASSIGN_OR_RETURN(OpenedPotentials opened, OpenPotentials(files));
  if (opened.potentials.size() != 1 && opened.potentials.size() != members) {
    return absl::InvalidArgumentError(
        absl::StrCat("--init_from=", FLAGS_init_from, ": expected one model",
                     members == 1 ? "" : absl::StrCat(", or one for each of ", members, " members"), ", found ",
                     opened.potentials.size(), members == 1 ? " (--committee takes one for each member)" : ""));
  }
  for (size_t m = 0; m < opened.potentials.size(); ++m) {
    RETURN_IF_ERROR(RefuseMace(opened.potentials[m], opened.names[m], "--init_from"));
    models.push_back({std::move(opened.potentials[m]), opened.names[m]});
    if (SameLayers(models[0].potential, models[m].potential)) continue;
    return Refuse(
        absl::StrCat(models[0].name, " and ", models[m].name, " have other layers, descriptors, species or repulsions"),
        "all members of a committee must have the same");
  }
  if (members > 1 && models.size() == 1) {
    PrintWarning(absl::StrCat(
        "all ", members, " members start from the same networks, ", models[0].name,
        ": their spread shows how they were trained since, not how little the data say, and is far below the error. "
        "Give a model for each, as --init_from=run/member-*/best.safetensors of a committee"));
  }
  RETURN_IF_ERROR(TakeLayers(models[0].potential, task));
  return models;
}

const InitialModel* InitialModelOf(const std::vector<InitialModel>& models, size_t member) {
  if (models.empty()) return nullptr;
  return models.size() == 1 ? &models[0] : &models[member];
}

Metadata WithInitialModel(const std::string& name, Metadata metadata) {
  std::vector<std::string> hashes;
  for (const std::string& path : FilesOf(name)) {
    // A pipe has been read, and what was in it has no name to find it by.
    const absl::StatusOr<std::string> hash = Sha256HexOfFile(path);
    hashes.push_back(hash.ok() ? *hash : "unknown");
  }
  metadata["init_from"] = absl::StrCat(name, " ", absl::StrJoin(hashes, ","));
  return metadata;
}

absl::Status DescribeInitialModel(Metadata* metadata) {
  if (!FLAGS_init_from.empty()) *metadata = WithInitialModel(FLAGS_init_from, std::move(*metadata));
  return absl::OkStatus();
}

absl::Status SetInitialParameters(const InitialModel& model, const TrainingTask& task, TrainerOptions* options) {
  const Potential start = task.model->WithParameters(task.task->InitialParameters(options->seed));
  RETURN_IF_ERROR(CheckDescriptor(model, start.descriptor));
  absl::StatusOr<Transfer> transfer = TransferParameters(model.potential, start);
  if (!transfer.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--init_from=", model.name, ": ", transfer.status().message()));
  }
  PrintMessage(
      absl::StrCat("a new run starts from ", model.name, ": networks of ", absl::StrJoin(transfer->taken, ", "),
                   transfer->begun.empty() ? "" : "; from random numbers: ", absl::StrJoin(transfer->begun, ", ")));
  for (const std::string& message : transfer->messages) PrintWarning(message);
  WarnOfLargeConstants(model.potential, start);
  options->initial_parameters = std::move(transfer->parameters);
  return absl::OkStatus();
}

}  // namespace rutile
