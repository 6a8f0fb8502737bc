#include "tools/tracin/potentials/potential_inputs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/structure/label_keys.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

absl::StatusOr<AtomicData> ReadData(const std::vector<std::string>& inputs, const std::optional<Potential>& potential,
                                    AtomicDataOptions options) {
  if (potential.has_value()) options.descriptor = potential->descriptor;
  ASSIGN_OR_RETURN(options.reader, StructureReaderOptionsFromFlags());
  if (potential.has_value()) {
    TakeRecordedLabels(LabelKeysOf(potential->metadata), &options.reader);
    const auto key = potential->metadata.find("config_key");
    if (key != potential->metadata.end()) options.config_key = key->second;
  }
  options.num_threads = options.preload.num_threads = ThreadsFromFlags();
  return AtomicData::Read(inputs, options);
}

std::string StructureExamplesSha256(const std::string& data_sha256, absl::Span<const int64_t> examples) {
  return Sha256Hex(absl::StrCat(data_sha256, "\n", absl::StrJoin(examples, " ")));
}

absl::Status CheckSameModels(const std::vector<std::string>& paths, const Potential& potential) {
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const Potential model, ReadPotential(path));
    if (model.descriptor == potential.descriptor && model.shape.hidden == potential.shape.hidden &&
        model.shape.activation == potential.shape.activation &&
        model.parameters.dtype() == potential.parameters.dtype() &&
        model.feature_scaling.mean == potential.feature_scaling.mean &&
        model.feature_scaling.scale == potential.feature_scaling.scale &&
        model.energy_scaling.scale == potential.energy_scaling.scale &&
        model.energy_scaling.shift == potential.energy_scaling.shift &&
        model.atomic_energies == potential.atomic_energies && model.repulsion == potential.repulsion) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(path, ": of another model than ", paths[0],
                                                   ": another descriptor, network, scaling or repulsion"));
  }
  return absl::OkStatus();
}

absl::Status CheckRecordedLabels(const Potential& potential, const AtomicData& train, const AtomicData& test) {
  constexpr char kNone[] = "no keys (usual names, or an older version)";
  const LabelKeys of_model = LabelKeysOf(potential.metadata);
  for (const AtomicData* data : {&train, &test}) {
    if (data->from_structures() || data->num_structures() == 0 || data->label_keys() == of_model) continue;
    const std::string difference =
        absl::StrCat(data->path(0), ": records labels of ", LabelKeysText(data->label_keys(), kNone),
                     ", and the model learned from ", LabelKeysText(of_model, kNone));
    if (!of_model.empty() && !data->label_keys().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(difference, ": give files of the labels that it learned from"));
    }
    PrintWarning(absl::StrCat(difference, ": if these are other energies or forces, scores mean nothing"));
  }
  return absl::OkStatus();
}

absl::Status CheckKnowDescriptor(const TracinFlags& flags) {
  for (const std::vector<std::string>* const paths : {&flags.train, &flags.test}) {
    for (const std::string& path : *paths) {
      const bool is_structures = path == "-" || (FileExists(path) && !LooksLikeTensorFile(path));
      if (!is_structures) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": structures are read with the descriptor of the run: give --model, a model file of it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace rutile
