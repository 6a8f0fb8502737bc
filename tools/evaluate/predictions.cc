#include "tools/evaluate/predictions.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_parts.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/file/sha256.h"
#include "lib/potential/data/isolated_atoms.h"
#include "lib/potential/data/structure_list.h"
#include "lib/potential/prediction/predict_inputs.h"
#include "lib/structure/label_filter.h"
#include "lib/structure/label_keys.h"
#include "lib/tensorfile/provenance.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/evaluate/common_flags.h"
#include "tools/evaluate/uncertainty.h"

DEFINE_string(frames, "",
              "File with the numbers of the structures to evaluate, from 0 over all of DATA. Empty: all. A list that a "
              "run wrote, as test_frames.txt, finds its structures by their content.");
DEFINE_string(config_type, "", "Glob: only structures whose config type fits. Empty: all.");
DEFINE_bool(forces, true, "Predict forces and stress as well, at several times the cost of energies alone.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

// Returns the numbers in `inputs` of the structures that --frames lists.
absl::StatusOr<std::vector<int64_t>> FramesFromFlags(const Models& models, absl::Span<const std::string> inputs,
                                                     StructureReaderOptions reader) {
  ASSIGN_OR_RETURN(const StructureList list, ReadStructureList(FLAGS_frames));
  reader.on_warning = nullptr;  // the structures are read again, to be predicted
  ASSIGN_OR_RETURN(ListedNumbers found,
                   FindListedInInputs(list, inputs, models.potentials[0].descriptor, reader, FLAGS_forces));
  if (const std::string moved = DescribeMoved(list, found.moved); !moved.empty()) PrintMessage(moved);
  return std::move(found.numbers);
}

bool AreTensorFiles(absl::Span<const std::string> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const std::string& path) { return LooksLikeTensorFile(path); });
}

// Says a word of each file whose labels were read by other names than those that the models learned from.
absl::Status WarnOfOtherLabels(const LabelKeys& of_models, const std::string& model,
                               absl::Span<const std::string> inputs) {
  constexpr char kNone[] = "the usual names (or in an older version)";
  for (const std::string& path : inputs) {
    if (!LooksLikeTensorFile(path)) continue;
    ASSIGN_OR_RETURN(const TensorFile file, LookIntoTensorFile(path));
    const LabelKeys of_file = LabelKeysOf(file.metadata);
    if (of_file == of_models) continue;
    PrintWarning(absl::StrCat(path, ": its labels were read by ", LabelKeysText(of_file, kNone), ", and ", model,
                              " learned from labels of ", LabelKeysText(of_models, kNone),
                              ": if these are other energies or forces, errors mean nothing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PredictOptions> PredictOptionsFromFlags(const Models& models, absl::Span<const std::string> inputs,
                                                       const EvaluateShard& shard) {
  PredictOptions options;
  if (!AreTensorFiles(inputs)) {
    std::string taken;
    ASSIGN_OR_RETURN(options.reader, ReaderOptionsFor(models, &taken));
    if (!taken.empty()) {
      PrintMessage(absl::StrCat("labels are read as those that the model learned from, by ", taken,
                                ", where a frame has them; these flags choose others"));
    }
    const Metadata& metadata = models.potentials[0].metadata;
    if (const auto found = metadata.find("config_key"); found != metadata.end()) {
      options.config_key = found->second;
      PrintMessage(absl::StrCat("structures are grouped by ", found->second,
                                ", as those that the model learned from, where a frame has it; else by config_type"));
    }
  } else {
    ASSIGN_OR_RETURN(options.reader, StructureReaderOptionsFromFlags());
  }
  RETURN_IF_ERROR(WarnOfOtherLabels(LabelKeysOf(models.potentials[0].metadata), models.names[0], inputs));
  options.num_threads = ThreadsFromFlags();
  options.forces = FLAGS_forces;
  options.config_type = FLAGS_config_type;
  options.shard = shard.shard;
  options.num_shards = shard.num_shards;
  if (!FLAGS_frames.empty()) {
    ASSIGN_OR_RETURN(options.frames, FramesFromFlags(models, inputs, options.reader));
  }
  return options;
}

// Leaves isolated atoms marked if training left them out, and says so; otherwise they are structures like all others.
void SetIsolatedApart(const Models& models, std::vector<StructurePrediction>* predictions) {
  const bool learned = std::all_of(models.potentials.begin(), models.potentials.end(),
                                   [](const Potential& p) { return LearnedIsolatedAtoms(p.metadata); });
  int64_t count = 0;
  for (StructurePrediction& p : *predictions) {
    // Files of older versions have the config type alone.
    p.isolated = !learned && (p.isolated || IsIsolatedAtom(p.num_atoms, p.config_type));
    count += p.isolated;
  }
  if (count == static_cast<int64_t>(predictions->size())) {  // nothing else to judge the model by
    for (StructurePrediction& p : *predictions) p.isolated = false;
    count = 0;
  }
  if (count == 0) return;
  PrintMessage(absl::StrCat(count, count == 1 ? " structure is an isolated atom" : " structures are isolated atoms",
                            ", and the model does not say that it learned such (train --isolated_atoms=learn): the "
                            "errors of all do not count ",
                            count == 1 ? "it" : "them", "; the group isolated_atoms does"));
}

// Returns the flags that select structures, which parts must share beside their inputs. Frames count by number,
// wherever the file of frames lies.
absl::StatusOr<std::string> Selection() {
  std::vector<std::string> words;
  std::vector<std::string> names = StructureReaderFlagNames();
  names.insert(names.begin(), {"config_type", "forces"});
  for (const std::string& name : names) {
    const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
    if (flag.current_value != flag.default_value) words.push_back(absl::StrCat("--", name, "=", flag.current_value));
  }
  if (!FLAGS_frames.empty()) {
    ASSIGN_OR_RETURN(const StructureList list, ReadStructureList(FLAGS_frames));
    std::vector<int64_t> frames = list.numbers;
    std::sort(frames.begin(), frames.end());
    words.push_back(absl::StrCat("--frames=sha256:", Sha256Hex(absl::StrJoin(frames, ",")).substr(0, 16)));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> uncertainty, UncertaintySelection());
  words.insert(words.end(), uncertainty.begin(), uncertainty.end());
  return ShellCommand(words);
}

}  // namespace

absl::StatusOr<std::vector<StructurePrediction>> PredictionsFromFlags(const Models& models,
                                                                      absl::Span<const std::string> inputs,
                                                                      const EvaluateShard& shard,
                                                                      PredictionHooks hooks) {
  ASSIGN_OR_RETURN(const bool predicted, AreResults(inputs, "predictions"));
  if (predicted) {
    constexpr char kWhy[] = "on predictions, which are made already";
    RETURN_IF_ERROR(RefuseFlagsOfSource(__FILE__, kWhy));
    RETURN_IF_ERROR(RefuseStructureReaderFlags(kWhy));
    RETURN_IF_ERROR(RefuseFlags(kWhy, {"check", "shard", "uncertainty", "uncertainty_of", "select"}));
    if (hooks.on_prediction) {
      return absl::InvalidArgumentError(absl::StrCat(
          inputs[0],
          ": holds predictions without positions, which --output_xyz writes; name the structures, and they are "
          "predicted again"));
    }
    ASSIGN_OR_RETURN(MergedPredictions merged, ReadPredictionParts(inputs, models.paths, models.potentials.size()));
    if (!merged.selection.empty()) PrintMessage(absl::StrCat("the predictions were made with ", merged.selection));
    SetIsolatedApart(models, &merged.predictions);
    return std::move(merged.predictions);
  }
  if (AreTensorFiles(inputs)) {
    RETURN_IF_ERROR(RefuseStructureReaderFlags("on files that were made from structures"));
  }
  ASSIGN_OR_RETURN(PredictOptions options, PredictOptionsFromFlags(models, inputs, shard));
  ProgressBar progress(
      "evaluate", options.frames.has_value() && !shard.is_part() ? static_cast<int64_t>(options.frames->size()) : -1,
      FLAGS_progress);
  options.on_progress = [&](int64_t structures) { progress.Add(structures); };
  options.on_structure = std::move(hooks.on_structure);
  options.on_prediction = std::move(hooks.on_prediction);
  options.on_geometry = std::move(hooks.on_geometry);
  ASSIGN_OR_RETURN(std::vector<StructurePrediction> predictions, PredictInputs(models.potentials, inputs, options));
  progress.Finish();
  if (!shard.is_part()) SetIsolatedApart(models, &predictions);
  return predictions;
}

absl::Status WritePredictionsPart(const ToolRun& run, const Models& models, absl::Span<const std::string> files,
                                  const EvaluateShard& shard, absl::Span<const StructurePrediction> predictions) {
  std::vector<std::string> made_from = models.paths;
  made_from.insert(made_from.end(), files.begin(), files.end());
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, PredictionsSchema().kind, made_from));
  metadata["members"] = absl::StrCat(models.potentials.size());
  shard.Describe(&metadata);
  ASSIGN_OR_RETURN(metadata["selection"], Selection());
  const std::string path = shard.Path(FLAGS_output_dir, "predictions");
  RETURN_IF_ERROR(WritePredictions(path, predictions, metadata));
  PrintMessage(absl::StrCat("wrote ", path, ": ", predictions.size(), " structures"));
  return absl::OkStatus();
}

}  // namespace rutile
