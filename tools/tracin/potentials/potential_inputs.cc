#include "tools/tracin/potentials/potential_inputs.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/potential/data/structure_list.h"
#include "lib/structure/label_keys.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/checkpoint.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// True if the data hold the validation and test structures of the run, too.
absl::StatusOr<bool> HoldsListed(const AtomicData& data, const std::string& directory) {
  for (const char* name : {"/validation_frames.txt", "/test_frames.txt"}) {
    const std::string path = directory + name;
    if (directory.empty() || !FileExists(path)) continue;
    ASSIGN_OR_RETURN(const StructureList list, ReadStructureList(path));
    if (!PlacesOfListed(list, data).ok()) return false;
  }
  return true;
}

// True if flags.txt of the run says that it took validation or test structures from files of their own.
bool HasHeldOutFiles(const std::string& directory) {
  const absl::StatusOr<FileContents> flags = FileContents::Open(directory + "/flags.txt");
  if (!flags.ok()) return false;
  for (const absl::string_view line : absl::StrSplit(flags->data(), '\n')) {
    if (absl::StartsWith(line, "--validation_data=") || absl::StartsWith(line, "--test_data=")) return true;
  }
  return false;
}

}  // namespace

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

absl::Status CheckFingerprint(const TracinFlags& flags, const CheckpointSet& checkpoint_set, const AtomicData& train,
                              absl::Span<const int64_t> examples, const std::string& path,
                              const std::string& directory) {
  const std::string validation = directory + "/validation_frames.txt";
  if (checkpoint_set.are_models() || !FileExists(validation)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StructureList others, ReadStructureList(validation));
  if (Fingerprint(train.num_structures(), examples, others.numbers) == checkpoint_set.checkpoints[0].data) {
    return absl::OkStatus();
  }
  return WarnOrRefuse(flags, absl::StrCat("--train does not hold as many structures as the run had, or ", path,
                                          " is of another run: --train_frames says which structures count"));
}

absl::Status CheckDataOfRun(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                            const std::string& data_sha256, const AtomicData& train, const std::string& directory) {
  const std::string files = absl::StrJoin(flags.train, ",");
  // A run may have been resumed with other data; one word of the first that differs will do.
  for (const CheckpointSummary& checkpoint : checkpoint_set.checkpoints) {
    if (checkpoint.data_sha256.empty() || checkpoint.data_sha256 == data_sha256) continue;
    ASSIGN_OR_RETURN(const bool whole, HoldsListed(train, directory));
    if (!directory.empty() && !whole && HasHeldOutFiles(directory)) {
      PrintMessage(absl::StrCat(files, ": has the training structures of the run; whether their energies and forces ",
                                "have changed since is only known with the files of --validation_data and --test_data ",
                                "after it"));
      return absl::OkStatus();
    }
    return WarnOrRefuse(
        flags, absl::StrCat(files, ": not the files, in that order, that ", checkpoint.path,
                            " was trained on (with those of --validation_data and --test_data after the others), or "
                            "they have changed since"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
