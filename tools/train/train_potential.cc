#include "tools/train/train_potential.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/communicator.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/potential/data/isolated_atoms.h"
#include "lib/potential/data/structure_list.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/element.h"
#include "lib/structure/label_keys.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "tools/common/flags/data_sha256.h"
#include "tools/common/flags/distinct_inputs.h"
#include "tools/common/flags/memory_flag.h"
#include "tools/common/flags/selection_flags.h"
#include "tools/common/flags/split_flags.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/config_record.h"
#include "tools/train/data/check_split.h"
#include "tools/train/data/held_out_files.h"
#include "tools/train/data/kept_split.h"
#include "tools/train/data/learned_before.h"
#include "tools/train/data/training_subset.h"
#include "tools/train/first_batch_process.h"
#include "tools/train/flags/compile_flags.h"
#include "tools/train/flags/data_flags.h"
#include "tools/train/flags/isolated_atoms.h"
#include "tools/train/flags/kge_flags.h"
#include "tools/train/flags/loss_flags.h"
#include "tools/train/flags/memory_flags.h"
#include "tools/train/flags/potential_choice.h"
#include "tools/train/flags/potential_flags.h"
#include "tools/train/flags/precision_flags.h"
#include "tools/train/flags/preset_flags.h"
#include "tools/train/flags/process_flags.h"
#include "tools/train/init_flags.h"
#include "tools/train/libtorch.h"
#include "tools/train/make_task.h"
#include "tools/train/potential_member.h"
#include "tools/train/report/train_plot.h"
#include "tools/train/run_member.h"
#include "tools/train/run_model.h"
#include "tools/train/trainer_flags/trainer_flags.h"

namespace rutile {
namespace {

// Reads a list of structures, and says what it asks for that is not there or is elsewhere.
absl::StatusOr<std::vector<int64_t>> ReadListed(const std::string& path, const AtomicData& data) {
  ASSIGN_OR_RETURN(const StructureList list, ReadStructureList(path));
  ASSIGN_OR_RETURN(ListedPlaces found, PlacesOfListed(list, data));
  if (const std::string moved = DescribeMoved(list, found.moved); !moved.empty()) PrintMessage(moved);
  if (found.left_out.empty()) return std::move(found.places);
  const std::string named = absl::StrCat(path, " names ", found.left_out.size(), " structures that are left out by ",
                                         data.filters(), ": ", absl::StrJoin(found.left_out, ", "));
  if (found.places.empty()) return absl::InvalidArgumentError(absl::StrCat(named, "; no other is in the list"));
  PrintWarning(named);
  return std::move(found.places);
}

// A key of groups that no frame has would leave every structure without a group, without a word.
absl::Status CheckConfigKey(const AtomicData& data) {
  if (!data.from_structures() || data.config_key() == kDefaultConfigKey) return absl::OkStatus();
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    if (!data.config_type(s).empty()) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--config_key=", data.config_key(), ": none of ",
                                                 data.num_structures(),
                                                 " structures has that key; name the key of their groups"));
}

// SplitExamples would name places in the data, which filters shift.
absl::Status CheckListsApart(const AtomicData& data, const SplitOptions& options) {
  if (!options.validation_examples.has_value() || !options.test_examples.has_value()) return absl::OkStatus();
  const std::set<int64_t> test(options.test_examples->begin(), options.test_examples->end());
  for (const int64_t s : *options.validation_examples) {
    if (test.count(s) == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("structure ", data.number(s), " (", data.name(s),
                                                   ") is in the sets that flags name for validation and for test"));
  }
  return absl::OkStatus();
}

// Draws the split, or extends that of the run that is resumed with other data, unless flags name the sets: whole files
// are sets for good, and what they leave to be drawn is kept.
absl::StatusOr<Split> DrawSplit(const AtomicData& data, const SplitFiles& files, const SplitOptions& options,
                                const TrainerOptions& trainer, const Member& member) {
  if (options.validation_examples.has_value() == !files.validation.empty() &&
      options.test_examples.has_value() == !files.test.empty() && options.validation_mask.empty() &&
      options.test_mask.empty()) {
    ASSIGN_OR_RETURN(const std::optional<Split> kept, KeptSplit(member.directory, trainer, data));
    if (kept.has_value()) return ExtendSplit(data.num_structures(), *kept, options);
  }
  return SplitExamples(data.num_structures(), options);
}

// A run that lacks this record of its options drew shares of named structures, too, and goes on with them.
constexpr char kSharesOf[] = "shares_of";
constexpr char kUnnamed[] = "unnamed structures";

bool DrawsBesideNamed(const SplitOptions& options) {
  const bool names_validation = options.validation_examples.has_value() || !options.validation_mask.empty();
  const bool names_test = options.test_examples.has_value() || !options.test_mask.empty();
  return (names_test && !names_validation && options.validation_fraction > 0) ||
         (names_validation && !names_test && options.test_fraction > 0);
}

absl::StatusOr<SplitOptions> ReadSplitOptions(const AtomicData& data, const SplitFiles& files,
                                              const std::optional<CheckpointSummary>& resumed,
                                              TrainerOptions* trainer) {
  const SplitLookup lookup = {data.num_structures(),
                              [&](absl::string_view key, absl::string_view glob) { return data.Matches(key, glob); },
                              [&](const std::string& path) { return ReadListed(path, data); },
                              [&](absl::Span<const std::string> paths) { return PlacesOfFiles(data, paths); }};
  const bool is_earlier = resumed.has_value() && resumed->task.count(kSharesOf) == 0;
  ASSIGN_OR_RETURN(const SplitOptions options, SplitOptionsFromFlags(files, lookup, is_earlier));
  if (!is_earlier && (resumed.has_value() || DrawsBesideNamed(options))) trainer->config[kSharesOf] = kUnnamed;
  RETURN_IF_ERROR(CheckListsApart(data, options));
  return options;
}

// Returns [structures] true for those of files, lists and keys of the validation and test set; empty without any.
std::vector<bool> HeldOut(const AtomicData& data, const SplitFiles& files, const SplitOptions& options) {
  std::vector<bool> held_out = HeldOut(data, files);
  const auto add = [&](int64_t s) {
    held_out.resize(data.num_structures(), false);
    held_out[s] = true;
  };
  for (const auto* examples : {&options.validation_examples, &options.test_examples}) {
    if (!examples->has_value()) continue;
    for (const int64_t s : **examples) add(s);
  }
  for (const std::vector<bool>* mask : {&options.validation_mask, &options.test_mask}) {
    for (size_t s = 0; s < mask->size(); ++s) {
      if ((*mask)[s]) add(static_cast<int64_t>(s));
    }
  }
  return held_out;
}

absl::Status LeaveOutIsolatedAndWeightless(const AtomicData& data, const IsolatedAtoms& isolated, Split* split) {
  if (!isolated.left_out.empty()) {
    for (std::vector<int64_t>* set : {&split->train, &split->validation, &split->test}) {
      const auto end = std::remove_if(set->begin(), set->end(), [&](int64_t s) { return isolated.left_out[s]; });
      set->erase(end, set->end());
    }
    if (split->train.empty()) return absl::InvalidArgumentError("every training structure is an isolated atom");
  }
  // Structures of weight 0 contribute nothing: they get no place in batches and no share in sampling.
  const auto end =
      std::remove_if(split->train.begin(), split->train.end(), [&](int64_t s) { return data.weight(s) == 0; });
  const auto weightless = split->train.end() - end;
  split->train.erase(end, split->train.end());
  if (split->train.empty()) {
    return absl::InvalidArgumentError("every training structure has weight 0: nothing can be learned");
  }
  if (weightless > 0) PrintMessage(absl::StrCat(weightless, " training structures have weight 0 and are left out"));
  return absl::OkStatus();
}

// Leaves out structures that can be neither learned from nor compared with: those without an energy, or forces or a
// stress that the loss counts.
absl::Status LeaveOutUnlabeled(const AtomicData& data, const LossOptions& loss, Split* split) {
  const auto is_bare = [&](int64_t s) {
    const bool force = loss.force_weight > 0 && !data.force(s).empty();
    return !data.has_energy(s) && !force && !(loss.stress_weight > 0 && data.has_stress(s));
  };
  size_t removed = 0;
  for (std::vector<int64_t>* set : {&split->train, &split->validation, &split->test}) {
    const auto end = std::remove_if(set->begin(), set->end(), is_bare);
    removed += set->end() - end;
    if (end == set->begin() && set == &split->train) {
      const bool forces = std::any_of(set->begin(), set->end(), [&](int64_t s) { return !data.force(s).empty(); });
      return absl::InvalidArgumentError(
          absl::StrCat("no training structure has an energy", forces && loss.force_weight == 0
                                                                  ? ", and forces, which they have, do not count: give "
                                                                    "--force_weight=1 to learn these alone"
                                                                  : ", or forces or a stress that the loss counts"));
    }
    set->erase(end, set->end());
  }
  if (removed == 0) return absl::OkStatus();
  const bool more = loss.force_weight > 0 || loss.stress_weight > 0;
  PrintWarning(absl::StrCat(removed, " structures have no energy",
                            more ? ", forces or stress that the loss counts" : "", " and are left out"));
  return absl::OkStatus();
}

// There is no force on an atom alone, and structures of weight 0 teach nothing.
bool AnyForces(const AtomicData& data, const std::vector<int64_t>& set) {
  return std::any_of(set.begin(), set.end(),
                     [&](int64_t s) { return !data.force(s).empty() && data.num_atoms(s) > 1 && data.weight(s) > 0; });
}

// True if a run that nobody told about forces can learn and validate them. A file of features is made to learn
// energies.
bool HasForcesToLearn(const AtomicData& data, const Split& split) {
  if (data.has_features() || !AnyForces(data, split.train)) return false;
  return split.validation.empty() || AnyForces(data, split.validation);
}

// True if a many-body potential, which is chosen for structures with forces, would learn some.
bool LearnsForcesByDefault(const AtomicData& data, const Split& split, Preset preset, const LossOptions& loss) {
  if (!AnyForces(data, split.train)) return false;
  if (loss.force_weight > 0 || loss.stress_weight > 0) return true;
  return MayLearnForces(preset, loss) && (split.validation.empty() || AnyForces(data, split.validation));
}

absl::Status WarnOfLearnedBefore(const AtomicData& data, const Split& split, const TrainerOptions& options) {
  Split judging = split;
  if (!options.overfit_batches.all()) judging.validation.clear();  // the training structures take its place
  ASSIGN_OR_RETURN(const std::string warning, DescribeLearnedBefore(data, judging));
  if (!warning.empty()) PrintWarning(warning);
  return absl::OkStatus();
}

constexpr char kChoseManyBody[] =
    "learns a many-body potential, the more accurate kind; --potential=chebyshev learns one that predicts ten times as "
    "fast, and --preset=aenet one that aenet reads, too";
constexpr char kForcesElsewhere[] =
    "learns a potential on Chebyshev features: some structures have forces, but they cannot be learned, as the "
    "training or the validation set has none; --potential=many-body learns the other kind without them, too";
constexpr char kValidatesOnCpu[] = "validation runs on the CPU";

// Structures need --species, and the error suggests one order of many. What goes on from a model has that of the model.
absl::Status WithKnownSpecies(const absl::Status& status, const std::optional<Potential>& model,
                              const std::optional<CheckpointSummary>& resumed) {
  const absl::string_view message = status.message();
  const size_t suggestion = message.find("here --species=");
  if (!absl::IsInvalidArgument(status) || suggestion == absl::string_view::npos) return status;
  std::string species;
  if (model.has_value()) {
    species = absl::StrJoin(model->descriptor.species(), ",",
                            [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
  } else if (resumed.has_value()) {
    const auto recorded = resumed->task.find("species");
    if (recorded != resumed->task.end()) species = recorded->second;
  }
  if (species.empty()) return status;
  return absl::InvalidArgumentError(absl::StrCat(message.substr(0, suggestion),
                                                 model.has_value() ? "the model of --init_from" : "the run to resume",
                                                 " has --species=", species));
}

// Returns the descriptor that structures have where no flag describes one: that of the run which goes on, or of the
// model from which a new one starts. null: there is none, or flags describe that of the run, which the trainer
// compares.
const DescriptorOptions* StartingDescriptor(const std::optional<Potential>& model,
                                            const std::optional<Potential>& own) {
  if (own.has_value()) return model.has_value() || DescriptorIsOpen() ? &own->descriptor : nullptr;
  return model.has_value() ? &model->descriptor : nullptr;
}

// Minimum work per step for threads; below it, waking threads takes longer than they save.
constexpr double kFlopsWorthThreads = 2e7;  // of a step

// Returns the number of threads for a step; 0: all.
int StepThreads(const AtomicData& data, const AtomisticTaskOptions& task, const Split& split, int64_t batch_size) {
  if (FlagGiven("threads") || !LearnsFromKeptFeatures(data, task)) return 0;
  double atoms = 0;
  for (const int64_t s : split.train) atoms += static_cast<double>(data.num_atoms(s));
  atoms *= static_cast<double>(batch_size) / static_cast<double>(split.train.size());
  double weights = 0;
  int inputs = data.descriptor().num_features();
  for (const int width : task.hidden) {
    weights += static_cast<double>(inputs) * width;
    inputs = width;
  }
  return 6 * atoms * weights < kFlopsWorthThreads ? 1 : 0;  // forward once, backward twice as much; 0: all threads
}

// chosen: set to true if nobody asked for the many-body potential that the run learns.
absl::Status Train(const ToolRun& run, const std::vector<std::string>& train_inputs, bool* chosen) {
  RETURN_IF_ERROR(RefuseKgeFlags());
  ASSIGN_OR_RETURN(const SplitFiles files, SplitFilesFromFlags(train_inputs));
  std::vector<std::string> inputs = train_inputs;
  inputs.insert(inputs.end(), files.validation.begin(), files.validation.end());
  inputs.insert(inputs.end(), files.test.begin(), files.test.end());
  ASSIGN_OR_RETURN(const std::optional<CheckpointSummary> resumed, CheckpointToResume());
  ASSIGN_OR_RETURN(const Preset preset, PresetFromFlags(resumed));
  ASSIGN_OR_RETURN(TrainerOptions options, TrainerOptionsFromFlags(PotentialTrainerDefaults(preset)));
  RETURN_IF_ERROR(CheckPlotFlags(options));
  ASSIGN_OR_RETURN(AtomisticTaskOptions task_options, AtomisticTaskOptionsFromFlags(preset));
  std::vector<std::string> messages;
  ASSIGN_OR_RETURN(const FactorRounding factors, PotentialRoundingFromFlags(options));
  ASSIGN_OR_RETURN(task_options.gpu, KernelGpuFromFlags(options, /*rounds=*/false));
  if (task_options.gpu < 0 && AsksForGpu()) {
    RETURN_IF_ERROR(NeedLibTorch(run, inputs, "precisions of potentials on a GPU other than fp32 and fp64"));
  }
  RETURN_IF_ERROR(SetEagerFromFlags(factors, task_options.gpu >= 0, &options, &messages));
  if (!options.eager.on_cpu()) messages.push_back(kValidatesOnCpu);
  task_options.mixed_precision = factors == FactorRounding::kBf16;
  NoteNarrowNetworks(task_options.hidden, factors, options, &messages);
  ASSIGN_OR_RETURN(const std::string mapped, MapMemoryFromFlag());
  if (!mapped.empty()) messages.push_back(mapped);
  ASSIGN_OR_RETURN(const std::vector<std::string> memory, MemoryMessagesFromFlags(ModelKind::kPotential, options));
  messages.insert(messages.end(), memory.begin(), memory.end());
  ASSIGN_OR_RETURN(task_options.compile, CompileOptionsFromFlags(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator, CommunicatorFromFlags(run));
  options.communicator = communicator.get();
  task_options.num_threads = ThreadsFromFlags();
  if (OnlyChecksFirstBatch()) options.files = RunFiles::kNone;
  ASSIGN_OR_RETURN(const std::vector<Member> members, MembersFromFlags(options));
  ASSIGN_OR_RETURN(const std::optional<TrainingSubset> subset, SubsetFromFlags(&options));
  ASSIGN_OR_RETURN(const std::vector<InitialModel> models,
                   InitialModelsFromFlags(options, members.size(), &task_options));
  const std::optional<Potential> model = models.empty() ? std::nullopt : std::optional<Potential>(models[0].potential);
  const std::optional<Potential> own = ModelOfRun(members[0].directory, options);
  const auto recorded = RecordedAtomicEnergies(members[0].directory, options);
  const bool on_gpu = task_options.gpu >= 0 || !options.eager.on_cpu();
  const PotentialChoice choice = PotentialChoiceFromFlags(preset, task_options.loss, on_gpu, model, resumed);
  absl::StatusOr<AtomicData> read = ReadTrainingData(inputs, task_options.atomic_energies, DescriptorDefaultsOf(preset),
                                                     choice, StartingDescriptor(model, own));
  RETURN_IF_ERROR(WithKnownSpecies(read.status(), model, resumed));
  AtomicData data = *std::move(read);
  // The data were read before they were divided: what is learned from decides which potential learns it.
  ASSIGN_OR_RETURN(const SplitOptions split_options, ReadSplitOptions(data, files, resumed, &options));
  // All structures are divided, those that are then left out, too.
  ASSIGN_OR_RETURN(Split split, DrawSplit(data, files, split_options, options, members[0]));
  // Files of neighbors were made for the kind that they record.
  *chosen = choice == PotentialChoice::kManyBodyIfForces && data.from_structures() && !data.descriptor().is_chebyshev();
  if (*chosen && !LearnsForcesByDefault(data, split, preset, task_options.loss)) {
    ASSIGN_OR_RETURN(const DescriptorOptions chebyshev, DescriptorOptionsFromFlags(DescriptorDefaultsOf(preset)));
    data = data.WithDescriptor(chebyshev);
    *chosen = false;
    messages.push_back(kForcesElsewhere);
  }
  if (!data.descriptor().is_chebyshev()) {
    SetManyBodyEpochs(resumed, &options);
    if (*chosen) messages.push_back(kChoseManyBody);
  }
  if (data.descriptor().is_chebyshev()) {
    RETURN_IF_ERROR(RefuseFlags("with --potential=chebyshev", {"channels", "messages", "vector_messages"}));
    task_options.channels = 0;
    task_options.messages = task_options.vector_messages = 0;
  } else if (preset == Preset::kAenet) {
    return absl::InvalidArgumentError("--preset=aenet: aenet has no --potential=many-body; leave one of them out");
  } else if (options.compile_mode == CompileMode::kScript) {
    return absl::InvalidArgumentError(
        "--compile_mode=script has networks of Chebyshev features alone: leave it out, or use none, with "
        "--potential=many-body");
  }
  const bool data64 = data.has_features() && data.feature_dtype() == DType::kF64;
  ASSIGN_OR_RETURN(task_options.precision, PrecisionFromFlags(data64, factors, options));
  RETURN_IF_ERROR(CheckConfigKey(data));
  const bool energies_are_open = task_options.atomic_energies.empty();
  ASSIGN_OR_RETURN(const IsolatedAtoms isolated, IsolatedAtomsFromFlags(data, HeldOut(data, files, split_options),
                                                                        ElementsWithEnergies(recorded, model), resumed,
                                                                        &task_options.atomic_energies));
  // A run that goes on with energies that were all fitted keeps them, though isolated atoms give some, as those of
  // earlier versions did.
  if (energies_are_open && recorded.has_value() && recorded->empty()) task_options.atomic_energies.clear();
  RETURN_IF_ERROR(LeaveOutIsolatedAndWeightless(data, isolated, &split));
  if (HasForcesToLearn(data, split) && LearnForces(preset, &task_options.loss)) {
    messages.push_back(absl::StrCat("forces are learned, too: --force_weight=", task_options.loss.force_weight,
                                    "; for energies alone give --force_weight=0"));
  }
  const bool learns_forces = task_options.loss.force_weight > 0 || task_options.loss.stress_weight > 0;
  if (data.descriptor().is_chebyshev() && learns_forces && !model.has_value() && !resumed.has_value()) {
    const std::string why =
        WhyChebyshev(preset, on_gpu, data.from_structures(), static_cast<int>(data.descriptor().species().size()));
    if (!why.empty()) messages.push_back(why);
  }
  RETURN_IF_ERROR(LeaveOutUnlabeled(data, task_options.loss, &split));
  RETURN_IF_ERROR(CheckHeldOut(files, split));
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, PotentialSchema().kind, inputs));
  options.data_sha256 = DataSha256(metadata, inputs);
  if (model.has_value() && !resumed.has_value() && !subset.has_value() && !OnlyChecksFirstBatch()) {
    RETURN_IF_ERROR(WarnOfLearnedBefore(data, split, options));
  }
  // The run has said it of its structures, when a part of them or the same ones are trained on again.
  if (!subset.has_value() && !OnlyChecksFirstBatch() &&
      !ResumesSameData(members[0].directory, options, data.num_structures(), split) &&
      !CheckSplit(data, task_options.atomic_energies, split)) {
    if (const std::string same = SameContents(metadata, inputs); !same.empty()) PrintWarning(same);
  }
  if (subset.has_value()) {
    ASSIGN_OR_RETURN(options.left_out, LeftOutStructures(*subset, data, split.train));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> cached, CacheFromFlags(options, &data, &task_options));
  messages.insert(messages.end(), cached.begin(), cached.end());
  if (options.num_workers > 0 && LearnsFromKeptFeatures(data, task_options)) {
    messages.push_back(
        "--num_workers=0 is used: features are kept, a batch is a copy of them, and workers cannot help");
    options.num_workers = 0;
  }
  if (task_options.gpu >= 0 && LearnsFromKeptFeatures(data, task_options)) {
    // Kernels of GPUs start from neighbors, so LibTorch takes their place.
    RETURN_IF_ERROR(NeedLibTorch(run, inputs, "energies that are learned from features on a GPU"));
    task_options.gpu = -1;
    RETURN_IF_ERROR(SetEagerFromFlags(factors, /*kernels_on_gpu=*/false, &options, &messages));
    ASSIGN_OR_RETURN(task_options.compile, CompileOptionsFromFlags(options));
    messages.push_back(kValidatesOnCpu);
  }
  task_options.step_threads = StepThreads(data, task_options, split, options.batch_size);
  if (data.exceeds_memory() && options.num_workers == 0) {
    PrintMessage("the neighbors take more than half of the memory: --num_workers=1 reads them ahead of training");
  }
  if (!data.commands().empty()) metadata["features_command"] = absl::StrJoin(data.commands(), " && ");
  const LabelKeys label_keys = data.from_structures() ? LabelKeysFromFlags() : data.label_keys();
  metadata.insert(label_keys.begin(), label_keys.end());
  if (data.config_key() != kDefaultConfigKey) metadata["config_key"] = data.config_key();
  if (isolated.learned) metadata[kIsolatedAtomsKey] = kLearnsIsolatedAtoms;
  // Models of older versions and of aenet do not say.
  for (const InitialModel& each : models) {
    const LabelKeys model_keys = LabelKeysOf(each.potential.metadata);
    if (model_keys.empty() || model_keys == label_keys) continue;
    PrintWarning(absl::StrCat("--init_from: the model learned from labels of ",
                              LabelKeysText(model_keys, "the usual names"), ", and this run learns from those of ",
                              LabelKeysText(label_keys, "the usual names")));
    break;
  }
  for (const auto& [key, value] : DataConfig(data)) options.config[key] = value;
  RecordPreset(preset, &options);
  if (!isolated.recorded.empty()) options.config["isolated_atoms"] = isolated.recorded;
  if (members.size() > 1 && options.mode == RunMode::kResume) options.mode = RunMode::kResumeOrNew;
  for (size_t m = 0; m < members.size(); ++m) {
    const Member& member = members[m];
    ASSIGN_OR_RETURN(const bool is_late, IsTooLate(member, options));
    if (is_late) continue;  // and so are those after it
    const InitialModel* const start = InitialModelOf(models, m);
    AtomisticTaskOptions own_options = task_options;
    RETURN_IF_ERROR(CompleteAtomicEnergies(data, split.train, start == nullptr ? nullptr : &start->potential,
                                           RecordedAtomicEnergies(member.directory, options), &own_options));
    const bool begins = options.mode != RunMode::kResumeOrNew || !RunDirectory(member.directory).HasCheckpoint();
    if (start != nullptr && begins) metadata = WithInitialModel(start->name, std::move(metadata));
    RecordRun(run, EffectiveSettings(data, own_options, options), members.size() > 1 ? member.directory : "", &options);
    own_options.force_sampling.seed = options.seed;
    if (subset.has_value()) subset->Describe(options.seed, &metadata);
    RETURN_IF_ERROR(TrainMember(member, data, own_options, split, messages, start, options, metadata));
    messages.clear();
    ++options.seed;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TrainPotential(const ToolRun& run, const std::vector<std::string>& inputs) {
  bool chosen = false;
  const absl::Status status = Train(run, inputs, &chosen);
  if (!chosen || !absl::IsInvalidArgument(status) || !absl::StrContains(status.message(), "many-body")) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      status.message(), " (no flag names a potential, and many-body was chosen: --potential=chebyshev is the other)"));
}

}  // namespace rutile
